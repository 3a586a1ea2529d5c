"""The tables of a MariaDB server: as in MySQL."""

from connectors.mysql.table_list import tables

__all__ = ["tables"]
