"""How the changes of a batch become one commit of a table."""

from cdc.sql.backfill import fill_defaults
from cdc.sql.discard import discard_records
from cdc.sql.lookup import NEWEST_IN_LOG, NEWEST_VERSION, WITH_VALUES, rows_of_keys
from cdc.sql.merge import merge_changes
from cdc.sql.names import KeyBounds
from cdc.sql.nulls import columns_with_nulls
from cdc.sql.truncates import close_all, mark_all_deleted

__all__ = [
    "NEWEST_IN_LOG",
    "NEWEST_VERSION",
    "WITH_VALUES",
    "KeyBounds",
    "close_all",
    "columns_with_nulls",
    "discard_records",
    "fill_defaults",
    "mark_all_deleted",
    "merge_changes",
    "rows_of_keys",
]
