"""Records in quarantine, as they are shown."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class BadGroup:
    """The records of one table that are bad for the same cause."""

    table: str | None
    topic: str
    reason: str  # that of the first of them
    records: int
    first: tuple[int, int]  # partition and offset
    last: tuple[int, int]
    first_time: datetime
    last_time: datetime
    # How many can be replayed as far as Kafka is concerned; None where it does not answer.
    replayable: int | None


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """One record, whole."""

    table: str | None
    topic: str
    partition: int
    offset: int
    reason: str
    schema_id: int | None
    time: datetime
    key: bytes | None
    value: bytes | None
