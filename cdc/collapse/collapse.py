"""Many changes of a key to the one that counts."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse.keys import Mask, Numbers, first_and_last, in_offset_order, mask
from cdc.model import MISSING, NO_POSITION, OFFSET, OP, POSITION, Op, PartitionMark


@dataclass(frozen=True, slots=True)
class CollapsedChanges:
    """The state in which a batch leaves each key it touches."""

    rows: pa.Table  # to add to the table
    deleted_keys: pa.Table  # keys whose row in the table goes, if it has one
    # The offsets of the changes that the rows and deletes come from; all others are superseded.
    applied: Numbers


def collapse(
    changes: pa.Table,
    key: Sequence[str],
    mark: PartitionMark | None,
    *,
    empty: bool,
    inserts_are_new: bool = True,
    looked_up: bool = False,
) -> CollapsedChanges:
    """Keep the newest change of every key, and say which keys the table may hold already.

    Newest means the greatest Kafka offset. A source position would be wrong: after a failover it
    may start again from a smaller number, and every change behind it would be lost.

    Args:
        changes: The decoded changes of one topic partition.
        key: The table's key columns; never empty.
        mark: How far this partition has been applied.
        empty: The table has no row, so that nothing can be replaced.
        inserts_are_new: An insert after all that was applied is one of a row that is not there.
        looked_up: The table has been asked for what changes leave out. An update that still lacks
            something, and whose position is not new, was sent again after its row was deleted, and
            leaves nothing; its delete comes again too.
    """
    keys = list(key)
    changes = in_offset_order(changes)
    first, last = first_and_last(changes, keys)
    newest = changes.take(last)
    if looked_up and mark is not None and MISSING in newest.column_names:
        known = pa.array(~_sent_again(newest, mark))
        first, newest = first.filter(known), newest.filter(known)
    gone = pc.equal(newest[OP], Op.DELETE)
    rows, applied = newest.filter(pc.invert(gone)), newest[OFFSET].to_numpy()
    if empty:
        return CollapsedChanges(rows, newest.slice(0, 0).select(keys), applied)
    replaces = pc.invert(_is_new_row(changes.take(first), mark, inserts_are_new))
    return CollapsedChanges(rows, newest.filter(replaces).select(keys), applied)


def _sent_again(newest: pa.Table, mark: PartitionMark) -> Mask:
    """Tell the changes that lack a value and have a position that is not new."""
    old = pc.less_equal(newest[POSITION], mark.position)
    placed = pc.not_equal(newest[POSITION], NO_POSITION)
    return mask(pc.and_(newest[MISSING].is_valid(), pc.and_(old, placed)))


def _is_new_row(
    first: pa.Table, mark: PartitionMark | None, inserts_are_new: bool
) -> pa.ChunkedArray:
    """Tell inserts that cannot have been applied before from those that may be redelivered."""
    inserted = pc.equal(first[OP], Op.CREATE)
    if mark is None:
        return inserted
    if not inserts_are_new:
        return pa.chunked_array([pa.repeat(False, len(first))])
    return pc.and_(inserted, pc.greater(first[POSITION], mark.position))
