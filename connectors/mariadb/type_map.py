"""MariaDB's types: as MySQL's, but for what it calls JSON and for its UUID."""

from connectors.mysql.type_map import iceberg_type, understood

__all__ = ["iceberg_type", "understood"]
