"""What a truncate, a new snapshot or another table of the same name asks of a table's ledgers.

Each is a place in the source's log before which nothing is true any more.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from cdc.model import EARLIEST, PartitionMark, Truncate
from cdc.state.ledger import Ledger
from cdc.state.source_identity import Moment

# The partition of what is no record, and stands in the source's log alone.
NOWHERE: Final = -1


def new_snapshot(ledger: Ledger | None, found: Sequence[Truncate]) -> Truncate | None:
    """Tell whether a snapshot has begun anew, and where.

    A connector that lost its place reads the whole table again, and tells nothing of the rows
    that were deleted meanwhile: what such a snapshot does not have is gone. The first one ever
    has nothing before it.

    Args:
        ledger: How far the table has come.
        found: Where snapshots begin, oldest first.
    """
    if not found:
        return None
    known = ledger.snapshot if ledger is not None else _place_of(found[0])
    newest = found[-1]
    if known is None:
        return newest
    position, time = known
    same = _place_of(newest)[0] == position
    return newest if not same and (newest.time or 0) >= (time or 0) else None


def replacement(ledger: Ledger | None, replaced: Moment | None) -> Truncate | None:
    """Tell where another table took the name of the source's, if rows from before may be left.

    Args:
        ledger: How far the table has come.
        replaced: When that was.
    """
    if replaced is None or replaced.position is None:
        return None
    begin = Truncate(NOWHERE, 0, replaced.position, replaced.time, snapshot=True)
    known = ledger.snapshot if ledger is not None else None
    return None if known is not None and _is_known(begin, known) else begin


def rewind(
    truncate: Truncate,
    marks: Mapping[int, PartitionMark],
    past: Iterable[Ledger],
    first_offsets: Mapping[int, int],
) -> dict[int, PartitionMark]:
    """Find where to read partitions again that are ahead of a truncate.

    Their rows go with all others, though some are newer than the truncate. The newest ledger
    at which a partition was not past it yet tells where to start; what is older than the
    truncate is dropped there.

    Args:
        truncate: The place.
        marks: How far each partition has been applied.
        past: The table's ledgers, newest first; they are read only if they are needed.
        first_offsets: Where the topic starts for the table, if another one had its beginning.
    """
    ahead = {p for p, mark in marks.items() if _past(p, mark, truncate)}
    found: dict[int, PartitionMark] = {}
    for ledger in past if ahead else ():
        for partition in ahead - found.keys():
            mark = ledger.partitions.get(partition)
            if mark is None:
                found[partition] = _beginning(partition, first_offsets)
            elif not _past(partition, mark, truncate):
                found[partition] = mark
        if len(found) == len(ahead):
            break
    return {p: found.get(p) or _beginning(p, first_offsets) for p in ahead}


def _beginning(partition: int, first_offsets: Mapping[int, int]) -> PartitionMark:
    return PartitionMark(first_offsets.get(partition, EARLIEST))


def pending(
    truncate: Truncate | None, marks: Mapping[int, PartitionMark], partition_count: int | None
) -> Truncate | None:
    """Keep a truncate for as long as a partition may still hold changes from before it."""
    if truncate is None:
        return None
    partitions = range(partition_count) if partition_count else marks
    passed = all(
        partition == truncate.partition
        or (partition in marks and marks[partition].position > truncate.position)
        for partition in partitions
    )
    return None if passed else truncate


def newest_snapshot(
    known: tuple[int, int | None] | None, begun: Iterable[Truncate]
) -> tuple[int, int | None] | None:
    """Give where the last snapshot of a table stands, after some that began in a batch."""
    for begin in begun:
        if known is None or (begin.time or 0) >= (known[1] or 0):
            known = _place_of(begin)
    return known


def _is_known(begin: Truncate, known: tuple[int, int | None]) -> bool:
    """Say whether the rows from before a place are gone already."""
    position, time = known
    return position == _place_of(begin)[0] or (time or 0) > (begin.time or 0)


def _place_of(begin: Truncate) -> tuple[int, int | None]:
    """Give the place in the source's log that all rows of a snapshot have."""
    return begin.position + 1, begin.time


def _past(partition: int, mark: PartitionMark, truncate: Truncate) -> bool:
    """Say whether a partition has been applied beyond a truncate."""
    if partition == truncate.partition:
        return mark.next_offset > truncate.offset + 1
    return mark.position > truncate.position
