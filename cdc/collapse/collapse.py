"""Many changes of a key to the one that counts."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse.keys import Mask, first_and_last, in_offset_order, mask
from cdc.model import MISSING, NO_POSITION, OP, POSITION, Op, PartitionMark


@dataclass(frozen=True, slots=True)
class CollapsedChanges:
    """The state in which a batch leaves each key it touches."""

    live: pa.Table  # rows to add
    replaced: pa.Table  # keys that may have a row in the table already
    deleted: pa.Table  # of those, the keys that have no row any more
    superseded: int


def collapse(
    changes: pa.Table,
    key: Sequence[str],
    mark: PartitionMark | None,
    *,
    empty: bool,
    exact_snapshot: bool = True,
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
        exact_snapshot: A row that the source's snapshot read never comes as an insert after it.
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
    live = newest.filter(pc.invert(gone))
    if empty:
        nothing = newest.slice(0, 0).select(keys)
        return CollapsedChanges(live, nothing, nothing, len(changes) - len(newest))
    replaces = pc.invert(_is_new_row(changes.take(first), mark, exact_snapshot))
    return CollapsedChanges(
        live=live,
        replaced=newest.filter(replaces).select(keys),
        # An insert and a delete of the same new row leave nothing to delete.
        deleted=newest.filter(pc.and_(gone, replaces)).select(keys),
        superseded=len(changes) - len(newest),
    )


def _sent_again(newest: pa.Table, mark: PartitionMark) -> Mask:
    """Tell the changes that lack a value and have a position that is not new."""
    old = pc.less_equal(newest[POSITION], mark.position)
    placed = pc.not_equal(newest[POSITION], NO_POSITION)
    return mask(pc.and_(newest[MISSING].is_valid(), pc.and_(old, placed)))


def _is_new_row(
    first: pa.Table, mark: PartitionMark | None, exact_snapshot: bool
) -> pa.ChunkedArray:
    """Tell inserts that cannot have been applied before from those that may be redelivered."""
    inserted = pc.equal(first[OP], Op.CREATE)
    if mark is None:
        return inserted
    if not exact_snapshot:
        return pa.chunked_array([pa.repeat(False, len(first))])
    return pc.and_(inserted, pc.greater(first[POSITION], mark.position))
