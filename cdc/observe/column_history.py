"""What the tables of a mirror did to follow the columns of their sources."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from cdc.observe.text_table import text_table


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a schema that a table had."""

    id: int
    name: str
    type: str
    required: bool


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A schema that a table had; one that nobody keeps any more has no columns."""

    id: int
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange:
    """One change that the mirror made, and the record that asked for it."""

    when: str
    partition: int
    offset: int
    position: int | None  # in the source's log
    source_time: str | None
    kind: str
    column: str
    statement: str
    # Those of changes from before they were noted are not known.
    old_schema: TableSchema | None
    new_schema: TableSchema | None

    @property
    def cells(self) -> tuple[str, ...]:
        """Give the change as a row for people."""
        old = "" if self.old_schema is None else f"{self.old_schema.id} → "
        new = "-" if self.new_schema is None else str(self.new_schema.id)
        position = "" if self.position is None else f"position {self.position}"
        return (
            f"  {self.when}",
            f"partition {self.partition}",
            f"offset {self.offset}",
            position,
            f"schema {old}{new}",
            self.statement,
        )


@dataclass(frozen=True, slots=True)
class ColumnHistory:
    """The changes of one table, in their order."""

    table: str
    topic: str
    changes: tuple[RecordedChange, ...]


@dataclass(frozen=True, slots=True)
class ColumnHistories:
    """The changes of all tables of a mirror."""

    mirror: str
    tables: tuple[ColumnHistory, ...]

    exit_code = 0

    def as_json(self) -> dict[str, Any]:
        """Give the changes for `--output json`."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """Write the changes for people."""
        if not self.tables:
            yield f"no tables of the mirror {self.mirror}"
        for table in self.tables:
            yield f"{table.table} ({table.topic})"
            if table.changes:
                yield from text_table([change.cells for change in table.changes])
            else:
                yield "  no change on record"
