"""MariaDB's types that differ from the shared mapping: as in MySQL."""

from connectors.mysql.type_map import iceberg_type

__all__ = ["iceberg_type"]
