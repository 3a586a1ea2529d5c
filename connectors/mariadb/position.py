"""The position of a change in MariaDB's binary log: as in MySQL."""

from connectors.mysql.position import POSITION_FIELDS, position

__all__ = ["POSITION_FIELDS", "position"]
