"""Logical types at their edges: from the schema block and the JSON value to the table's value."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cdc.decode.connect_schema import SchemaBlockError, columns_of, source_type
from cdc.decode.json_payloads import json_type, read_payloads
from cdc.decode.values import convert
from cdc.model import SourceColumn, SourceSchema, SourceType
from cdc.schema import arrow_schema, iceberg_schema, mirror_columns
from connectors import DIALECTS
from tests.unit.messages import CONNECT_DECIMAL, PRECISION, Block, base64_of, decimal

DAY = 86_400_000_000
TIME, MICRO_TIME = "io.debezium.time.Time", "io.debezium.time.MicroTime"
TIMESTAMP, MICRO_TIMESTAMP = "io.debezium.time.Timestamp", "io.debezium.time.MicroTimestamp"
ZONED_TIMESTAMP = "io.debezium.time.ZonedTimestamp"
CONNECT = "org.apache.kafka.connect.data."
VARIABLE_SCALE: Block = {
    "type": "struct",
    "name": "io.debezium.data.VariableScaleDecimal",
    "fields": [{"type": "int32", "field": "scale"}, {"type": "bytes", "field": "value"}],
}
POINT: Block = {
    "type": "struct",
    "name": "io.debezium.data.geometry.Point",
    "fields": [
        {"type": "double", "field": "x"},
        {"type": "double", "field": "y"},
        {"type": "bytes", "field": "wkb"},
        {"type": "int32", "field": "srid"},
    ],
}


def named(kind: str, logical: str, **parameters: str) -> Block:
    return {"type": kind, "name": logical, "parameters": parameters}


def array_of(items: Block) -> Block:
    return {"type": "array", "items": items}


def numeric(precision: int, scale: int) -> Block:
    parameters = {"scale": str(scale), PRECISION: str(precision)}
    return {"type": "bytes", "name": CONNECT_DECIMAL, "parameters": parameters}


def table_type(source: SourceType) -> pa.DataType:
    key = SourceColumn("k", SourceType("int32"))
    schema = SourceSchema((key, SourceColumn("v", source)), ("k",))
    columns = mirror_columns(schema, "t", DIALECTS["postgres"])
    return arrow_schema(iceberg_schema(columns), "t").field("v").type


def converted(block: Block, values: list[Any]) -> list[Any]:
    """Take values the whole way: JSON, raw column, the table's column."""
    source = source_type(block)
    payloads = pa.array([json.dumps({"v": value}).encode() for value in values], pa.binary())
    raw = read_payloads(payloads, pa.schema([("v", json_type(source))])).table["v"].chunk(0)
    target = table_type(source)
    column = convert(raw, source, target)
    assert column.type == target
    column.validate(full=True)
    return list(column.to_pylist())


@pytest.mark.parametrize(
    ("block", "value", "wanted"),
    [
        ({"type": "int8"}, -128, -128),
        ({"type": "int16"}, 32767, 32767),
        ({"type": "int32"}, -(2**31), -(2**31)),
        ({"type": "int64"}, 2**63 - 1, 2**63 - 1),
        ({"type": "float"}, 1.5, 1.5),
        ({"type": "double"}, 1.7e308, 1.7e308),
        ({"type": "boolean"}, False, False),
        ({"type": "string"}, "", ""),
        ({"type": "string"}, "zoë 🚀 \u0000", "zoë 🚀 \u0000"),
        ({"type": "bytes"}, "", b""),
        ({"type": "bytes"}, base64_of(b"\x00\xff"), b"\x00\xff"),
        (named("bytes", "io.debezium.data.Bits", length="12"), "FQ==", b"\x00\x15"),
        (named("string", "io.debezium.data.Json"), '{"a": 1.10}', '{"a": 1.10}'),
        (named("string", "io.debezium.data.Enum", allowed="a,b"), "a", "a"),
        (named("int32", "io.debezium.time.Year"), 1901, 1901),
        (named("int64", "io.debezium.time.MicroDuration"), -86401000000, -86401000000),
        (named("string", "io.debezium.time.ZonedTime"), "07:04:56.789012Z", "07:04:56.789012Z"),
    ],
)
def test_a_plain_value_stays_as_it_is(block: Block, value: Any, wanted: Any) -> None:
    assert converted(block, [value, None]) == [wanted, None]


@pytest.mark.parametrize("logical", ["io.debezium.time.Date", CONNECT + "Date"])
@pytest.mark.parametrize(
    ("days", "day"),
    [
        (0, date(1970, 1, 1)),
        (-1, date(1969, 12, 31)),
        (-719162, date(1, 1, 1)),
        (2932896, date(9999, 12, 31)),
        (19782, date(2024, 2, 29)),
    ],
)
def test_days_become_a_date(logical: str, days: int, day: date) -> None:
    assert converted(named("int32", logical), [days, None]) == [day, None]


