"""Iceberg's Java API: tables, atomic commits, ledgers. The only door to it."""

from cdc.commit.alter import add_columns, alter, set_partition, set_properties
from cdc.commit.append import append_files
from cdc.commit.catalog import IcebergCatalog
from cdc.commit.java_errors import translated
from cdc.commit.ledger import read_ledger, set_ledger_property
from cdc.commit.live_files import FileChanges, changed_files, live_files
from cdc.commit.row_delta import RowChange, commit_rows
from cdc.commit.table import IcebergTable, remove_files

__all__ = [
    "FileChanges",
    "IcebergCatalog",
    "IcebergTable",
    "RowChange",
    "add_columns",
    "alter",
    "append_files",
    "changed_files",
    "commit_rows",
    "live_files",
    "read_ledger",
    "remove_files",
    "set_ledger_property",
    "set_partition",
    "set_properties",
    "translated",
]
