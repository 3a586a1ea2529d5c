"""Tables: of the source, of the catalog, and what became of their columns."""

from dataclasses import dataclass

from cdc.model.changes import NO_POSITION


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
