"""Schemas, names and options at the edge of what Iceberg and the clients can have."""

from typing import Any

import pyarrow as pa
import pytest

from cdc.decode import decode_changes
from cdc.dialect import Dialect
from cdc.errors import MirrorError
from cdc.model import TableName
from cdc.schema import table_location
from cdc.source.client_options import JAAS, librdkafka_options
from connectors import DIALECTS
from tests.unit.messages import (
    CONNECT_DECIMAL,
    ORDERS,
    PRECISION,
    Block,
    Message,
    Table,
    arrays,
    column,
    insert,
    planned,
)

POSTGRES = DIALECTS["postgres"]
WITH_TABLES = [dialect for dialect in DIALECTS.values() if dialect.table_field == "table"]


def with_column(block: Block, value: Any) -> Message:
    table = Table((*ORDERS.columns, block))
    return insert({"id": 1, block["field"]: value}, table=table)


@pytest.mark.parametrize("name", ["_mirror_offset", "_mirror_op", "_mirror_position"])
def test_a_source_column_with_a_reserved_name_is_refused(name: str) -> None:
    message = with_column(column(name, "string"), "x")

    with pytest.raises(MirrorError):
        planned([message], POSTGRES)


@pytest.mark.parametrize(
    "block",
    [
        column("id", "array", optional=False, items={"type": "int32", "optional": True}),
        column("id", "struct", optional=False, fields=[column("x")]),
    ],
    ids=["array", "struct"],
)
def test_a_key_that_iceberg_cannot_have_is_refused(block: Block) -> None:
    table = Table((block, column("v", "string")))
    value = [1] if block["type"] == "array" else {"x": 1}

    with pytest.raises(MirrorError):
        planned([insert({"id": value, "v": "x"}, table=table)], POSTGRES)


@pytest.mark.parametrize("dialect", WITH_TABLES, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(
    "parameters",
    [None, {"scale": "x"}, {"scale": "-2"}, {"scale": "30"}, {"scale": "2", PRECISION: "x"}],
    ids=str,
)
def test_a_decimal_with_odd_parameters_is_mapped_or_refused(
    dialect: Dialect, parameters: dict[str, str] | None
) -> None:
    message = with_column(
        column("n", "bytes", logical=CONNECT_DECIMAL, parameters=parameters), "AQ=="
    )

    try:
        plan = planned([message], dialect)
    except MirrorError:
        return

    assert plan.table is not None
    kind = plan.table.schema.field("n").type
    assert pa.types.is_string(kind) or kind.scale <= kind.precision


@pytest.mark.parametrize("kind", ["int32", "int64", "double", "boolean"])
def test_a_decimal_that_is_not_sent_as_bytes_is_refused(kind: str) -> None:
    block = column("n", kind, logical=CONNECT_DECIMAL, parameters={"scale": "0", PRECISION: "5"})
    message = with_column(block, True if kind == "boolean" else 1)

    with pytest.raises(MirrorError):
        decode_changes(0, *arrays([message]), planned([message], POSTGRES))


@pytest.mark.parametrize(
    "blocks",
    [
        [column("s", "struct", fields=[])],
        [column("twice"), column("twice", "string")],
        [column("a.b"), column("a", "struct", fields=[column("b")])],
    ],
    ids=["no field", "twice", "dotted"],
)
def test_columns_that_iceberg_cannot_have_are_refused(blocks: list[Block]) -> None:
    message = insert({"id": 1}, table=Table((*ORDERS.columns, *blocks)))

    with pytest.raises(MirrorError):
        planned([message], POSTGRES)


def test_a_name_made_to_look_like_anothers_folder_has_its_own() -> None:
    odd = table_location("/w", TableName(("a b",), "x y"))
    assert odd is not None
    copied = TableName(("a b",), odd.rpartition("/")[2])

    assert table_location("/w", copied) != odd


def test_a_jaas_line_may_have_single_quotes() -> None:
    line = "x.PlainLoginModule required username='ann' password='s\"3';"

    options = librdkafka_options({JAAS: line})

    assert options == {"sasl.username": "ann", "sasl.password": 's"3'}
