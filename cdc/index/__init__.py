"""Where the rows of keys are in a table's data files, found on the executors."""

from cdc.index.data_rows import OpenFile, read_rows
from cdc.index.key_index import Found, KeyIndex

__all__ = ["Found", "KeyIndex", "OpenFile", "read_rows"]
