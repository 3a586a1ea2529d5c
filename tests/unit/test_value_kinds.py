"""Plain numbers, texts, bytes, bits and nested values, held to plain Python."""

import json
import random
from base64 import b64encode
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cdc.decode.values import convert
from cdc.model import SourceType, logical
from connectors import DIALECTS
from tests.unit.raw_columns import (
    array_of,
    converted,
    every_wire,
    map_of,
    raw_column,
    refusal,
    struct_of,
    table_type,
    typed,
)

INT, LONG = SourceType("int32"), SourceType("int64")
FLOAT, DOUBLE = SourceType("float"), SourceType("double")
TEXT, BYTES, FLAG = SourceType("string"), SourceType("bytes"), SourceType("boolean")
DATE = SourceType("int32", logical.DATE)
UNSIGNED = typed("int64", **{logical.SOURCE_TYPE: "BIGINT UNSIGNED"})


def bits(length: int) -> SourceType:
    return typed("bytes", logical.BITS, length=length)


@every_wire
@pytest.mark.parametrize("length", [2, 7, 8, 9, 12, 16, 20, 33, 63, 64, 65, 100, 128])
def test_bits_become_bytes_texts_and_numbers(wire: str, length: int) -> None:
    random_ = random.Random(length)
    numbers = [0, 1, 2**length - 1, None] + [random_.randrange(2**length) for _ in range(60)]
    width = -(-length // 8)
    values: list[bytes | None] = []
    for number in numbers:
        if number is None:
            values.append(None)
            continue
        # As short as Debezium sends it for PostgreSQL, or padded as for MySQL.
        size = random_.choice([-(-number.bit_length() // 8), width])
        values.append(number.to_bytes(size, "little"))

    source = bits(length)

    assert converted(values, source, wire).to_pylist() == [
        None if n is None else n.to_bytes(width, "big") for n in numbers
    ]
    assert converted(values, source, wire, "string").to_pylist() == [
        None if n is None else f"{n:0{length}b}" for n in numbers
    ]
    if length <= 64:
        wanted = [None if n is None else Decimal(n) for n in numbers]
        assert converted(values, source, wire, "decimal(20,0)").to_pylist() == wanted
    if length <= 63:
        assert converted(values, source, wire, "long").to_pylist() == numbers


@every_wire
def test_bits_that_do_not_fit_are_refused(wire: str) -> None:
    assert refusal(b"\x00\x10", bits(12), wire)
    assert refusal(b"\x00\x00\x01", bits(12), wire)
    assert refusal(b"\xff" * 8, bits(64), wire, "long")
    assert refusal(b"\x00" * 8 + b"\x01", bits(65), wire, "long")
    assert converted([b"\x00\x0f\x00"], bits(12), wire).to_pylist() == [b"\x0f\x00"]


@every_wire
@pytest.mark.parametrize("length", [2**31 - 1, 83_886_081, 0])
def test_bits_without_a_length_are_the_same_beside_longer_ones(wire: str, length: int) -> None:
    source = bits(length)
    values = [b"\x01\x02", b"\x03", None, b""]

    assert converted(values, source, wire).to_pylist() == [b"\x02\x01", b"\x03", None, b""]
    assert converted(values, source, wire, "long").to_pylist() == [0x201, 3, None, 0]
    assert converted(values, source, wire, "string").to_pylist() == [
        "1000000001",
        "11",
        None,
        "0",
    ]


@pytest.mark.parametrize(
    ("source", "choice", "values", "wanted"),
    [
        (INT, "long", [1, -(2**31), None], [1, -(2**31), None]),
        (INT, "decimal(5,2)", [1, -999, None], [Decimal(1), Decimal(-999), None]),
        (INT, "double", [2**31 - 1, None], [2147483647.0, None]),
        (INT, "boolean", [0, 1, None], [False, True, None]),
        (INT, "string", [-5, None], ["-5", None]),
        (LONG, "int", [2**31 - 1, None], [2**31 - 1, None]),
        (LONG, "decimal(38,10)", [2**63 - 1], [Decimal(2**63 - 1)]),
        (LONG, "double", [2**53, None], [2.0**53, None]),
        (LONG, "string", [-(2**63)], [str(-(2**63))]),
        (FLOAT, "double", [float(np.float32(0.1))], [float(np.float32(0.1))]),
        (FLOAT, "string", [float(np.float32(0.1)), float("inf")], ["0.1", "inf"]),
        (DOUBLE, "string", [0.1, 1e300, float("nan")], ["0.1", "1e+300", "nan"]),
        (FLAG, "string", [True, False, None], ["true", "false", None]),
        (FLAG, "int", [True, False, None], [1, 0, None]),
    ],
    ids=str,
)
def test_a_plain_value_becomes_what_is_chosen(
    source: SourceType, choice: str, values: list[Any], wanted: list[Any]
) -> None:
    assert converted(values, source, "json", choice).to_pylist() == wanted


@pytest.mark.parametrize(
    ("source", "choice", "value"),
    [
        (INT, "boolean", 2),
        (INT, "boolean", -1),
        (INT, "decimal(5,2)", 1000),
        (LONG, "int", 2**31),
        (LONG, "double", 2**53 + 1),
        (LONG, "decimal(18,0)", 10**18),
        (BYTES, "string", b"\xff"),
    ],
    ids=str,
)
def test_a_plain_value_that_does_not_fit_the_choice_is_refused(
    source: SourceType, choice: str, value: Any
) -> None:
    assert refusal(value, source, choice=choice)


@every_wire
def test_bytes_may_become_the_text_that_they_are(wire: str) -> None:
    assert converted(["zoë".encode(), b"", None], BYTES, wire, "string").to_pylist() == [
        "zoë",
        "",
        None,
    ]


@pytest.mark.parametrize(
    "name", ["BIGINT UNSIGNED", "bigint unsigned zerofill", "INT8 UNSIGNED", "BIGINT UNSIGNED(20)"]
)
@pytest.mark.parametrize("dialect", ["mysql", "mariadb"])
def test_an_unsigned_number_that_came_negative_is_itself_again(dialect: str, name: str) -> None:
    source = typed("int64", **{logical.SOURCE_TYPE: name})
    numbers = [0, 1, 2**63 - 1, 2**63, 2**64 - 1, None]
    sent = [n if n is None or n < 2**63 else n - 2**64 for n in numbers]
    target = table_type(source, dialect=DIALECTS[dialect])

    column = convert(raw_column(sent, source, "json"), source, target)

    assert target == pa.decimal128(20, 0)
    assert column.to_pylist() == [None if n is None else Decimal(n) for n in numbers]


def test_an_unsigned_number_may_become_text_but_a_long_only_if_it_is_one() -> None:
    assert converted([-1, 5], UNSIGNED, "json", "string").to_pylist() == [str(2**64 - 1), "5"]
    assert converted([5, None], UNSIGNED, "json", "long").to_pylist() == [5, None]
    assert refusal(-1, UNSIGNED, choice="long")


@pytest.mark.parametrize("name", ["BIGINT", "INT UNSIGNED", "VARCHAR", ""])
def test_another_number_stays_signed(name: str) -> None:
    source = typed("int64", **{logical.SOURCE_TYPE: name})

    assert table_type(source, dialect=DIALECTS["mysql"]) == pa.int64()
    assert converted([-1], source, "json").to_pylist() == [-1]


ESCAPED = typed("string", logical.ESCAPED_ENUM, allowed="a,b,c\\,d,e\\,\\,f,g\\")


def test_an_enums_comma_is_read_as_one_in_changes_and_snapshots() -> None:
    values = ["a", "c\\,d", "c,d", "e\\,\\,f", "g\\", "", None, "not\\,allowed"]

    column = converted(values, ESCAPED, "json")

    assert column.to_pylist() == ["a", "c,d", "c,d", "e,,f", "g\\", "", None, "not\\,allowed"]


def test_an_enum_with_both_spellings_is_left_as_it_came() -> None:
    source = typed("string", logical.ESCAPED_ENUM, allowed="c\\,d,c\\\\,d")

    assert converted(["c\\,d"], source, "json").to_pylist() == ["c\\,d"]


@pytest.mark.parametrize("dialect", ["mysql", "mariadb"])
def test_only_mysql_and_mariadb_escape_commas(dialect: str) -> None:
    enum = typed("string", logical.ENUM, allowed="a,c\\,d")
    plain = typed("string", logical.ENUM, allowed="a,b")

    assert DIALECTS[dialect].understood(enum).logical == logical.ESCAPED_ENUM
    assert DIALECTS[dialect].understood(plain) == plain
    assert DIALECTS["postgres"].understood(enum) == enum


POINT = struct_of(logical.POINT, x=DOUBLE, y=DOUBLE, wkb=BYTES, srid=INT)
PLACES = [{"x": 1.5, "y": -2.0, "wkb": b"\x01\x02", "srid": 4326}, None, {"wkb": b""}]


@every_wire
def test_a_geometry_may_be_its_wkb_alone(wire: str) -> None:
    assert converted(PLACES, POINT, wire, "binary").to_pylist() == [b"\x01\x02", None, b""]


@every_wire
def test_a_nested_value_may_be_json(wire: str) -> None:
    source = struct_of(
        None,
        days=array_of(DATE),
        price=typed("bytes", logical.DECIMAL, precision=10, scale=2),
        octets=BYTES,
        ratio=DOUBLE,
        counts=map_of(INT, UNSIGNED),
        names=map_of(TEXT, FLAG),
    )
    value = {
        "days": [0, None],
        "price": b"\x01\x00",
        "octets": b"\xff",
        "ratio": float("-inf"),
        "counts": [(1, -1)],
        "names": [("ö", True)],
    }

    texts = converted([value, None, {}], source, wire, "string").to_pylist()

    assert [None if text is None else json.loads(text) for text in texts] == [
        {
            "days": ["1970-01-01", None],
            "price": "2.56",
            "octets": b64encode(b"\xff").decode(),
            "ratio": "-Infinity",
            "counts": [[1, str(2**64 - 1)]],
            "names": {"ö": True},
        },
        None,
        dict.fromkeys(value),
    ]
    assert "ö" in texts[0]


@every_wire
def test_maps_of_any_key_convert_their_parts(wire: str) -> None:
    source = map_of(INT, BYTES)
    values = [[(1, b"a"), (2, None)], None, [], [(3, b"c")]]

    column = converted(values, source, wire)

    assert pa.types.is_map(column.type)
    assert column.to_pylist() == values


@every_wire
def test_a_map_of_texts_keeps_its_null_values(wire: str) -> None:
    values = [[("k", "v"), ("n", None)], None, []]

    assert converted(values, map_of(TEXT, TEXT), wire).to_pylist() == values


def test_a_map_may_come_as_a_list_of_pairs() -> None:
    source = map_of(LONG, DATE)
    pair = pa.struct([("key", pa.int64()), ("value", pa.int32())])
    raw = pa.array([[{"key": 7, "value": 0}], None, []], pa.list_(pair)).slice(0, 3)

    column = convert(raw, source, table_type(source))

    [[(key, day)], missing, empty] = column.to_pylist()
    assert (key, str(day), missing, empty) == (7, "1970-01-01", None, [])


def test_a_map_with_a_key_that_is_null_is_refused() -> None:
    source = map_of(TEXT, INT)
    pair = pa.struct([("key", pa.string()), ("value", pa.int32())])
    raw = pa.array([[{"key": None, "value": 0}]], pa.list_(pair))

    with pytest.raises(pa.ArrowInvalid):
        convert(raw, source, table_type(source))


@every_wire
def test_vectors_keep_their_numbers(wire: str) -> None:
    floats = SourceType("array", logical.FLOAT_VECTOR, element=FLOAT)
    sparse = struct_of(logical.SPARSE_VECTOR, dimensions=INT, vector=map_of(INT, DOUBLE))

    assert converted([[1.5, -0.25], [], None], floats, wire).to_pylist() == [[1.5, -0.25], [], None]
    assert converted([{"dimensions": 9, "vector": [(3, 0.5)]}], sparse, wire).to_pylist() == [
        {"dimensions": 9, "vector": [(3, 0.5)]}
    ]


@every_wire
def test_the_elements_of_an_array_may_have_a_chosen_type(wire: str) -> None:
    zoned = array_of(SourceType("string", logical.ZONED_TIMESTAMP))

    column = converted([["infinity", None], None, []], zoned, wire, "list<string>")

    assert column.type.value_type == pa.string()
    assert column.to_pylist() == [["infinity", None], None, []]


@every_wire
@pytest.mark.parametrize("seed", range(4))
def test_nested_values_of_any_shape_come_back(wire: str, seed: int) -> None:
    random_ = random.Random(seed)
    source = array_of(struct_of(None, a=array_of(BYTES), m=map_of(TEXT, array_of(INT)), b=TEXT))

    def some(make: Any, most: int = 4) -> Any:
        count = random_.randrange(most)
        return None if random_.random() < 0.2 else [make() for _ in range(count)]

    def element() -> Any:
        if random_.random() < 0.2:
            return None
        return {
            "a": some(lambda: random_.randbytes(random_.randrange(5))),
            "m": some(lambda: (str(random_.random()), some(lambda: random_.randrange(9)))),
            "b": random_.choice([None, "", "x"]),
        }

    values = [some(element) for _ in range(50)]

    assert converted(values, source, wire).to_pylist() == values
