"""What a source schema asks of the table that mirrors it."""

from dataclasses import replace

import pytest
from pyiceberg.types import (
    BinaryType,
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

from cdc.config import ApplyMode, ResolvedRule
from cdc.decode import DecodePlan, decode_changes
from cdc.schema import difference, iceberg_schema, mirror_columns, own_columns
from cdc.schema.difference import SchemaDifference, TypeChange
from cdc.schema.mapping import MirrorColumn
from connectors import DIALECTS
from tests.unit.messages import arrays, read_recorded

ID = MirrorColumn("id", LongType(), True, required=True)
KEY = ("id",)


def list_of(element: IcebergType) -> ListType:
    return ListType(element_id=0, element=element, element_required=False)


def struct_of(**members: IcebergType) -> StructType:
    return StructType(*(NestedField(0, name, kind, False) for name, kind in members.items()))


def compared(old: IcebergType, new: IcebergType) -> SchemaDifference:
    table = iceberg_schema((ID, MirrorColumn("v", old, False)))
    return difference(table, (ID, MirrorColumn("v", new, False)), "t", KEY)


@pytest.mark.parametrize(
    "kind",
    [
        LongType(),
        StringType(),
        DecimalType(10, 2),
        list_of(IntegerType()),
        list_of(list_of(struct_of(x=DoubleType()))),
        struct_of(x=DoubleType(), y=list_of(StringType())),
    ],
    ids=str,
)
def test_the_same_type_is_no_difference(kind: IcebergType) -> None:
    assert compared(kind, kind) == SchemaDifference((), (), ("id",), ("id",))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LongType(), IntegerType()),
        (DoubleType(), FloatType()),
        (DecimalType(10, 2), DecimalType(5, 2)),
    ],
    ids=str,
)
def test_a_narrower_type_fits_the_column(old: IcebergType, new: IcebergType) -> None:
    assert compared(old, new).changed == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (IntegerType(), LongType()),
        (FloatType(), DoubleType()),
        (DoubleType(), LongType()),
        (DecimalType(5, 2), DecimalType(10, 2)),
        (DecimalType(10, 2), DecimalType(10, 3)),
        (DecimalType(10, 2), DecimalType(10, 1)),
        (LongType(), StringType()),
        (StringType(), LongType()),
        (StringType(), BinaryType()),
        (TimestampType(), TimestamptzType()),
        (TimestampType(), DateType()),
        (list_of(IntegerType()), list_of(LongType())),
        (list_of(IntegerType()), IntegerType()),
        (struct_of(x=DoubleType()), struct_of(x=DoubleType(), y=DoubleType())),
        (struct_of(x=DoubleType()), struct_of(y=DoubleType())),
    ],
    ids=str,
)
def test_a_type_whose_values_may_not_fit_is_a_change(old: IcebergType, new: IcebergType) -> None:
    (change,) = compared(old, new).changed

    assert change.column == "v"
    assert change.old != change.new


def test_new_columns_are_added_in_the_sources_order() -> None:
    b, a = MirrorColumn("b", StringType(), False), MirrorColumn("a", LongType(), False)

    found = difference(iceberg_schema((ID,)), (ID, b, a), "t", KEY)

    assert found == SchemaDifference((b, a), (), ("id",), ("id",))


def test_a_column_that_the_source_dropped_stays() -> None:
    table = iceberg_schema((ID, MirrorColumn("v", StringType(), False)))

    assert difference(table, (ID,), "t", KEY) == SchemaDifference((), (), ("id",), ("id",))


def test_names_that_differ_in_case_are_two_columns() -> None:
    table = iceberg_schema((ID, MirrorColumn("v", StringType(), False)))
    upper = MirrorColumn("V", StringType(), False)

    assert difference(table, (ID, upper), "t", KEY).added == (upper,)


@pytest.mark.parametrize(
    "new",
    [
        (MirrorColumn("v", LongType(), True), MirrorColumn("id", LongType(), False)),
        (ID, MirrorColumn("v", LongType(), True)),
        (MirrorColumn("v", LongType(), True), ID),
    ],
)
def test_another_key_is_told(new: tuple[MirrorColumn, ...]) -> None:
    table = iceberg_schema((ID, MirrorColumn("v", LongType(), False)))

    found = difference(table, new, "t", KEY)

    assert found.old_key == ("id",)
    assert found.new_key == tuple(column.name for column in new if column.key)
    assert found.old_key != found.new_key


def test_a_recorded_table_tells_what_each_alter_did() -> None:
    messages = read_recorded("pg_json.jsonl")["pgj.app.evolve"]
    dialect = DIALECTS["postgres"]
    plan = DecodePlan(messages[0].topic, dialect, None, frozenset())
    versions = [
        mirror_columns(schema, "evolve", dialect)
        for schema in decode_changes(0, *arrays(messages), plan).new_schemas
    ]
    table = iceberg_schema(versions[0])

    found = [difference(table, version, "evolve", KEY) for version in versions]

    assert found[0] == SchemaDifference((), (), ("id",), ("id",))
    changes = {change for one in found for change in one.changed}
    assert TypeChange("a", "int", "long") in changes
    assert TypeChange("a", "int", "string") in changes
    assert {column.name for one in found for column in one.added} >= {"d_renamed", "e"}


def test_the_mirrors_own_columns_are_no_difference() -> None:
    rule = ResolvedRule(mode=ApplyMode.HISTORY)
    table = iceberg_schema((ID,), rule)

    assert difference(table, (ID,), "t", KEY) == SchemaDifference((), (), KEY, KEY)
    assert difference(table, (ID, *own_columns(rule)), "t", KEY).added == ()


def test_a_key_that_may_be_null_is_the_same_key() -> None:
    nullable = replace(ID, required=False)

    found = difference(iceberg_schema((nullable,)), (nullable,), "t", KEY)

    assert found == SchemaDifference((), (), KEY, KEY)
