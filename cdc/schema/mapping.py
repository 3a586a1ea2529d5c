"""A source table's columns as Iceberg columns.

Nothing is rounded or cut: what Iceberg has no exact type for becomes text, and a type that has no
exact form at all is refused.
"""

from dataclasses import dataclass
from typing import Final

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from cdc.dialect import Dialect
from cdc.errors import NoKeyError, UnmappableTypeError, UnmirrorableColumnError
from cdc.model import RESERVED, SourceSchema, SourceType

PRECISION: Final = "connect.decimal.precision"
WIDEST_DECIMAL: Final = 38
# Ids of a schema under construction; the real ones are assigned when it is whole.
UNASSIGNED: Final = 0

BY_KIND: Final[dict[str, IcebergType]] = {
    "int8": IntegerType(),
    "int16": IntegerType(),
    "int32": IntegerType(),
    "int64": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "string": StringType(),
    "bytes": BinaryType(),
}
BY_LOGICAL: Final[dict[str, IcebergType]] = {
    "io.debezium.time.Date": DateType(),
    "org.apache.kafka.connect.data.Date": DateType(),
    "io.debezium.time.Timestamp": TimestampType(),
    "org.apache.kafka.connect.data.Timestamp": TimestampType(),
    "io.debezium.time.MicroTimestamp": TimestampType(),
    "io.debezium.time.ZonedTimestamp": TimestamptzType(),
    # Spark reads no table that has Iceberg's time type, and 24:00:00 fits none.
    "io.debezium.time.Time": StringType(),
    "org.apache.kafka.connect.data.Time": StringType(),
    "io.debezium.time.MicroTime": StringType(),
    "io.debezium.data.VariableScaleDecimal": StringType(),
}
# Nanoseconds fit no type of format v2, and cutting them would be silent.
NESTED: Final = frozenset({"array", "map", "struct"})
REFUSED: Final = frozenset({"io.debezium.time.NanoTimestamp", "io.debezium.time.NanoTime"})


@dataclass(frozen=True, slots=True)
class MirrorColumn:
    """A column of the mirrored table."""

    name: str
    type: IcebergType
    key: bool


def mirror_columns(schema: SourceSchema, table: str, dialect: Dialect) -> tuple[MirrorColumn, ...]:
    """Map a source table's columns, the key's first.

    Raises:
        NoKeyError: The source table has no key, so that its rows cannot be told apart.
        UnmappableTypeError: A column has a type without an exact Iceberg type.
        UnmirrorableColumnError: Iceberg, or the mirror, can have no such column.
    """
    _refuse_unmirrorable(schema, table)
    types = {column.name: column.type for column in schema.columns}
    missing = [name for name in schema.key if name not in types]
    if not schema.key or missing:
        raise NoKeyError(table, tuple(missing))
    names = [*schema.key, *(name for name in types if name not in schema.key)]
    return tuple(
        MirrorColumn(name, _type_of(types[name], table, name, dialect), name in schema.key)
        for name in names
    )


def iceberg_schema(columns: tuple[MirrorColumn, ...]) -> Schema:
    """Put columns into a schema with fresh ids, its identifier fields being the key."""
    fields = [NestedField(place, c.name, c.type, c.key) for place, c in enumerate(columns, 1)]
    # Iceberg allows no floating point number as an identifier.
    inexact = any(c.key and isinstance(c.type, FloatType | DoubleType) for c in columns)
    identifiers = [] if inexact else [f.field_id for f in fields if f.required]
    return assign_fresh_schema_ids(Schema(*fields, identifier_field_ids=identifiers))


def _refuse_unmirrorable(schema: SourceSchema, table: str) -> None:
    names = [column.name for column in schema.columns]
    nested = {column.name for column in schema.columns if column.type.fields}
    for column in schema.columns:
        reason = None
        if column.name.startswith(RESERVED):
            reason = f"names that begin with {RESERVED} are the mirror's own"
        elif names.count(column.name) > 1:
            reason = "there are two of that name"
        elif column.name.partition(".")[0] in nested and "." in column.name:
            reason = "its name is also the path to a field of another column"
        elif column.name in schema.key and column.type.kind in NESTED and not _is_text(column.type):
            reason = "a key cannot be nested"
        if reason is not None:
            raise UnmirrorableColumnError(table, column.name, reason)


def _is_text(source: SourceType) -> bool:
    """Say whether a nested type is mirrored as text."""
    return isinstance(BY_LOGICAL.get(source.logical or ""), StringType)


def _type_of(source: SourceType, table: str, column: str, dialect: Dialect) -> IcebergType:
    own = dialect.iceberg_type(source)
    if own is not None:
        return NestedField.model_validate(
            {"id": 1, "name": column, "required": False, "type": own}
        ).field_type
    if source.logical in REFUSED or source.kind == "map":
        raise UnmappableTypeError(table, column, str(source))
    if source.logical == "org.apache.kafka.connect.data.Decimal":
        return _decimal(source, table, column)
    if source.logical in BY_LOGICAL:
        return BY_LOGICAL[source.logical]
    if source.element is not None:
        element = _type_of(source.element, table, column, dialect)
        return ListType(element_id=UNASSIGNED, element=element, element_required=False)
    if source.kind == "struct":
        if not source.fields:
            raise UnmappableTypeError(table, column, "a struct without fields")
        members = [
            NestedField(UNASSIGNED, f.name, _type_of(f.type, table, column, dialect), False)
            for f in source.fields
        ]
        return StructType(*members)
    return BY_KIND[source.kind]


def _decimal(source: SourceType, table: str, column: str) -> IcebergType:
    try:
        scale = int(source.parameter("scale") or "none")
        precision = int(source.parameter(PRECISION) or WIDEST_DECIMAL)
    except ValueError as error:
        raise UnmappableTypeError(table, column, f"{source} without a scale") from error
    if source.kind != "bytes":
        raise UnmappableTypeError(table, column, str(source))
    if not 0 <= scale <= precision <= WIDEST_DECIMAL:
        return StringType()
    return DecimalType(precision, scale)
