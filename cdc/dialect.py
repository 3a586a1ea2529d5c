"""What a source database brings of its own: the stages see this, never a database's name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cdc.model import SourceColumn, SourceTable, SourceType

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ConnectorRequest:
    """What a Debezium connector has to be told about one database."""

    name: str
    topic_prefix: str
    hostname: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    tables: tuple[str, ...]
    bootstrap_servers: str


@dataclass(frozen=True, slots=True)
class DocumentedType:
    """One type of a source database as the types page shows it."""

    source: str  # as the database names it
    schema: SourceType  # as Debezium sends it
    settings: str = ""  # the connector's settings under which it does
    note: str = ""  # what happens at the edges, beyond what is said of the schema


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What a database's own catalog knows of a column, beyond its type."""

    identity: int | None = None  # stays when the column gets another name
    comment: str = ""


@dataclass(frozen=True, slots=True)
class SourceTables:
    """The tables of a database, as its own catalog has them."""

    # What tells the server from others: numbers of another one say nothing. Empty where unknown.
    server: str
    # The number that each table keeps under another name, by schema and name; None where it has
    # none, or nobody may see it.
    numbers: Mapping[tuple[str, str], int | None]
    # Where the source's log stood, and its clock, in microseconds: a table that is not named here
    # was not there then. None where the database does not tell.
    position: int | None = None
    time: int | None = None
    # The only database that was asked; empty where it was the whole server.
    database: str = ""

    def covers(self, table: SourceTable) -> bool:
        """Whether the catalog would name a table; a flat row names no database."""
        return not self.database or table.database in ("", self.database, table.server)

    def lacks(self, table: SourceTable) -> bool:
        """Whether there is surely no table of that name."""
        return self.covers(table) and (table.schema, table.table) not in self.numbers


def as_sent(source: SourceType) -> SourceType:
    """Take a type for what its message says."""
    return source


@dataclass(frozen=True, slots=True)
class Dialect:
    """One source database."""

    name: str
    # The field of the source block that names the schema; databases without schemas say "db".
    schema_field: str
    # What a topic's name holds after the prefix, of database, schema and table: a message without
    # a source block names its table nowhere else.
    topic_parts: tuple[str, ...]
    # The fields of the source block that `position` reads, with their JSON type.
    position_fields: Mapping[str, str]
    # One number per change that never falls while one server is the source.
    position: "Callable[[Mapping[str, pa.Array]], pa.Array]"
    # The Iceberg type of what differs from the shared mapping; None means: as shared.
    iceberg_type: Callable[[SourceType], str | None]
    # The Debezium connector's settings.
    connector_config: Callable[[ConnectorRequest], dict[str, str]]
    # Connects to the database and says what it found, or raises SourceUnreachableError.
    probe: Callable[[str], str]
    # What a type means in this database where its message does not say all.
    understood: Callable[[SourceType], SourceType] = as_sent
    # The field of the source block that names the table.
    table_field: str = "table"
    # Reads a table's columns from the database at a URL, in the types that Debezium writes under
    # the given handling modes; None where nobody has taught the mirror to.
    columns: "Callable[[str, SourceTable, Mapping[str, str]], tuple[SourceColumn, ...]] | None" = (
        None
    )
    # Reads from the database at a URL what messages do not say of a table's columns.
    facts: "Callable[[str, SourceTable], Mapping[str, ColumnFacts]] | None" = None
    # Lists the tables of the database at a URL.
    tables: "Callable[[str], SourceTables] | None" = None
    # Whether a table keeps its identity for as long as it lives. Otherwise another one under the
    # same name says nothing.
    lasting_identity: bool = False
    # The database's types as Debezium sends them, for the types page.
    source_types: tuple[DocumentedType, ...] = ()
    # Whether tests run against the real server, or against messages in the documented form alone.
    proven: bool = False
    # The fields of the source block that `fresh` reads, with their JSON type.
    snapshot_fields: Mapping[str, str] = field(default_factory=dict)
    # Tells the rows of a snapshot that a connector takes where it knows of no place to go on from:
    # what such a snapshot lacks is gone. One that somebody asks for may be of some rows only.
    fresh: "Callable[[Mapping[str, pa.Array]], pa.Array] | None" = None
    # Whether a row that the snapshot read never comes as an insert after it, so that an insert can
    # be told to be a new row.
    exact_snapshot: bool = False
