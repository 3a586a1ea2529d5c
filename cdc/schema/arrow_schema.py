"""An Iceberg schema as the Arrow schema of its Parquet files."""

import pyarrow as pa
from pyiceberg.schema import Schema
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
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from cdc.errors import ForeignTableError
from cdc.model import RESERVED

FIELD_ID = "PARQUET:field_id"
PRIMITIVES: dict[type[IcebergType], pa.DataType] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    StringType: pa.string(),
    BinaryType: pa.binary(),
    DateType: pa.date32(),
    TimeType: pa.time64("us"),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: pa.timestamp("us", "UTC"),
}


def arrow_schema(schema: Schema, table: str) -> pa.Schema:
    """Give the Arrow schema of a table's files, field ids in its metadata.

    Raises:
        ForeignTableError: The table has a type that the mirror never writes.
    """
    return pa.schema([_field(column, table) for column in schema.fields])


def source_schema(schema: pa.Schema) -> pa.Schema:
    """Leave out the mirror's own columns, which no message has."""
    return pa.schema([field for field in schema if not field.name.startswith(RESERVED)])


def arrow_type(kind: IcebergType, table: str) -> pa.DataType:
    """Give the Arrow type of one Iceberg type."""
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, ListType):
        return pa.list_(_field(kind.element_field, table))
    if isinstance(kind, MapType):
        return pa.map_(_field(kind.key_field, table), _field(kind.value_field, table))
    if isinstance(kind, StructType):
        return pa.struct([_field(member, table) for member in kind.fields])
    if type(kind) not in PRIMITIVES:
        raise ForeignTableError(table, f"it has a column of type {kind}")
    return PRIMITIVES[type(kind)]


def _field(column: NestedField, table: str) -> pa.Field:
    return pa.field(
        column.name,
        arrow_type(column.field_type, table),
        nullable=not column.required,
        metadata={FIELD_ID: str(column.field_id)},
    )
