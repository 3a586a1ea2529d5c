"""What a batch does to a table: the state of each key, its versions, or the log of its changes."""

from cdc.collapse.append import log_rows
from cdc.collapse.collapse import CollapsedChanges, collapse
from cdc.collapse.cutoffs import after_cutoff, survivors, with_deletes_at
from cdc.collapse.fill import fill, unsent_values
from cdc.collapse.history import last_versions, versions
from cdc.collapse.keys import of_touched_keys, touched_keys
from cdc.collapse.modes import Circumstances, Mode, mode_of
from cdc.collapse.moves import Key, take_over, unsent_inserts
from cdc.collapse.replayed import has_newer, without_applied
from cdc.collapse.soft import collapse_soft, mark_deletes

__all__ = [
    "Circumstances",
    "CollapsedChanges",
    "Key",
    "Mode",
    "after_cutoff",
    "collapse",
    "collapse_soft",
    "fill",
    "has_newer",
    "last_versions",
    "log_rows",
    "mark_deletes",
    "mode_of",
    "of_touched_keys",
    "survivors",
    "take_over",
    "touched_keys",
    "unsent_inserts",
    "unsent_values",
    "versions",
    "with_deletes_at",
    "without_applied",
]
