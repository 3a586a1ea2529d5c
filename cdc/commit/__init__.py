"""Iceberg's Java API: tables, atomic commits, ledgers. The only door to it."""

from cdc.commit.append import append_files
from cdc.commit.catalog import IcebergCatalog
from cdc.commit.java_errors import translated
from cdc.commit.ledger import read_ledger, set_ledger_property
from cdc.commit.live_files import FileChanges
from cdc.commit.row_delta import RowChange, commit_rows
from cdc.commit.table import IcebergTable

__all__ = [
    "FileChanges",
    "IcebergCatalog",
    "IcebergTable",
    "RowChange",
    "append_files",
    "commit_rows",
    "read_ledger",
    "set_ledger_property",
    "translated",
]
