"""What a cutoff asks of a table's ledgers: where it stands, and what is to be read again for it."""

from collections.abc import Iterable, Mapping, Sequence

from cdc.model import EARLIEST, Cutoff, PartitionMark
from cdc.state.ledger import Ledger
from cdc.state.source_identity import Moment


def new_snapshot(ledger: Ledger | None, found: Sequence[Cutoff]) -> Cutoff | None:
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
    known = ledger.snapshot if ledger is not None else found[0].begin
    newest = found[-1]
    if known is None:
        return newest
    position, time = known
    same = newest.begin[0] == position
    return newest if not same and (newest.time or 0) >= (time or 0) else None


def replacement(ledger: Ledger | None, replaced: Moment | None) -> Cutoff | None:
    """Tell where another table took the name of the source's, if rows from before may be left.

    Args:
        ledger: How far the table has come.
        replaced: When that was.
    """
    if replaced is None or replaced.position is None:
        return None
    cutoff = Cutoff.replaced(replaced.position, replaced.time)
    known = ledger.snapshot if ledger is not None else None
    return None if known is not None and cutoff.is_done(known) else cutoff


def rewind(
    cutoff: Cutoff,
    marks: Mapping[int, PartitionMark],
    past: Iterable[Ledger],
    first_offsets: Mapping[int, int],
) -> dict[int, PartitionMark]:
    """Find where to read partitions again that are ahead of a cutoff.

    Their rows go with all others, though some are newer than it. The newest ledger at which a
    partition was not past it yet tells where to start; what is older is dropped there.

    Args:
        cutoff: The place.
        marks: How far each partition has been applied.
        past: The table's ledgers, newest first; they are read only if they are needed.
        first_offsets: Where the topic starts for the table, if another one had its beginning.
    """
    ahead = {partition for partition, mark in marks.items() if cutoff.is_past(partition, mark)}
    beginnings = {p: PartitionMark(first_offsets.get(p, EARLIEST)) for p in ahead}
    found: dict[int, PartitionMark] = {}
    for ledger in past if ahead else ():
        for partition in ahead - found.keys():
            mark = ledger.partitions.get(partition)
            if mark is None or not cutoff.is_past(partition, mark):
                found[partition] = mark or beginnings[partition]
        if len(found) == len(ahead):
            break
    return beginnings | found


def pending(
    cutoff: Cutoff | None, marks: Mapping[int, PartitionMark], partition_count: int | None
) -> Cutoff | None:
    """Keep a cutoff for as long as a partition may still hold changes from before it."""
    partitions = range(partition_count) if partition_count else marks
    return None if cutoff is None or cutoff.is_over(partitions, marks) else cutoff


def newest_snapshot(
    known: tuple[int, int | None] | None, begun: Iterable[Cutoff]
) -> tuple[int, int | None] | None:
    """Give where the last snapshot of a table stands, after some that began in a batch."""
    for cutoff in begun:
        if known is None or (cutoff.time or 0) >= (known[1] or 0):
            known = cutoff.begin
    return known
