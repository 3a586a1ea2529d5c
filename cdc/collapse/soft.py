"""Rows that stay in the table when the source deletes them, marked as deleted."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse.collapse import CollapsedChanges
from cdc.collapse.fill import NAMES
from cdc.collapse.keys import ENDS, first_and_last, in_offset_order, mask
from cdc.model import DELETED, MISSING, OFFSET, OP, RESERVED


def mark_deletes(changes: pa.Table, key: Sequence[str]) -> pa.Table:
    """Make every delete a change that leaves out all but its key, for `fill` to find the rest.

    The mark itself is left out too: rows that are looked up in the table then come with theirs,
    and a row of key columns alone is looked up like any other.
    """
    gone = pc.is_in(changes[OP], ENDS)
    marks = pc.if_else(gone, pa.scalar(None, pa.bool_()), pa.scalar(False))
    changes = changes.append_column(pa.field(DELETED, pa.bool_()), marks)
    if not pc.any(gone).as_py():
        return changes
    others = [n for n in changes.column_names if n not in key and not n.startswith(RESERVED)]
    given = MISSING in changes.column_names
    before = changes[MISSING] if given else pa.nulls(len(changes), NAMES)
    missing = pc.if_else(gone, pa.scalar([*others, DELETED], NAMES), before)
    if not given:
        return changes.append_column(pa.field(MISSING, NAMES), missing)
    return changes.set_column(changes.column_names.index(MISSING), MISSING, missing)


def collapse_soft(
    changes: pa.Table, key: Sequence[str], *, empty: bool, looked_up: bool
) -> CollapsedChanges:
    """Keep the newest change of every key; a delete leaves its row's last values, marked.

    An insert may bring back a row that is marked in the table, so every key may have one.

    Args:
        changes: The changes of one topic partition after `mark_deletes` and `fill`.
        key: The table's key columns; never empty.
        empty: The table has no row, marked or not.
        looked_up: The table has been asked for what changes leave out: a delete that still lacks
            something is one of a row that never came, and leaves nothing.

    Returns:
        What to write. Rows that still lack values say so: they have to be looked up.
    """
    changes = in_offset_order(changes)
    _, last = first_and_last(changes, key)
    newest = changes.take(last)
    gone = pc.is_in(newest[OP], ENDS)
    if (empty or looked_up) and MISSING in newest.column_names:
        seen = pa.array(~(mask(gone) & mask(newest[MISSING].is_valid())))
        newest, gone = newest.filter(seen), gone.filter(seen)
    marked = newest.set_column(
        newest.column_names.index(DELETED), pa.field(DELETED, pa.bool_()), gone
    )
    keys = newest.select(list(key))
    return CollapsedChanges(
        rows=marked,
        deleted_keys=keys.slice(0, 0) if empty else keys,
        applied=newest[OFFSET].to_numpy(),
    )
