"""The words all stages share: names, source schemas, ledgers, file descriptions, reports."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from cdc.errors import MirrorError

# Every column, property and summary key that the mirror adds to a table starts with this.
RESERVED: Final = "_mirror_"
OFFSET: Final = RESERVED + "offset"
OP: Final = RESERVED + "op"
POSITION: Final = RESERVED + "position"
PARTITION: Final = RESERVED + "partition"
# When the source made a change, or else when Kafka got it.
TIME: Final = RESERVED + "time"
# Columns of tables that keep more than the current rows.
DELETED: Final = RESERVED + "deleted"
VALID_FROM: Final = RESERVED + "valid_from"
VALID_TO: Final = RESERVED + "valid_to"
CURRENT: Final = RESERVED + "current"
# The names of the columns that a change leaves out, in tables of changes where any does.
MISSING: Final = RESERVED + "missing"
LEDGER_PROPERTY: Final = RESERVED + "ledger"
# The sequence number of the snapshot for which the ledger among the table's properties is true.
SEQUENCE_PROPERTY: Final = LEDGER_PROPERTY + "_sequence"
MIRROR_PROPERTY: Final = RESERVED + "name"
TOPIC_PROPERTY: Final = RESERVED + "topic"
KEY_PROPERTY: Final = RESERVED + "key"
# The ids of columns that were in the key once.
FORMER_KEY_PROPERTY: Final = RESERVED + "former_key"
# How the bytes of the records' keys began so far.
KEY_FORMS_PROPERTY: Final = RESERVED + "key_forms"
# What the table did to follow its source's columns, and defaults that old rows still lack.
SCHEMA_LOG_PROPERTY: Final = RESERVED + "schema_log"
BACKFILL_PROPERTY: Final = RESERVED + "backfill"
# What the source's own catalog knows the columns by.
IDENTITIES_PROPERTY: Final = RESERVED + "identities"
# The types that columns have had in messages that do not tell them.
TYPES_PROPERTY: Final = RESERVED + "types"
QUARANTINE: Final = RESERVED + "quarantine"
QUARANTINED_PROPERTY: Final = RESERVED + "quarantined"
# Of the quarantine's table: which tables of the mirror are parked, and why.
PARKED_PROPERTY: Final = RESERVED + "parked"

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
class SourceType:
    """A Connect type: the physical kind and, where Debezium gives one, the logical name."""

    kind: str
    logical: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    element: "SourceType | None" = None
    fields: tuple["SourceColumn", ...] = ()

    def parameter(self, name: str) -> str | None:
        """Give the value of one schema parameter, such as `scale`."""
        return dict(self.parameters).get(name)

    @property
    def whole(self) -> str:
        """All that tells the type from another, as text."""
        element = self.element.whole if self.element else ""
        fields = [(field.name, field.type.whole) for field in self.fields]
        return repr((self.kind, self.logical, self.parameters, element, fields))

    def __str__(self) -> str:
        if self.logical:
            return f"{self.kind} ({self.logical})"
        return f"{self.kind}<{self.element}>" if self.element else self.kind


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """One column as the source's change messages describe it."""

    name: str
    type: SourceType
    # Whether the source says that it may be null; None where it says nothing. No two columns
    # differ by this alone: it decides what a new table is like, not how a message is read.
    optional: bool | None = field(default=None, compare=False)
    # The value of rows that do not say one, as messages would write it.
    default: Any = field(default=None, compare=False)


class Form(StrEnum):
    """How a message holds the row."""

    ENVELOPE = "envelope"  # before, after, op and source
    FLAT = "flat"  # the row itself, as ExtractNewRecordState leaves it
    DOCUMENT = "document"  # an envelope around the text of a document


@dataclass(frozen=True, slots=True)
class SourceSchema:
    """The columns and the key of a source table, as one version of its messages has them."""

    columns: tuple[SourceColumn, ...]
    key: tuple[str, ...]
    form: Form = Form.ENVELOPE
    # The messages carry no schema: some of these types were guessed from values.
    inferred: bool = False
    untyped: tuple[str, ...] = ()  # then also: columns without a value and a type