@pytest.mark.parametrize("logical", [TIMESTAMP, CONNECT + "Timestamp"])
@pytest.mark.parametrize(
    ("millis", "moment"),
    [
        (0, datetime(1970, 1, 1)),
        (-1, datetime(1969, 12, 31, 23, 59, 59, 999000)),
        (-62135596800000, datetime(1, 1, 1)),
        (253402300799999, datetime(9999, 12, 31, 23, 59, 59, 999000)),
    ],
)
def test_milliseconds_become_a_timestamp(logical: str, millis: int, moment: datetime) -> None:
    assert converted(named("int64", logical), [millis, None]) == [moment, None]


@pytest.mark.parametrize(
    ("micros", "moment"),
    [
        (-1, datetime(1969, 12, 31, 23, 59, 59, 999999)),
        (-62135596800000000, datetime(1, 1, 1)),
        (253402300799999999, datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ],
)
def test_microseconds_become_a_timestamp(micros: int, moment: datetime) -> None:
    assert converted(named("int64", MICRO_TIMESTAMP), [micros, None]) == [moment, None]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-02-29T10:34:56.789012Z", datetime(2024, 2, 29, 10, 34, 56, 789012, UTC)),
        ("2024-02-29T10:34:56Z", datetime(2024, 2, 29, 10, 34, 56, tzinfo=UTC)),
        ("2024-02-29T10:34:56.7Z", datetime(2024, 2, 29, 10, 34, 56, 700000, UTC)),
        ("2024-02-29T10:34:56+02:00", datetime(2024, 2, 29, 8, 34, 56, tzinfo=UTC)),
        ("0001-01-01T00:00:00.000000Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
        ("1969-12-31T23:59:59.999999Z", datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)),
    ],
)
def test_a_zoned_text_becomes_a_moment(text: str, moment: datetime) -> None:
    assert converted(named("string", ZONED_TIMESTAMP), [text, None]) == [moment, None]


@pytest.mark.parametrize(
    ("block", "value"),
    [
        (named("string", ZONED_TIMESTAMP), "infinity"),
        (named("string", ZONED_TIMESTAMP), ""),
        (named("string", ZONED_TIMESTAMP), "2024-02-30T00:00:00Z"),
        (named("string", ZONED_TIMESTAMP), "2024-01-01T00:00:00"),
        (named("string", ZONED_TIMESTAMP), "2024-01-01T00:00:00.1234567Z"),
        (named("int64", TIMESTAMP), 2**63 - 1),
        (named("int64", TIMESTAMP), -(2**63)),
        (numeric(5, 2), decimal(100_000)),
        (numeric(5, 2), "no base64"),
        ({"type": "bytes"}, "no base64"),
        (array_of({"type": "bytes"}), ["AAAA", "AAA"]),
    ],
)
def test_a_value_that_the_tables_type_cannot_hold_is_refused(block: Block, value: Any) -> None:
    with pytest.raises(pa.ArrowInvalid):
        converted(block, [None, value])


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "00:00:00.000000"),
        (1, "00:00:00.000001"),
        (DAY - 1, "23:59:59.999999"),
        (DAY, "24:00:00.000000"),
        (DAY + 1, "24:00:00.000001"),
        (-1, "-00:00:00.000001"),
        (-3020399000000, "-838:59:59.000000"),
        (3020399000001, "838:59:59.000001"),
    ],
)
def test_a_time_becomes_text_also_beyond_a_day(micros: int, text: str) -> None:
    noon = DAY // 2

    column = converted(named("int64", MICRO_TIME), [noon, micros, None, noon])

    assert column == ["12:00:00.000000", text, None, "12:00:00.000000"]


@pytest.mark.parametrize("logical", [TIME, CONNECT + "Time"])
def test_milliseconds_of_a_day_become_text(logical: str) -> None:
    values = [0, 45296789, 86_400_000, -1, None]

    column = converted(named("int32", logical), values)

    texts = ["00:00:00.000000", "12:34:56.789000", "24:00:00.000000", "-00:00:00.001000", None]
    assert column == texts


@pytest.mark.parametrize(
    ("scale", "unscaled", "text"),
    [
        (0, 0, "0"),
        (0, -1, "-1"),
        (3, 123456, "123.456"),
        (9, -1, "-0.000000001"),
        (-2, 123, "12300"),
        (0, 10**60, "1" + "0" * 60),
        (40, -(10**40) - 1, "-1." + "0" * 39 + "1"),
    ],
)
def test_a_decimal_that_brings_its_own_scale_becomes_exact_text(
    scale: int, unscaled: int, text: str
) -> None:
    values = [{"scale": scale, "value": decimal(unscaled)}, None]

    assert converted(VARIABLE_SCALE, values) == [text, None]


