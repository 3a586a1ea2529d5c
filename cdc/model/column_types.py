"""What is known beforehand of columns whose messages do not tell their types."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cdc.model import SourceColumn, SourceType


@dataclass(frozen=True, slots=True)
class ColumnTypes:
    """What is known of one column of messages that carry no schema."""

    # From the source's own catalog, or from the config: messages are read as if they said it.
    declared: SourceType | None = None
    # From the mirrored table, where values made it, or a plain type of the config: it stays, and
    # values are fitted to it. A declared type counts more.
    inferred: SourceType | None = None
    # Other types that the column has had, each of which a value tells from the declared one.
    others: tuple[SourceType, ...] = ()
    # What the catalog says now, where no value tells it from the declared one.
    unclear: SourceType | None = field(default=None, compare=False)


# All columns of which something is known, by their names.
KnownColumns = Mapping[str, ColumnTypes]


def known_columns(
    known: KnownColumns | None = None,
    *,
    declared: Iterable[SourceColumn] = (),
    inferred: Iterable[SourceColumn] = (),
) -> KnownColumns:
    """Add types to what is known: declared ones take the place of others, inferred ones do not."""
    found = dict(known or {})
    for column in declared:
        types = found.get(column.name, ColumnTypes())
        found[column.name] = replace(types, declared=column.type)
    for column in inferred:
        types = found.get(column.name, ColumnTypes())
        found[column.name] = replace(types, inferred=types.inferred or column.type)
    return found
