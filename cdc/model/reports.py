"""What a task says of the records that it was given: they are written, or unplanned, or failed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cdc.errors import MirrorError
from cdc.model.account import Account
from cdc.model.changes import NO_POSITION, Cutoff
from cdc.model.columns import SourceSchema
from cdc.model.files import WrittenFile
from cdc.model.source import SchemaPlace, SourceTable, TableName


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be applied, and why."""

    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class Unsent:
    """Values that changes leave out, and which only the driver can look up."""

    # The keys of the changes, and the names of the values: an Arrow table.
    values: Any
    # Inserts that leave out values, by partition and offset: rows whose key was changed.
    moved: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """Records became files, which nobody has committed yet."""

    account: Account
    position: int = NO_POSITION  # the greatest of the changes
    files: tuple[WrittenFile, ...] = ()
    key_bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    quarantined: WrittenFile | None = None
    # Of changes that were applied before and are read again, and of those with a new snapshot: the
    # last of each row that lives, as an Arrow table, or None. No cutoff before them ends the row.
    survivors: Any = None


@dataclass(frozen=True, slots=True)
class Unplanned:
    """A task met what its plan does not cover; nothing is written before the driver has seen it."""

    table: SourceTable | None = None
    schemas: tuple[SourceSchema, ...] = ()
    truncates: tuple[Cutoff, ...] = ()
    quarantine: bool = False  # bad records, and no quarantine to put them in
    # Where each of the schemas was met.
    places: Mapping[SourceSchema, SchemaPlace] = field(default_factory=dict)
    # How the records' keys begin; another beginning sends a key to another partition.
    key_forms: frozenset[str] = frozenset()
    unsent: Unsent | None = None

    @property
    def changes_plan(self) -> bool:
        """Whether tasks will do something else next time, and may then lack more than they say."""
        return bool(self.schemas or self.quarantine or self.key_forms or self.truncates)


@dataclass(frozen=True, slots=True)
class Failed:
    """The records cannot be applied to their table."""

    error: MirrorError


Outcome = Written | Unplanned | Failed


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """What one task did with the records of one topic partition, for one table."""

    topic: str
    partition: int
    first_offset: int
    next_offset: int
    outcome: Outcome
    target: TableName | None = None  # a topic met for the first time has none
    bad_record: BadRecord | None = None  # the first of those that cannot be applied
    schemaless: bool = False  # some records carry no schema
    # What came before snapshots of the whole table that begin here.
    snapshots: tuple[Cutoff, ...] = ()
