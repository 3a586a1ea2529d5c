"""Files of a table: written, and live."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One field of a partition spec: what is made of which column."""

    # One of identity, bucket, truncate, year, month, day, hour.
    transform: str
    column: str
    # The number of buckets, or the width to which values are cut.
    argument: int | None = None

    def __str__(self) -> str:
        arguments = self.column if self.argument is None else f"{self.argument}, {self.column}"
        return self.column if self.transform == "identity" else f"{self.transform}({arguments})"


class FileKind(StrEnum):
    """What a file written by a task holds."""

    DATA = "data"
    EQUALITY_DELETES = "equality deletes"
    POSITION_DELETES = "position deletes"
    DELETED_KEYS = "deleted keys"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file that a task wrote and nobody has committed yet."""

    kind: FileKind
    path: str
    size: int
    rows: int
    # The partition spec, and the file's values in it as Iceberg keeps them.
    spec_id: int = 0
    partition: tuple[Any, ...] = ()
    # Of position deletes, the data files that they hit.
    referenced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file that the table's current snapshot has."""

    path: str
    # Iceberg's data sequence number: of two files that hold one key, the greater has its row.
    sequence: int
    rows: int
    # The Kafka partition whose keys alone the file holds; None where it may hold any.
    lane: int | None = None
    spec_id: int = 0
    partition: tuple[Any, ...] = ()


LANE_NAME: Final = re.compile(r"/p(\d{5,})-[0-9a-f-]{36}\.parquet$")


def lane_of(path: str) -> int | None:
    """Read from a data file's name which Kafka partition's keys it holds."""
    found = LANE_NAME.search(path)
    return int(found[1]) if found else None
