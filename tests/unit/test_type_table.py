"""Every type and every choice of the table has its exact conversion; all else is refused before."""

from typing import Any

import pyarrow as pa
import pytest

from cdc.config import ResolvedRule
from cdc.config.type_choices import PRIMITIVES
from cdc.decode.values import convert
from cdc.errors import UnmappableTypeError, UnmirrorableColumnError
from cdc.model import SourceColumn, SourceSchema, SourceType, logical
from cdc.schema import mirror_columns
from cdc.schema.type_table import ANY_DECIMAL, ROWS
from connectors import DIALECTS
from tests.unit.raw_columns import (
    WIRES,
    array_of,
    converted,
    map_of,
    raw_column,
    struct_of,
    table_type,
    typed,
)

INT, DOUBLE = SourceType("int32"), SourceType("double")
TEXT, BYTES = SourceType("string"), SourceType("bytes")
GEOMETRY = {"wkb": BYTES, "srid": INT}
# A type of each row, and values that fit every choice.
SAMPLES: dict[str, tuple[SourceType, list[Any]]] = {
    **{kind: (SourceType(kind), [0, 1]) for kind in ("int8", "int16", "int32", "int64")},
    "float": (SourceType("float"), [0.5, -1.0]),
    "double": (DOUBLE, [0.5, -1.0]),
    "boolean": (SourceType("boolean"), [True, False]),
    "string": (TEXT, ["12", "-3"]),
    "bytes": (BYTES, [b"ab", b""]),
    "array": (array_of(INT), [[1, None], []]),
    "struct": (struct_of(None, x=INT, y=BYTES), [{"x": 1, "y": b"a"}, {"x": None, "y": None}]),
    "map": (map_of(TEXT, INT), [[("k", 1), ("n", None)], []]),
    logical.DECIMAL: (typed("bytes", logical.DECIMAL, precision=9, scale=2), [b"\x64", b"\x00"]),
    logical.VARIABLE_SCALE_DECIMAL: (
        struct_of(logical.VARIABLE_SCALE_DECIMAL, scale=INT, value=BYTES),
        [{"scale": 0, "value": b"\x05"}, {"scale": 2, "value": b"\x64"}],
    ),
    **{
        name: (SourceType("int32", name), [0, 19_000])
        for name in (logical.DATE, logical.CONNECT_DATE)
    },
    logical.ISO_DATE: (SourceType("string", logical.ISO_DATE), ["2024-02-29Z", "0001-01-01Z"]),
    **{
        name: (SourceType("int64", name), [0, 1_700_000_000_000])
        for name in (logical.TIMESTAMP, logical.CONNECT_TIMESTAMP)
    },
    logical.MICRO_TIMESTAMP: (SourceType("int64", logical.MICRO_TIMESTAMP), [1, -1]),
    logical.NANO_TIMESTAMP: (SourceType("int64", logical.NANO_TIMESTAMP), [1_000, -1_000]),
    **{
        name: (SourceType("string", name), ["2024-02-29T12:34:56.789012Z", "0001-01-01T00:00:00Z"])
        for name in (logical.ISO_TIMESTAMP, logical.ZONED_TIMESTAMP)
    },
    **{
        name: (SourceType("int32", name), [0, 86_399_999])
        for name in (logical.TIME, logical.CONNECT_TIME)
    },
    logical.MICRO_TIME: (SourceType("int64", logical.MICRO_TIME), [0, 86_399_999_999]),
    logical.NANO_TIME: (SourceType("int64", logical.NANO_TIME), [0, 86_399_999_999_000]),
    logical.ISO_TIME: (SourceType("string", logical.ISO_TIME), ["12:34:56.5Z", "00:00:00Z"]),
    logical.ZONED_TIME: (SourceType("string", logical.ZONED_TIME), ["12:34:56+02:00", "00:00:00Z"]),
    **{
        name: (SourceType("int64", name), [-5, 5])
        for name in (logical.MICRO_DURATION, logical.NANO_DURATION)
    },
    logical.INTERVAL: (
        SourceType("string", logical.INTERVAL),
        ["P1D", "P1Y2M3DT4H5M6S"],
    ),
    logical.YEAR: (SourceType("int32", logical.YEAR), [1901, 2155]),
    logical.BITS: (typed("bytes", logical.BITS, length=12), [b"\x15", b"\x00\x08"]),
    **{
        name: (SourceType("string", name), ["a", ""])
        for name in (
            *(logical.JSON, logical.XML, logical.UUID, logical.LTREE, logical.TSVECTOR),
            *(logical.ENUM, logical.ENUM_SET, logical.ESCAPED_ENUM),
        )
    },
    logical.POINT: (
        struct_of(logical.POINT, x=DOUBLE, y=DOUBLE, **GEOMETRY),
        [{"x": 0.0, "y": 1.0, "wkb": b"\x01", "srid": None}, {"x": 2.0, "y": 3.0, "wkb": b""}],
    ),
    **{
        name: (struct_of(name, **GEOMETRY), [{"wkb": b"\x01", "srid": 4326}, {"wkb": b""}])
        for name in (logical.GEOMETRY, logical.GEOGRAPHY)
    },
    logical.DOUBLE_VECTOR: (
        SourceType("array", logical.DOUBLE_VECTOR, element=DOUBLE),
        [[0.5, 1.5], []],
    ),
    logical.FLOAT_VECTOR: (
        SourceType("array", logical.FLOAT_VECTOR, element=SourceType("float")),
        [[0.5, 1.5], []],
    ),
    logical.SPARSE_VECTOR: (
        struct_of(logical.SPARSE_VECTOR, dimensions=INT, vector=map_of(INT, DOUBLE)),
        [{"dimensions": 5, "vector": [(1, 0.5)]}, {"dimensions": 0, "vector": []}],
    ),
}
ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(38,0)": pa.decimal128(38, 0),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "list<int>": pa.list_(pa.int32()),
}
CHOICES = [
    (name, "decimal(9,3)" if choice == ANY_DECIMAL else choice)
    for name, row in ROWS.items()
    for choice in row.choices
]
NOT_CHOICES = [
    (name, choice)
    for name, row in ROWS.items()
    for choice in (*PRIMITIVES, "decimal(38,0)", "list<int>")
    if choice not in (*row.choices, row.iceberg)
    and not (choice.startswith("decimal") and (ANY_DECIMAL in row.choices))
    and not (choice == "list<int>" and name in ("array",))
]


