"""Whether a MariaDB server answers and can be a source: as in MySQL."""

from connectors.mysql.probe import probe

__all__ = ["probe"]
