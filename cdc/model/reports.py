"""What a task says of the records that it was given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cdc.errors import MirrorError
from cdc.model.account import Account
from cdc.model.changes import Cutoff
from cdc.model.columns import SourceSchema
from cdc.model.files import WrittenFile
from cdc.model.source import SchemaPlace, SourceTable, TableName


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be applied, and why."""

    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class News:
    """What a task met that the plan does not cover; the topic's files wait for the driver."""

    table: SourceTable | None = None
    schemas: tuple[SourceSchema, ...] = ()
    truncates: tuple[Cutoff, ...] = ()
    quarantine: bool = False  # bad records, and no quarantine to put them in
    # Keys of changes that leave out values, and the names of those: an Arrow table, or None.
    missing: Any = None
    # Inserts that leave out values, by offset: rows whose key was changed.
    moved: tuple[int, ...] = ()
    # Where each of the schemas was met.
    places: Mapping[SourceSchema, SchemaPlace] = field(default_factory=dict)
    # How the records' keys begin; another beginning sends a key to another partition.
    key_forms: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """What one task did with the records of one topic partition."""

    topic: str
    partition: int
    first_offset: int
    next_offset: int
    position: int
    account: Account
    target: TableName | None = None  # a topic met for the first time has none
    files: tuple[WrittenFile, ...] = ()
    key_bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    bad: BadRecord | None = None  # the first of those that cannot be applied
    bare: bool = False  # some records carry no schema
    # Where snapshots of the whole table begin.
    snapshots: tuple[Cutoff, ...] = ()
    quarantined: WrittenFile | None = None
    # Of changes that were applied before and are read again, and of those with a new snapshot: the
    # last of each row that lives, as an Arrow table, or None.
    reread: Any = None
    news: News | None = None
    failure: MirrorError | None = None
