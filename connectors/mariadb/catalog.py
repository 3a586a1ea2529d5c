"""A table's columns from MariaDB's own catalog: as in MySQL."""

from connectors.mysql.catalog import MODES, columns, facts

__all__ = ["MODES", "columns", "facts"]
