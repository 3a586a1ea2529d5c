"""Every type that Debezium documents for SQL Server and Oracle has its Iceberg type and value."""

import pytest

from cdc.decode import decode_changes
from cdc.decode.connect_schema import columns_of
from cdc.model import MISSING
from cdc.schema import mirror_columns
from connectors import DIALECTS
from tests.unit.connector_messages import event
from tests.unit.documented_types import CASES, ORACLE, SQL_SERVER, VARIABLE, Case
from tests.unit.messages import arrays, base64_of, column, decimal, planned
from tests.unit.messages import final_rows as rows_of

UNAVAILABLE = "__debezium_unavailable_value"
KEY = column("id", "int32", optional=False)


@pytest.mark.parametrize(
    ("name", "case"),
    CASES,
    ids=[f"{name} {case.source} {case.block.get('name', '')}" for name, case in CASES],
)
def test_a_documented_type_is_mirrored_exactly(name: str, case: Case) -> None:
    dialect = DIALECTS[name]
    columns = (KEY, case.block)
    messages = [
        event(name, "c", n, after={"id": n, "v": value}, columns=columns)
        for n, value in enumerate((case.raw, None))
    ]

    plan = planned(messages, dialect)

    (schema,) = plan.known
    assert [str(c.type) for c in mirror_columns(schema, "t", dialect)] == ["int", case.iceberg]
    assert rows_of(messages, plan) == [{"id": 0, "v": case.value}, {"id": 1, "v": None}]


@pytest.mark.parametrize(("name", "cases"), [("sqlserver", SQL_SERVER), ("oracle", ORACLE)])
def test_every_type_of_the_types_page_is_tried(name: str, cases: list[Case]) -> None:
    tried = {columns_of({"type": "struct", "fields": [case.block]})[0].type for case in cases}

    assert [t.source for t in DIALECTS[name].source_types if t.schema not in tried] == []
    assert len(DIALECTS[name].source_types) > 25


def test_a_number_is_the_same_key_whatever_scale_it_is_sent_with() -> None:
    # Oracle's driver gives 100 as 1 with two zeros before the point, LogMiner as it is.
    key = {**VARIABLE, "field": "id", "optional": False}
    columns = (key, column("v", "string"))
    read, streamed = ({"scale": -2, "value": decimal(1)}, {"scale": 0, "value": decimal(100)})
    messages = [
        event("oracle", "r", 1, after={"id": read, "v": "a"}, columns=columns),
        event("oracle", "u", 2, after={"id": streamed, "v": "b"}, columns=columns),
    ]

    assert rows_of(messages, planned(messages, DIALECTS["oracle"])) == [{"id": "100", "v": "b"}]


def test_a_deleted_row_is_found_by_a_number_in_the_messages_key() -> None:
    key = {**VARIABLE, "field": "id", "optional": False}
    columns = (key, column("v", "string"))
    row = {"id": {"scale": 1, "value": decimal(15)}, "v": "a"}
    messages = [
        event("oracle", "c", 1, after=row, columns=columns),
        event("oracle", "d", 2, before=row, columns=columns),
    ]

    assert rows_of(messages, planned(messages, DIALECTS["oracle"])) == []


@pytest.mark.parametrize("name", ["sqlserver", "oracle"])
@pytest.mark.parametrize(
    ("kind", "raw"), [("string", UNAVAILABLE), ("bytes", base64_of(UNAVAILABLE.encode()))]
)
def test_a_large_value_that_an_update_left_out_is_never_taken_for_a_value(
    name: str, kind: str, raw: str
) -> None:
    # varchar(max), varbinary(max), CLOB and BLOB that the update did not touch.
    columns = (KEY, column("v", kind))
    message = event(name, "u", 1, after={"id": 1, "v": raw}, columns=columns)
    plan = planned([message], DIALECTS[name])

    (row,) = decode_changes(0, *arrays([message]), plan).changes[0].to_pylist()

    assert (row["v"], row[MISSING]) == (None, ["v"])
