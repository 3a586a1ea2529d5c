"""What is known beforehand of columns whose messages do not tell their types."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cdc.model import SourceColumn, SourceType


@dataclass(frozen=True, slots=True)
class ColumnTypes:
    """What is known of one column: a declared type, an inferred one, or both."""

    name: str
    # From the source's own catalog, or from the config: messages are read as if they said it.
    declared: SourceType | None = None
    # From the mirrored table, where values made it, or a plain type of the config: it stays, and
    # values are fitted to it.
    inferred: SourceType | None = None
    # Other types that the column has had, each of which a value tells from the declared one.
    others: tuple[SourceType, ...] = ()
    # What the catalog says now, where no value tells it from the declared one.
    unclear: SourceType | None = field(default=None, compare=False)

    @property
    def type(self) -> SourceType | None:
        """The type that counts."""
        return self.declared or self.inferred


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """What is known of all columns of messages that carry no schema; each has another name."""

    columns: tuple[ColumnTypes, ...] = ()

    @property
    def by_name(self) -> dict[str, ColumnTypes]:
        """The columns by their names."""
        return {column.name: column for column in self.columns}

    @property
    def declared(self) -> Mapping[str, SourceType]:
        """The declared types by the columns' names."""
        return {column.name: column.declared for column in self.columns if column.declared}

    @property
    def inferred(self) -> Mapping[str, SourceType]:
        """The inferred types by the columns' names, also where another type is declared."""
        return {column.name: column.inferred for column in self.columns if column.inferred}

    def with_declared(self, columns: Iterable[SourceColumn]) -> "KnownColumns":
        """Add declared types; one that was there before gives way."""
        found = self.by_name
        for column in columns:
            known = found.get(column.name) or ColumnTypes(column.name)
            found[column.name] = replace(known, declared=column.type)
        return KnownColumns(tuple(found.values()))

    def with_inferred(self, columns: Iterable[SourceColumn]) -> "KnownColumns":
        """Add inferred types; one that was there before stays."""
        found = self.by_name
        for column in columns:
            known = found.get(column.name) or ColumnTypes(column.name)
            found[column.name] = replace(known, inferred=known.inferred or column.type)
        return KnownColumns(tuple(found.values()))