def test_a_decimal_of_more_than_38_digits_becomes_exact_text() -> None:
    values = [decimal(-(10**64)), None, decimal(1)]

    column = converted(numeric(65, 30), values)

    assert [None if v is None else Decimal(v) for v in column] == [
        Decimal("-1e34"),
        None,
        Decimal("1e-30"),
    ]
    assert "e" not in "".join(value.lower() for value in column if value)


@pytest.mark.parametrize(
    ("items", "values", "wanted"),
    [
        ({"type": "int32"}, [[1, None, 3], [], None, [4]], None),
        ({"type": "string"}, [["a", None], None, [""]], None),
        (
            {"type": "bytes"},
            [["AA==", None], None, [], ["AQ=="]],
            [[b"\0", None], None, [], [b"\1"]],
        ),
        (
            named("int32", "io.debezium.time.Date"),
            [[0, None], None],
            [[date(1970, 1, 1), None], None],
        ),
        (named("int64", MICRO_TIME), [[DAY], None], [["24:00:00.000000"], None]),
        (numeric(10, 2), [[decimal(-5), None], None], [[Decimal("-0.05"), None], None]),
        (VARIABLE_SCALE, [[{"scale": 1, "value": "Dw=="}, None], None], [["1.5", None], None]),
        (array_of({"type": "int32"}), [[[1, None], [], None], None], None),
        (
            array_of(named("int32", "io.debezium.time.Date")),
            [[[0], None, []], []],
            [[[date(1970, 1, 1)], None, []], []],
        ),
    ],
)
def test_arrays_convert_their_elements(
    items: Block, values: list[Any], wanted: list[Any] | None
) -> None:
    assert converted(array_of(items), values) == (values if wanted is None else wanted)


def test_structs_convert_their_fields() -> None:
    values = [{"x": 1.5, "y": -2.25, "wkb": "AQI=", "srid": None}, None, {"x": 0.0}]

    column = converted(POINT, values)

    assert column == [
        {"x": 1.5, "y": -2.25, "wkb": b"\x01\x02", "srid": None},
        None,
        {"x": 0.0, "y": None, "wkb": None, "srid": None},
    ]


def test_arrays_of_structs_of_arrays_convert() -> None:
    block = array_of(
        {
            "type": "struct",
            "fields": [{**array_of(named("int32", "io.debezium.time.Date")), "field": "days"}],
        }
    )

    column = converted(block, [[{"days": [0, None]}, None, {"days": None}], None])

    assert column == [[{"days": [date(1970, 1, 1), None]}, None, {"days": None}], None]


def test_a_narrower_number_goes_into_a_wider_column() -> None:
    source = SourceType("int32")
    raw = pa.array([1, None, -(2**31)], pa.int32())

    column = convert(raw, source, pa.int64())

    assert column == pa.array([1, None, -(2**31)], pa.int64())


def test_a_slice_of_lists_converts_its_own_rows() -> None:
    source = SourceType("array", element=SourceType("bytes"))
    raw = pa.array([["AA=="], None, ["AQ==", None], []]).slice(1, 3)

    column = convert(raw, source, pa.list_(pa.binary()))

    assert column.to_pylist() == [None, [b"\x01", None], []]


def test_maps_convert_whatever_their_keys() -> None:
    text: Block = {"type": "map", "keys": {"type": "string"}, "values": {"type": "string"}}
    number: Block = {"type": "map", "keys": {"type": "int16"}, "values": {"type": "double"}}

    assert converted(text, [{"k": "v", "n": None}, None, {}]) == [
        [("k", "v"), ("n", None)],
        None,
        [],
    ]
    assert converted(number, [[[3, 0.5]], None]) == [[(3, 0.5)], None]


@pytest.mark.parametrize(
    "block",
    [
        {},
        {"type": 5},
        {"type": "int31"},
        {"type": "array"},
        {"type": "array", "items": "int32"},
        {"type": "map", "keys": {"type": "string"}},
        {"type": "struct"},
        {"type": "struct", "fields": {}},
        {"type": "struct", "fields": [{"type": "int32"}]},
        {"type": "struct", "fields": [5]},
        {"type": "string", "name": 5},
        {"type": "string", "parameters": [1]},
        {"type": "array", "items": {"type": "struct", "fields": [{"field": "x", "type": "y"}]}},
    ],
)
def test_a_schema_block_of_the_wrong_kind_is_refused(block: Block) -> None:
    with pytest.raises(SchemaBlockError):
        source_type(block)


def test_parameters_in_another_order_are_the_same_type() -> None:
    one = {"type": "bytes", "parameters": {"scale": "2", PRECISION: "10"}}
    other = {"type": "bytes", "parameters": {PRECISION: 10, "scale": 2}}

    assert source_type(one) == source_type(other)


def test_columns_keep_their_order() -> None:
    fields = [{"type": "int32", "field": name} for name in ("z", "a", "m")]

    assert [c.name for c in columns_of({"type": "struct", "fields": fields})] == ["z", "a", "m"]
