"""The table of records that could not be applied."""

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

_COLUMNS: tuple[tuple[str, IcebergType, bool], ...] = (
    ("table", StringType(), True),
    ("topic", StringType(), True),
    ("partition", IntegerType(), True),
    ("offset", LongType(), True),
    ("key", BinaryType(), False),
    ("value", BinaryType(), False),
    ("reason", StringType(), True),
    ("schema_id", IntegerType(), False),
    ("time", TimestamptzType(), True),
)


def quarantine_schema() -> Schema:
    """Give the columns: which table lacks a record, where it stands, its bytes, why and when."""
    fields = [
        NestedField(place, name, kind, required)
        for place, (name, kind, required) in enumerate(_COLUMNS, 1)
    ]
    return Schema(*fields, identifier_field_ids=[1, 2, 3, 4])
