"""Partition fields against the columns of a table."""

import pickle

import pytest
from pyiceberg.schema import Schema
from pyiceberg.transforms import Transform, parse_transform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from cdc.config import ResolvedRule
from cdc.config.partitioning import NUMBERED, TRANSFORMS
from cdc.errors import PartitionError
from cdc.model import PartitionField, SourceColumn, SourceSchema, SourceType
from cdc.schema import check_partition, iceberg_schema, mirror_columns
from connectors import DIALECTS

EXACT: tuple[PrimitiveType, ...] = (
    BooleanType(),
    IntegerType(),
    LongType(),
    DecimalType(10, 2),
    StringType(),
    BinaryType(),
    DateType(),
    TimeType(),
    TimestampType(),
    TimestamptzType(),
)
FLOATS: tuple[PrimitiveType, ...] = (FloatType(), DoubleType())


def one_column(kind: PrimitiveType) -> Schema:
    return Schema(NestedField(1, "x", kind))


def taken(field: PartitionField, schema: Schema) -> bool:
    try:
        check_partition([field], schema, "t")
    except PartitionError:
        return False
    return True


@pytest.mark.parametrize("kind", EXACT, ids=str)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_type_takes_the_transforms_that_iceberg_gives_it(name: str, kind: PrimitiveType) -> None:
    numbered = name in NUMBERED
    iceberg: Transform[object, object] = parse_transform(f"{name}[4]" if numbered else name)
    field = PartitionField(name, "x", 4 if numbered else None)

    assert taken(field, one_column(kind)) == iceberg.can_transform(kind)


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_a_floating_point_number_makes_no_partitions(kind: PrimitiveType) -> None:
    assert not taken(PartitionField("identity", "x"), one_column(kind))


def test_a_nested_column_makes_no_partitions() -> None:
    schema = Schema(
        NestedField(1, "a", ListType(3, StringType())),
        NestedField(2, "b", StructType(NestedField(4, "c", StringType()))),
    )

    assert not taken(PartitionField("identity", "a"), schema)
    assert not taken(PartitionField("identity", "b"), schema)
    assert not taken(PartitionField("identity", "b.c"), schema)


def test_every_field_that_does_not_fit_is_told() -> None:
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
    fields = [
        PartitionField("identity", "id"),
        PartitionField("day", "name"),
        PartitionField("identity", "nmae"),
        PartitionField("bucket", "secret", 4),
    ]

    with pytest.raises(PartitionError) as caught:
        check_partition(fields, schema, "shop.users", excluded=["secret"])

    assert caught.value.table == "shop.users"
    assert caught.value.reasons == (
        "day(name): name is string, which takes identity, bucket, truncate",
        "nmae: there is no column nmae; did you mean name?",
        "bucket(4, secret): secret is excluded from the mirror",
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_hashed_column_is_partitioned_as_text() -> None:
    source = SourceSchema(
        (SourceColumn("id", SourceType("int64")), SourceColumn("born", SourceType("int64"))),
        ("id",),
    )
    rule = ResolvedRule(hash=("born",))
    schema = iceberg_schema(mirror_columns(source, "t", DIALECTS["mysql"], rule))

    assert taken(PartitionField("truncate", "born", 2), schema)
    with pytest.raises(PartitionError, match="born is string"):
        check_partition([PartitionField("day", "born")], schema, "t")
