"""Where in the binary log a MariaDB change stands: as in MySQL."""

from connectors.mysql.position import POSITION_FIELDS, position

__all__ = ["POSITION_FIELDS", "position"]
