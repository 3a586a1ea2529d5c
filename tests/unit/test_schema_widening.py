"""Inferred schemas: joined before a table is made, fitted to the table once it is there."""

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
)

from cdc.errors import UntypedColumnsError
from cdc.model import Form, SourceColumn, SourceSchema, SourceType
from cdc.schema import fitted, guessable_columns, joined


def inferred(form: Form = Form.ENVELOPE, **types: str) -> SourceSchema:
    columns = tuple(SourceColumn(name, SourceType(kind)) for name, kind in types.items())
    return SourceSchema(columns, ("id",), form, inferred=True)


def table(**types: IcebergType) -> Schema:
    fields = (NestedField(n, name, kind, False) for n, (name, kind) in enumerate(types.items(), 1))
    return Schema(*fields)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("int64", "int64", "int64"),
        ("int64", "double", "double"),
        ("boolean", "int64", "string"),
        ("string", "double", "string"),
    ],
)
def test_what_two_tasks_inferred_becomes_one_type(one: str, other: str, both: str) -> None:
    (forth,) = joined([inferred(id="int64", x=one), inferred(id="int64", x=other)])
    (back,) = joined([inferred(id="int64", x=other), inferred(id="int64", x=one)])

    assert forth == back == inferred(id="int64", x=both)


def test_columns_that_only_one_task_met_are_kept() -> None:
    (found,) = joined([inferred(id="int64", a="string"), inferred(id="int64", b="double")])

    assert found == inferred(id="int64", a="string", b="double")


def test_schemas_that_were_told_or_are_of_another_kind_stay_apart() -> None:
    told = SourceSchema((SourceColumn("id", SourceType("int64")),), ("id",))
    other_key = SourceSchema(told.columns, (), inferred=True)
    flat = inferred(Form.FLAT, id="int64")

    assert joined([told, inferred(id="int64"), other_key, flat]) == (
        *(told, inferred(id="int64"), other_key, flat),
    )


def test_a_tables_types_rule() -> None:
    there = table(id=IntegerType(), a=DoubleType(), b=StringType(), c=BooleanType(), d=LongType())
    schema = inferred(id="int64", a="int64", b="int64", c="string", d="double", new="double")

    found = fitted(schema, there, (), "app.orders")

    assert found == inferred(
        id="int32", a="double", b="string", c="boolean", d="int64", new="double"
    )


def test_columns_whose_values_could_be_written_in_several_ways_are_refused() -> None:
    there = table(id=LongType(), at=TimestampType(), price=DecimalType(10, 2), gone=TimestampType())

    with pytest.raises(UntypedColumnsError) as raised:
        fitted(inferred(id="int64", at="int64", price="string"), there, (), "app.orders")

    assert raised.value.table == "app.orders"
    assert raised.value.columns == ("at", "price")


def test_a_column_that_is_told_needs_no_guess() -> None:
    there = table(id=LongType(), at=TimestampType())
    moment = SourceColumn("at", SourceType("int64", "io.debezium.time.MicroTimestamp"))
    schema = SourceSchema((SourceColumn("id", SourceType("int64")), moment), ("id",), inferred=True)

    assert fitted(schema, there, {moment.name}, "app.orders") == schema


def test_the_mirrors_own_columns_are_not_the_sources() -> None:
    there = table(id=LongType(), _mirror_op=StringType())

    assert [column.name for column in guessable_columns(there)] == ["id"]