def test_every_logical_type_has_a_row_and_a_sample() -> None:
    assert logical.KINDS.keys() <= ROWS.keys()
    assert SAMPLES.keys() == ROWS.keys()
    assert all(logical.meaning(source) in (None, name) for name, (source, _) in SAMPLES.items())


@pytest.mark.parametrize("name", ROWS)
def test_every_type_converts_to_its_own_in_both_wire_formats(name: str) -> None:
    source, values = SAMPLES[name]

    json, avro = (converted([*values, None], source, wire) for wire in WIRES)

    assert json.equals(avro)
    assert json.null_count == 1


@pytest.mark.parametrize(("name", "choice"), CHOICES)
def test_every_choice_converts_in_both_wire_formats(name: str, choice: str) -> None:
    source, values = SAMPLES[name]

    json, avro = (converted([*values, None], source, wire, choice) for wire in WIRES)

    assert json.equals(avro)
    assert json.null_count == 1


@pytest.mark.parametrize("name", ROWS)
def test_a_column_without_rows_converts_too(name: str) -> None:
    source, _ = SAMPLES[name]
    for choice in (None, *(c for n, c in CHOICES if n == name)):
        target = table_type(source, choice)
        for wire in WIRES:
            assert convert(raw_column([], source, wire), source, target).type == target
            nothing = convert(raw_column([None, None], source, wire), source, target)
            assert nothing.null_count == 2


@pytest.mark.parametrize(("name", "choice"), NOT_CHOICES)
def test_any_other_choice_is_refused_with_those_there_are(name: str, choice: str) -> None:
    source, _ = SAMPLES[name]

    with pytest.raises(UnmappableTypeError) as raised:
        table_type(source, choice)

    assert set(ROWS[name].choices) <= set(raised.value.choices)
    assert (raised.value.table, raised.value.column) == ("t", "v")
    assert all(named in str(raised.value) for named in raised.value.choices)


@pytest.mark.parametrize(("name", "choice"), NOT_CHOICES)
def test_a_pair_that_is_no_choice_gives_no_column_of_another_type(name: str, choice: str) -> None:
    """The mapping lets none through; a foreign hand that changed the table might."""
    source, values = SAMPLES[name]
    target = ARROW[choice]

    for wire in WIRES:
        try:
            column = convert(raw_column(values, source, wire), source, target)
        except pa.ArrowInvalid:
            continue
        assert column.type == target


def test_the_elements_of_an_array_are_chosen_as_a_column_is() -> None:
    dates = array_of(SourceType("int32", logical.DATE))

    assert table_type(dates, "list<string>").value_type == pa.string()
    assert table_type(array_of(dates), "list<list<int>>").value_type.value_type == pa.int32()
    with pytest.raises(UnmappableTypeError) as raised:
        table_type(dates, "list<boolean>")
    assert "string" in raised.value.choices


def chosen(choice: str, key: tuple[str, ...] = ("k",), source: SourceType = INT) -> Any:
    schema = SourceSchema((SourceColumn("k", INT), SourceColumn("v", source)), key)
    return mirror_columns(
        schema, "t", DIALECTS["postgres"], ResolvedRule(types={"v": choice, "gone": "int"})
    )


def test_a_choice_for_a_column_that_the_table_has_not_is_left_alone() -> None:
    assert [str(column.type) for column in chosen("long")] == ["int", "long"]


def test_a_choice_says_what_stands_for_what_does_not_fit() -> None:
    dates = SourceType("int32", logical.DATE)

    assert [column.otherwise for column in chosen("string or null")] == ["reject", "null"]
    assert chosen("date or nearest", source=dates)[1].otherwise == "nearest"


@pytest.mark.parametrize("choice", ["string or null", "int or null"])
def test_a_key_is_never_replaced(choice: str) -> None:
    with pytest.raises(UnmirrorableColumnError):
        chosen(choice, key=("v",))


def test_a_key_may_be_nested_at_the_source_if_it_is_text_in_the_table() -> None:
    point, _ = SAMPLES[logical.POINT]

    assert str(chosen("string", key=("v",), source=point)[0].type) == "string"
    with pytest.raises(UnmirrorableColumnError):
        chosen("list<string>", key=("v",), source=array_of(TEXT))


def test_what_messages_say_of_a_column_is_not_contradicted() -> None:
    micros = SourceType("int64", logical.MICRO_TIMESTAMP)

    assert str(chosen(f"{logical.MICRO_TIMESTAMP} as string", source=micros)[1].type) == "string"
    assert str(chosen(logical.MICRO_TIMESTAMP, source=micros)[1].type) == "timestamp"
    with pytest.raises(UnmappableTypeError):
        chosen(logical.MICRO_TIMESTAMP, source=SourceType("int64"))
    with pytest.raises(UnmappableTypeError):
        chosen(f"{logical.MICRO_TIME} or nearest", source=SourceType("int64", logical.MICRO_TIME))
