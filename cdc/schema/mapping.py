"""A source table's columns as Iceberg columns.

Nothing is rounded or cut: what Iceberg has no exact type for becomes text, and a choice that has no
exact conversion is refused before anything is written.
"""

from dataclasses import dataclass
from typing import Final

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from cdc import logical
from cdc.config import ResolvedRule
from cdc.config.type_choices import MOMENTS, Otherwise, TypeChoice, parse_type_choice
from cdc.dialect import Dialect
from cdc.errors import NoKeyError, UnmappableTypeError, UnmirrorableColumnError
from cdc.model import RESERVED, SourceSchema, SourceType
from cdc.schema.type_table import ANY_DECIMAL, ROWS

WIDEST_DECIMAL: Final = 38
# Ids of a schema under construction; the real ones are assigned when it is whole.
UNASSIGNED: Final = 0
NESTED: Final = (ListType, MapType, StructType)


@dataclass(frozen=True, slots=True)
class MirrorColumn:
    """A column of the mirrored table."""

    name: str
    type: IcebergType
    key: bool
    otherwise: Otherwise = Otherwise.REJECT


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a type stands, for errors."""

    table: str
    column: str
    dialect: Dialect


def mirror_columns(
    schema: SourceSchema, table: str, dialect: Dialect, rule: ResolvedRule | None = None
) -> tuple[MirrorColumn, ...]:
    """Map a source table's columns, the key's first.

    Args:
        schema: The columns and the key of the source table.
        table: Its name, for errors.
        dialect: What its database brings of its own.
        rule: What the config says of the table: types, and columns to hash or to leave out.

    Raises:
        NoKeyError: The source table has no key, so that its rows cannot be told apart.
        UnmappableTypeError: A column has no exact form in its type.
        UnmirrorableColumnError: Iceberg, or the mirror, can have no such column.
    """
    rule = rule or ResolvedRule()
    _refuse_unmirrorable(schema, table, rule)
    sources = {column.name: column.type for column in schema.columns}
    missing = [name for name in schema.key if name not in sources]
    if not schema.key or missing:
        raise NoKeyError(table, tuple(missing))
    others = [name for name in sources if name not in {*schema.key, *rule.exclude}]
    columns = []
    for name in (*schema.key, *others):
        place = _Place(table, name, dialect)
        choice = parse_type_choice(rule.types[name]) if name in rule.types else TypeChoice()
        hashed = name in rule.hash
        kind = StringType() if hashed else _chosen(sources[name], choice, place)
        if name in schema.key:
            _refuse_key(kind, choice, place)
        columns.append(MirrorColumn(name, kind, name in schema.key, choice.otherwise))
    return tuple(columns)


def iceberg_schema(columns: tuple[MirrorColumn, ...]) -> Schema:
    """Put columns into a schema with fresh ids, its identifier fields being the key."""
    fields = [NestedField(place, c.name, c.type, c.key) for place, c in enumerate(columns, 1)]
    # Iceberg allows no floating point number as an identifier.
    inexact = any(c.key and isinstance(c.type, FloatType | DoubleType) for c in columns)
    identifiers = [] if inexact else [f.field_id for f in fields if f.required]
    return assign_fresh_schema_ids(Schema(*fields, identifier_field_ids=identifiers))


def choices_of(source: SourceType) -> tuple[str, ...]:
    """Name the types that a rule may choose for a column, beside the one it has by itself."""
    own = ROWS[logical.meaning(source) or source.kind].choices
    if source.element is None:
        return own
    row = ROWS[logical.meaning(source.element) or source.element.kind]
    return (*own, *(f"list<{name}>" for name in (row.iceberg, *row.choices)))


def _refuse_unmirrorable(schema: SourceSchema, table: str, rule: ResolvedRule) -> None:
    names = [column.name for column in schema.columns]
    nested = {column.name for column in schema.columns if column.type.fields}
    for column in schema.columns:
        reason = None
        if column.name in rule.exclude:
            if column.name not in schema.key:
                continue
            reason = "it is excluded, but a key must be mirrored"
        elif column.name.startswith(RESERVED):
            reason = f"names that begin with {RESERVED} are the mirror's own"
        elif names.count(column.name) > 1:
            reason = "there are two of that name"
        elif column.name.partition(".")[0] in nested and "." in column.name:
            reason = "its name is also the path to a field of another column"
        if reason is not None:
            raise UnmirrorableColumnError(table, column.name, reason)


def _refuse_key(kind: IcebergType, choice: TypeChoice, place: _Place) -> None:
    if isinstance(kind, NESTED):
        raise UnmirrorableColumnError(place.table, place.column, "a key cannot be nested")
    if choice.otherwise is not Otherwise.REJECT:
        # Rows whose keys were replaced could not be told apart.
        reason = f'a key cannot be replaced, but its type says "or {choice.otherwise}"'
        raise UnmirrorableColumnError(place.table, place.column, reason)


def _chosen(source: SourceType, choice: TypeChoice, place: _Place) -> IcebergType:
    if choice.semantic is not None and choice.semantic != source:
        wanted = str(choice.semantic)
        raise UnmappableTypeError(place.table, place.column, str(source), wanted)
    kind = _type_of(source, place, choice.iceberg)
    if choice.otherwise is Otherwise.NEAREST and str(kind) not in MOMENTS:
        wanted = f'{kind} "or nearest"'
        raise UnmappableTypeError(place.table, place.column, str(source), wanted, MOMENTS)
    return kind


def _type_of(source: SourceType, place: _Place, wanted: str | None = None) -> IcebergType:
    """Give the type that is wanted for a column or a part of it, or else the one it has."""
    if wanted is not None and wanted.startswith("list<") and source.element is not None:
        return _list(_type_of(source.element, place, wanted[5:-1]))
    if wanted is not None and _allowed(source, wanted):
        return _parsed(wanted)
    own = place.dialect.iceberg_type(source)
    kind = _shared_type(source, place) if own is None else _parsed(own)
    if wanted is not None and str(kind) != wanted:
        raise UnmappableTypeError(
            place.table, place.column, str(source), wanted, (str(kind), *choices_of(source))
        )
    return kind


def _allowed(source: SourceType, wanted: str) -> bool:
    name = ANY_DECIMAL if wanted.startswith(ANY_DECIMAL) else wanted
    row = ROWS[logical.meaning(source) or source.kind]
    return name in row.choices or name == row.iceberg


def _shared_type(source: SourceType, place: _Place) -> IcebergType:
    name = logical.meaning(source)
    if name == logical.DECIMAL:
        return _decimal(source)
    if source.logical == logical.DECIMAL:
        # Without its scale, or as anything but bytes, it says no number.
        raise UnmappableTypeError(place.table, place.column, f"{source} without a scale")
    row = ROWS[name or source.kind]
    if source.element is not None:
        return _list(_type_of(source.element, place))
    if source.kind == "map":
        key, value = (_type_of(field.type, place) for field in source.fields)
        return MapType(UNASSIGNED, key, UNASSIGNED, value, value_required=False)
    if row.iceberg != "struct":
        return _parsed(row.iceberg)
    if not source.fields:
        raise UnmappableTypeError(place.table, place.column, "a struct without fields")
    if len({field.name for field in source.fields}) < len(source.fields):
        reason = "it has two fields of one name"
        raise UnmirrorableColumnError(place.table, place.column, reason)
    return StructType(
        *(NestedField(UNASSIGNED, f.name, _type_of(f.type, place), False) for f in source.fields)
    )


def _list(element: IcebergType) -> ListType:
    return ListType(element_id=UNASSIGNED, element=element, element_required=False)


def _parsed(text: str) -> IcebergType:
    field = {"id": 1, "name": "x", "required": False, "type": text}
    return NestedField.model_validate(field).field_type


def _decimal(source: SourceType) -> IcebergType:
    scale = logical.decimal_scale(source)
    precision = logical.decimal_precision(source)
    if precision is None:
        precision = WIDEST_DECIMAL
    if scale is None or not 0 <= scale <= precision <= WIDEST_DECIMAL:
        return StringType()
    return DecimalType(precision, scale)
