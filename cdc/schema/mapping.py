"""A source table's columns as Iceberg columns.

Nothing is rounded or cut: what Iceberg has no exact type for becomes text, and a choice that has no
exact conversion is refused before anything is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from cdc.config import ApplyMode, ResolvedRule
from cdc.config.type_choices import MOMENTS, Otherwise, TypeChoice, parse_type_choice
from cdc.dialect import Dialect
from cdc.errors import (
    NoKeyError,
    UnknownKeyError,
    UnmappableTypeError,
    UnmirrorableColumnError,
)
from cdc.model import (
    CURRENT,
    DELETED,
    OFFSET,
    OP,
    PARTITION,
    POSITION,
    RESERVED,
    TIME,
    VALID_FROM,
    VALID_TO,
    SourceSchema,
    SourceType,
    logical,
)
from cdc.schema.type_table import ANY_DECIMAL, ROWS

WIDEST_DECIMAL: Final = 38
# Ids of a schema under construction; the real ones are assigned when it is whole.
UNASSIGNED: Final = 0
NESTED: Final = (ListType, MapType, StructType)
# The columns that the mirror adds to a table that keeps more than the current rows.
OWN: Final[dict[ApplyMode, dict[str, IcebergType]]] = {
    ApplyMode.APPEND: {
        OP: StringType(),
        PARTITION: IntegerType(),
        OFFSET: LongType(),
        POSITION: LongType(),
        TIME: TimestamptzType(),
    },
    ApplyMode.HISTORY: {
        VALID_FROM: TimestamptzType(),
        VALID_TO: TimestamptzType(),
        CURRENT: BooleanType(),
    },
}


@dataclass(frozen=True, slots=True)
class MirrorColumn:
    """A column of the mirrored table."""

    name: str
    type: IcebergType
    key: bool
    otherwise: Otherwise = Otherwise.REJECT
    required: bool = False


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

    The key is the one that the config names, else that of the messages. A table of changes has
    none, since its rows need not be told apart.

    Args:
        schema: The columns and the key of the source table.
        table: Its name, for errors.
        dialect: What its database brings of its own.
        rule: What the config says of the table: types, and columns to hash or to leave out.

    Raises:
        NoKeyError: The source table has no key, so that its rows cannot be told apart.
        UnknownKeyError: The config names a key that the source table does not have.
        UnmappableTypeError: A column has no exact form in its type.
        UnmirrorableColumnError: Iceberg, or the mirror, can have no such column.
    """
    rule = rule or ResolvedRule()
    sources = {column.name: column.type for column in schema.columns}
    key = _key(schema, table, rule)
    _refuse_unmirrorable(schema, key, table, rule)
    required = _required(schema, key, rule)
    first = key or tuple(name for name in schema.key if name in sources)
    columns = []
    for name in dict.fromkeys((*first, *sources)):
        if name in rule.exclude:
            continue
        place = _Place(table, name, dialect)
        choice = parse_type_choice(rule.types[name]) if name in rule.types else TypeChoice()
        hashed = name in rule.hash
        kind = StringType() if hashed else _chosen(sources[name], choice, place)
        if name in key:
            _refuse_key(kind, choice, place)
        columns.append(MirrorColumn(name, kind, name in key, choice.otherwise, name in required))
    return tuple(columns)


def iceberg_schema(
    columns: tuple[MirrorColumn, ...],
    rule: ResolvedRule | None = None,
    comments: Mapping[str, str] | None = None,
) -> Schema:
    """Put columns into a schema with fresh ids, the mirror's own behind those of the source.

    The key's columns are its identifier fields where Iceberg allows that: none may be null or a
    floating point number, and no two rows may have the same key.
    """
    rule = rule or ResolvedRule()
    whole = (*columns, *own_columns(rule))
    docs = {name: comment for name, comment in (comments or {}).items() if comment}
    fields = [
        NestedField(place, c.name, c.type, c.required, docs.get(c.name))
        for place, c in enumerate(whole, 1)
    ]
    exact = all(
        c.required and not isinstance(c.type, FloatType | DoubleType) for c in columns if c.key
    )
    unique = exact and rule.mode is ApplyMode.MIRROR
    identifiers = [place for place, c in enumerate(columns, 1) if c.key and unique]
    return assign_fresh_schema_ids(Schema(*fields, identifier_field_ids=identifiers))


def own_columns(rule: ResolvedRule) -> tuple[MirrorColumn, ...]:
    """Give the columns that the mirror adds to a table, by what the table keeps."""
    own = OWN.get(rule.mode, {})
    if rule.soft:
        own = {DELETED: BooleanType()}
    return tuple(MirrorColumn(name, kind, False) for name, kind in own.items())


def _key(schema: SourceSchema, table: str, rule: ResolvedRule) -> tuple[str, ...]:
    """Give the key of the mirrored table."""
    if rule.mode is ApplyMode.APPEND:
        return ()
    names = [column.name for column in schema.columns]
    key = rule.key or schema.key
    missing = tuple(name for name in key if name not in names)
    if rule.key and missing:
        raise UnknownKeyError(table, missing, tuple(names))
    if not key or missing:
        raise NoKeyError(table, missing)
    return key


def _required(schema: SourceSchema, key: tuple[str, ...], rule: ResolvedRule) -> frozenset[str]:
    """Name the columns of a key that are never null.

    Messages with a schema have a key where a table has one, and where nothing is said it is whole.
    Of other columns, and of types that are a guess, the source must say so.
    """
    if rule.key or schema.inferred:
        sure = {column.name for column in schema.columns if column.optional is False}
    else:
        sure = {column.name for column in schema.columns if not column.optional}
    return frozenset(name for name in key if name in sure)


def choices_of(source: SourceType) -> tuple[str, ...]:
    """Name the types that a rule may choose for a column, beside the one it has by itself."""
    own = ROWS[logical.meaning(source) or source.kind].choices
    if source.element is None:
        return own
    row = ROWS[logical.meaning(source.element) or source.element.kind]
    return (*own, *(f"list<{name}>" for name in (row.iceberg, *row.choices)))


def _refuse_unmirrorable(
    schema: SourceSchema, key: tuple[str, ...], table: str, rule: ResolvedRule
) -> None:
    names = [column.name for column in schema.columns]
    nested = {column.name for column in schema.columns if column.type.fields}
    for column in schema.columns:
        reason = None
        if column.name in rule.exclude:
            if column.name not in key:
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
