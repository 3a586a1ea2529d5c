"""What a batch does to a table: the state of each key, its versions, or the log of its changes."""

from cdc.collapse.append import log_rows
from cdc.collapse.collapse import CollapsedChanges, collapse
from cdc.collapse.cutoffs import after_cutoff, last_places, with_deletes_at
from cdc.collapse.fill import fill, lacking
from cdc.collapse.history import last_versions, versions
from cdc.collapse.keys import of_touched_keys, touched_keys
from cdc.collapse.moves import Key, incomplete_inserts, take_over
from cdc.collapse.replayed import has_newer, without_applied
from cdc.collapse.soft import collapse_soft, mark_deletes

__all__ = [
    "CollapsedChanges",
    "Key",
    "after_cutoff",
    "collapse",
    "collapse_soft",
    "fill",
    "has_newer",
    "incomplete_inserts",
    "lacking",
    "last_places",
    "last_versions",
    "log_rows",
    "mark_deletes",
    "of_touched_keys",
    "take_over",
    "touched_keys",
    "versions",
    "with_deletes_at",
    "without_applied",
]
