"""How the changes of a batch become one commit of a table."""

from cdc.apply.backfill import fill_defaults
from cdc.apply.discard import discard_records
from cdc.apply.lookup import NEWEST_IN_LOG, NEWEST_VERSION, WITH_VALUES, rows_of_keys
from cdc.apply.merge import merge_changes
from cdc.apply.names import KeyBounds
from cdc.apply.nulls import columns_with_nulls
from cdc.apply.truncates import close_all, mark_all_deleted

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
