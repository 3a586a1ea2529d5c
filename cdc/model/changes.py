"""Changes of rows, and how far a partition's have been applied."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import merge
from typing import Final

# The offset of the first record that Kafka still has of a partition, as its clients write it.
EARLIEST: Final = -2

# The position of a change whose source block names none: older than every other.
NO_POSITION: Final = -1

# How a ledger writes that a cutoff is of no partition.
_NO_PARTITION: Final = -1


class Op(StrEnum):
    """What a Debezium change does to its row."""

    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"
    READ = "r"
    TRUNCATE = "t"


@dataclass(frozen=True, slots=True)
class PartitionMark:
    """How far one Kafka partition has been applied: next offset, and greatest source position."""

    next_offset: int
    position: int = NO_POSITION


class CutoffCause(StrEnum):
    """Why the rows from before a place in the source's log go."""

    TRUNCATE = "truncate"
    NEW_SNAPSHOT = "new snapshot"  # the whole table is read again: what it lacks is gone
    REPLACED = "replaced"  # another table took the name of the source's


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A place in the source's log: the rows of a table from before it go.

    In the partition of the record that tells of it Kafka's offset says what is before, elsewhere
    the source position. Offset and position are the last that go: those of a truncate itself, and
    those right before the first row of a snapshot.
    """

    partition: int | None  # None where no record tells of it, and its offset means nothing
    offset: int
    position: int
    time: int | None = None  # microseconds since 1970, as the source has it
    # A ledger does not keep it.
    cause: CutoffCause = field(default=CutoffCause.TRUNCATE, compare=False)

    @staticmethod
    def before_snapshot(partition: int, offset: int, position: int, time: int | None) -> "Cutoff":
        """Cut off what came before the first row of a snapshot of the whole table."""
        return Cutoff(partition, offset - 1, position - 1, time, CutoffCause.NEW_SNAPSHOT)

    @staticmethod
    def replaced(position: int, time: int | None) -> "Cutoff":
        """Cut off the rows of another table, which had the name of the source's until then."""
        return Cutoff(None, 0, position, time, CutoffCause.REPLACED)

    @staticmethod
    def from_entry(entry: Sequence[int | None]) -> "Cutoff":
        """Read a cutoff back from the entry of a ledger."""
        partition, offset, position, time = entry
        assert offset is not None and position is not None
        if partition == _NO_PARTITION:
            return Cutoff(None, offset, position, time, CutoffCause.REPLACED)
        return Cutoff(partition, offset, position, time)

    @property
    def entry(self) -> list[int | None]:
        """The entry of a ledger that keeps the cutoff."""
        partition = _NO_PARTITION if self.partition is None else self.partition
        return [partition, self.offset, self.position, self.time]

    @property
    def is_reload(self) -> bool:
        """Whether the rows that the source has come again behind it."""
        return self.cause is not CutoffCause.TRUNCATE

    @property
    def begin(self) -> tuple[int, int | None]:
        """The place in the source's log right behind it, which all rows of a snapshot have."""
        return self.position + 1, self.time

    def is_past(self, partition: int, mark: PartitionMark) -> bool:
        """Say whether a partition has been applied beyond it."""
        if partition == self.partition:
            return mark.next_offset > self.offset + 1
        return mark.position > self.position

    def is_over(self, partitions: Iterable[int], marks: Mapping[int, PartitionMark]) -> bool:
        """Say whether no partition can still bring changes from before it."""
        return all(
            partition == self.partition
            or (partition in marks and marks[partition].position > self.position)
            for partition in partitions
        )

    def covers(self, other: "Cutoff") -> bool:
        """Say whether another has nothing to wipe that this one has not, of late changes too.

        Within one partition the later one always has: what came in between.
        """
        if self.partition == other.partition:
            return False
        later = None not in (self.time, other.time) and (other.time or 0) > (self.time or 0)
        return other.position <= self.position and not later

    def is_done(self, snapshot: tuple[int, int | None]) -> bool:
        """Say whether its rows are gone already, from the place of the table's last snapshot."""
        position, time = snapshot
        return position == self.begin[0] or (time or 0) > (self.time or 0)


def cutoffs_in_order(cutoffs: Iterable[Cutoff]) -> tuple[Cutoff, ...]:
    """Order cutoffs: those of one partition as Kafka does, between partitions by position."""
    partitions: dict[int | None, list[Cutoff]] = {}
    for cutoff in sorted(set(cutoffs), key=lambda c: c.offset):
        partitions.setdefault(cutoff.partition, []).append(cutoff)
    return tuple(merge(*partitions.values(), key=lambda c: c.position))