@dataclass(frozen=True, slots=True)
class SchemaPlace:
    """Where a schema was met first: of several partitions, where the source position is least."""

    partition: int
    offset: int
    position: int = NO_POSITION
    time: int | None = None  # microseconds since 1970, as the source has it


@dataclass(frozen=True, slots=True)
class SchemaEvent:
    """What a table did to follow its source: messages from before are read in the light of it."""

    kind: str
    column: str
    place: SchemaPlace
    # The name that the column, or what it held until then, has since.
    to: str | None = None
    # What a new column holds in rows that were written before; as text.
    default: str | None = None
    # Of a column with another type: the source's new one.
    type: str | None = None
    text: str = ""  # the change in words of SQL
    when: str = ""  # of the mirror's clock
    old_schema: int | None = None  # Iceberg's numbers
    new_schema: int | None = None


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Which table of which database a change comes from."""

    server: str
    database: str
    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class TableName:
    """A table of the catalog: its namespace levels and its own name."""

    namespace: tuple[str, ...]
    table: str

    def __str__(self) -> str:
        return ".".join((*self.namespace, self.table))


# One table of one topic; a topic met for the first time has no table yet.
TargetId = tuple[str, TableName | None]


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be applied, and why."""

    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the records of one table: every record read is in one of the other counts."""

    read: int = 0
    applied: int = 0
    superseded: int = 0
    duplicates: int = 0
    quarantined: int = 0

    def __add__(self, other: "Account") -> "Account":
        return Account(
            self.read + other.read,
            self.applied + other.applied,
            self.superseded + other.superseded,
            self.duplicates + other.duplicates,
            self.quarantined + other.quarantined,
        )

    @property
    def balanced(self) -> bool:
        """Whether every record read is accounted for."""
        return self.read == (self.applied + self.superseded + self.duplicates + self.quarantined)


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


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a table has applied, kept in the table's own commits."""

    mirror: str
    topic: str
    batch: int
    partitions: Mapping[int, PartitionMark]
    account: Account = field(default_factory=Account)
    # The last truncate, as long as a partition may still hold changes from before it.
    truncate: Truncate | None = None
    # Where in the source's log the last snapshot of the table stands: position and time.
    snapshot: tuple[int, int | None] | None = None

    def to_json(self) -> str:
        """Write the ledger as the text that a snapshot summary carries."""
        marks = {str(p): [m.next_offset, m.position] for p, m in sorted(self.partitions.items())}
        a, t = self.account, self.truncate
        barrier = {"truncate": [t.partition, t.offset, t.position, t.time]} if t else {}
        snapshot = {"snapshot": list(self.snapshot)} if self.snapshot else {}
        return json.dumps(
            {
                "mirror": self.mirror,
                "topic": self.topic,
                "batch": self.batch,
                "partitions": marks,
                "read": a.read,
                "applied": a.applied,
                "superseded": a.superseded,
                "duplicates": a.duplicates,
                "quarantined": a.quarantined,
                **barrier,
                **snapshot,
            },
            separators=(",", ":"),
        )

    @staticmethod
    def from_json(text: str) -> "Ledger":
        """Read a ledger back from a snapshot summary."""
        raw = json.loads(text)
        marks = {int(p): PartitionMark(*mark) for p, mark in raw["partitions"].items()}
        counts = (raw["read"], raw["applied"], raw["superseded"], raw["duplicates"])
        account = Account(*counts, raw.get("quarantined", 0))  # older ledgers have none
        truncate = Truncate(*raw["truncate"]) if "truncate" in raw else None
        snapshot = tuple(raw["snapshot"]) if "snapshot" in raw else None
        return Ledger(raw["mirror"], raw["topic"], raw["batch"], marks, account, truncate, snapshot)


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


@dataclass(frozen=True, slots=True)
class News:
    """What a task met that the plan does not cover; the topic's files wait for the driver."""

    table: SourceTable | None = None
    schemas: tuple[SourceSchema, ...] = ()
    truncates: tuple[Truncate, ...] = ()
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
    snapshots: tuple[Truncate, ...] = ()
    quarantined: WrittenFile | None = None
    # Of changes that were applied before and are read again, and of those with a new snapshot: the
    # last of each row that lives, as an Arrow table, or None.
    reread: Any = None
    news: News | None = None
    failure: MirrorError | None = None
