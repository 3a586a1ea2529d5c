"""Changes of rows, and how far a partition's have been applied."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

# The offset of the first record that Kafka still has of a partition, as its clients write it.
EARLIEST: Final = -2

# The position of a change whose source block names none: older than every other.
NO_POSITION: Final = -1


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


@dataclass(frozen=True, slots=True)
class Truncate:
    """Where a truncate stands: in its own partition by offset, elsewhere by source position."""

    partition: int
    offset: int
    position: int
    time: int | None = None  # microseconds since 1970, as the source has it
    # It stands right before a new snapshot of the whole table, and is no record.
    snapshot: bool = field(default=False, compare=False)
