"""Schemas that were inferred from values: joined into one, and fitted to the table there is."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DoubleType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
)

from cdc.errors import UntypedColumnsError
from cdc.model import RESERVED, SourceColumn, SourceSchema, SourceType

TEXT = SourceType("string")
NUMBERS = frozenset({"int64", "double"})
# The types whose values JSON writes in one way only.
GUESSABLE: Mapping[type[IcebergType], SourceType] = {
    BooleanType: SourceType("boolean"),
    IntegerType: SourceType("int32"),
    LongType: SourceType("int64"),
    DoubleType: SourceType("double"),
    StringType: TEXT,
}


def guessable_columns(table: Schema) -> tuple[SourceColumn, ...]:
    """List a table's columns to which values can be fitted that come without a type."""
    return tuple(
        SourceColumn(column.name, GUESSABLE[type(column.field_type)])
        for column in table.fields
        if type(column.field_type) in GUESSABLE and not column.name.startswith(RESERVED)
    )


def joined(schemas: Iterable[SourceSchema]) -> tuple[SourceSchema, ...]:
    """Join the inferred among some schemas, so that one table holds what all of them saw."""
    found: dict[SourceSchema, SourceSchema] = {}
    for schema in schemas:
        # Another key, or another form, is another matter: it is not for guesses to settle.
        kind = replace(schema, columns=(), untyped=()) if schema.inferred else schema
        found[kind] = _join(found[kind], schema) if kind in found else schema
    return tuple(found.values())


def fitted(
    schema: SourceSchema, table: Schema, declared: Collection[str], name: str
) -> SourceSchema:
    """Give an inferred schema the types that the table's columns have already.

    Raises:
        UntypedColumnsError: Values of some columns' types cannot be told from what is written.
    """
    kept = {column.name: column.type for column in guessable_columns(table)}
    there = {column.name for column in table.fields}
    untold = [
        c.name for c in schema.columns if c.name in there - kept.keys() if c.name not in declared
    ]
    if untold:
        raise UntypedColumnsError(name, tuple(untold))
    columns = (
        SourceColumn(c.name, c.type if c.name in declared else kept.get(c.name, c.type))
        for c in schema.columns
    )
    return replace(schema, columns=tuple(columns))


def _join(one: SourceSchema, other: SourceSchema) -> SourceSchema:
    types = {column.name: column.type for column in one.columns}
    for column in other.columns:
        types[column.name] = _wider(types.get(column.name, column.type), column.type)
    untyped = dict.fromkeys((*one.untyped, *other.untyped))
    return replace(
        one,
        columns=tuple(SourceColumn(n, t) for n, t in types.items()),
        untyped=tuple(name for name in untyped if name not in types),
    )


def _wider(one: SourceType, other: SourceType) -> SourceType:
    if one == other:
        return one
    if {one.kind, other.kind} == NUMBERS and one.logical is other.logical is None:
        return SourceType("double")
    return TEXT
