"""The types of columns whose messages do not tell them: what the source's catalog said and says.

It says what a column is today. A message may be older: so a table keeps what the catalog said, and
a column that the catalog no longer has is still read as what it was. Where the two differ, a
message's own values may decide which one it was written in; where both are written alike nobody
can.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from cdc.dialect import Dialect
from cdc.model import SourceColumn, SourceType
from cdc.model.column_types import ColumnTypes, KnownColumns
from cdc.model.logical import (
    DECIMAL,
    ENUM,
    ENUM_SET,
    JSON,
    LTREE,
    TSVECTOR,
    XML,
    decimal_precision,
    decimal_scale,
    meaning,
)
from cdc.state.names import TYPES_PROPERTY

# All types that a column has had, by its name in the source; the last is the one that it has.
TypeMemory = Mapping[str, tuple[SourceType, ...]]

_WHOLE: Final = ("int8", "int16", "int32", "int64")  # from the narrowest on
# What holds its text as it is.
_TEXTS: Final = frozenset({None, ENUM, ENUM_SET, JSON, LTREE, TSVECTOR, XML})
_MOST_DIGITS: Final = 1 << 16
_FORMER: Final = 8  # as many types of one column are kept


def catalog_types(
    memory: TypeMemory,
    catalog: Iterable[SourceColumn],
    table: Collection[str],
    chosen: Collection[str],
    dialect: Dialect,
) -> KnownColumns:
    """Join what the source's catalog said to a table with what it says now.

    Args:
        memory: What it said, as the table keeps it.
        catalog: The columns that the source has now.
        table: The names of the table's columns: what another one was once holds no value here.
        chosen: The columns of which the config says the type.
        dialect: The source's database.
    """
    now = {column.name: column.type for column in catalog}
    columns = {}
    for name in dict.fromkeys((*now, *memory)):
        had, unclear = memory.get(name, ()), None
        if name not in now:
            own, rest = had[-1], had[:-1]
        elif not had or name not in table or name in chosen:
            own, rest = now[name], had
        else:
            both = joint_type(had[-1], now[name], dialect)
            own = both or had[-1]
            rest = had[:-1] if both else (now[name], *had[:-1])
            if both is None and not distinguishable(had[-1], now[name]):
                unclear = now[name]
        others = tuple(kind for kind in rest if distinguishable(own, kind))
        columns[name] = ColumnTypes(own, others=others, unclear=unclear)
    return columns


def unclear_types(known: KnownColumns) -> tuple[str, ...]:
    """Say of columns whose messages may be written in either of two types which these are."""
    return tuple(
        f"{name} from {_spelled(types.declared)} to {_spelled(types.unclear)}"
        for name, types in known.items()
        if types.declared and types.unclear
    )


def joint_type(old: SourceType, new: SourceType, dialect: Dialect) -> SourceType | None:
    """Give the type in which the messages of both can be read, if there is one.

    They are written alike then, and mean the same.
    """
    if old == new:
        return new
    plain = old.logical is new.logical is None and not (old.parameters or new.parameters)
    if plain and old.kind in _WHOLE and new.kind in _WHOLE:
        return max(old, new, key=lambda kind: _WHOLE.index(kind.kind))
    if meaning(old) == meaning(new) == DECIMAL and decimal_scale(old) == decimal_scale(new):
        return max(new, old, key=lambda kind: decimal_precision(kind) or _MOST_DIGITS)
    if old.element is not None and new.element is not None and old.logical == new.logical:
        element = joint_type(old.element, new.element, dialect)
        return None if element is None else replace(new, element=element)
    understood = (dialect.understood(old), dialect.understood(new))
    if all(kind.kind == "string" and kind.logical in _TEXTS for kind in understood):
        return new
    return None


def distinguishable(one: SourceType, other: SourceType) -> bool:
    """Say whether a value that is not null always tells which of two types it is of."""
    return _spellings(one).isdisjoint(_spellings(other))


def _spelled(kind: SourceType) -> str:
    """Write a type with all that tells it from another."""
    if not kind.parameters:
        return str(kind)
    return f"{kind} with {', '.join(f'{name} {value}' for name, value in kind.parameters)}"


def _spellings(kind: SourceType) -> frozenset[str]:
    """Name what values of a type may be in JSON."""
    if kind.kind == "boolean":
        return frozenset({"boolean"})
    if kind.kind in _WHOLE:
        return frozenset({"number"})
    if kind.kind in ("float", "double"):
        return frozenset({"number", "text"})  # NaN is a text
    if kind.kind in ("string", "bytes"):
        return frozenset({"text"})
    return frozenset({"nested"})


def remembered(
    memory: TypeMemory, types: Mapping[str, SourceType], dialect: Dialect
) -> dict[str, tuple[SourceType, ...]]:
    """Add the types of some columns to those that a table keeps."""
    found = dict(memory)
    for name, now in types.items():
        had = found.get(name, ())
        if had and joint_type(had[-1], now, dialect) is not None:
            had = had[:-1]
        earlier = tuple(kind for kind in had if kind != now)
        found[name] = (*earlier[-_FORMER:], now)
    return found


def read_types(properties: Mapping[str, str]) -> dict[str, tuple[SourceType, ...]]:
    """Read the types that a table keeps."""
    found = json.loads(properties.get(TYPES_PROPERTY, "{}"))
    return {name: tuple(_type(kind) for kind in kinds) for name, kinds in found.items()}


def types_property(memory: TypeMemory) -> dict[str, str]:
    """Give the table property that keeps the types of columns."""
    texts = {name: [_written(kind) for kind in kinds] for name, kinds in memory.items()}
    return {TYPES_PROPERTY: json.dumps(texts, separators=(",", ":"))} if texts else {}


def _written(kind: SourceType) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "kind": kind.kind,
        "logical": kind.logical,
        "parameters": [list(pair) for pair in kind.parameters],
        "element": _written(kind.element) if kind.element else None,
        "fields": [[field.name, _written(field.type)] for field in kind.fields],
    }
    return {name: part for name, part in parts.items() if part}


def _type(parts: Mapping[str, Any]) -> SourceType:
    return SourceType(
        parts["kind"],
        parts.get("logical"),
        tuple((name, value) for name, value in parts.get("parameters", ())),
        _type(parts["element"]) if "element" in parts else None,
        tuple(SourceColumn(name, _type(kind)) for name, kind in parts.get("fields", ())),
    )
