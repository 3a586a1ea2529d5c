"""The two ways to read payloads give the same, and messages are grouped by schema."""

import json
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cdc.decode.json_messages import JsonGroup, Schemaless, split_json
from cdc.decode.json_payloads import _read_exactly, read_payloads
from cdc.decode.messages import BadMessage

SCHEMA = pa.schema(
    [
        ("int", pa.int32()),
        ("long", pa.int64()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("flag", pa.bool_()),
        ("text", pa.string()),
        ("list", pa.list_(pa.int64())),
        ("texts", pa.list_(pa.string())),
        ("struct", pa.struct([("x", pa.float64()), ("y", pa.list_(pa.string()))])),
    ]
)
TEXTS = ["", "a", "héllo", "🚀", '"', "\\", "\n\t\r", "\u0000", "\u2028", "NaN", "null", "{}", "'"]


def random_text(random_: random.Random) -> str:
    return "".join(random_.choices(TEXTS, k=random_.randrange(5)))


def single_precision(random_: random.Random) -> float:
    return float(pa.scalar(random_.uniform(-1e9, 1e9), pa.float32()).as_py())


MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "int": lambda r: r.choice([0, -1, 2**31 - 1, -(2**31), r.randrange(-1000, 1000)]),
    "long": lambda r: r.choice([0, 2**63 - 1, -(2**63), r.randrange(-(2**53), 2**53)]),
    "single": single_precision,
    "double": lambda r: r.choice([0.0, -0.0, 1e308, 5e-324, 0.1, r.uniform(-1e20, 1e20)]),
    "flag": lambda r: r.random() < 0.5,
    "text": random_text,
    "list": lambda r: [r.choice([None, r.randrange(-9, 9)]) for _ in range(r.randrange(4))],
    "texts": lambda r: [r.choice([None, random_text(r)]) for _ in range(r.randrange(4))],
    "struct": lambda r: {"x": r.random(), "y": [random_text(r)] if r.random() < 0.5 else None},
}


def random_row(random_: random.Random) -> dict[str, Any]:
    row = {
        name: maker(random_) if random_.random() < 0.8 else None for name, maker in MAKERS.items()
    }
    # A field may be absent, and one that the schema does not name may be there.
    kept = {name: value for name, value in row.items() if random_.random() < 0.95}
    return kept | ({"unknown": [1, {"deep": None}]} if random_.random() < 0.1 else {})


@pytest.mark.parametrize("seed", range(5))
def test_the_slow_reader_and_the_fast_one_give_the_same_rows(seed: int) -> None:
    random_ = random.Random(seed)
    rows = [random_row(random_) for _ in range(200)]
    texts = [json.dumps(row, ensure_ascii=random_.random() < 0.5).encode() for row in rows]
    payloads = pa.array(texts, pa.binary())

    fast = read_payloads(payloads, SCHEMA).table

    wanted = [{name: row.get(name) for name in SCHEMA.names} for row in rows]
    assert fast.to_pylist() == wanted
    (places, exact), bad = _read_exactly(payloads, np.arange(len(payloads)), SCHEMA)
    assert exact.to_pylist() == wanted
    assert (places.tolist(), bad) == (list(range(len(payloads))), [])


def test_texts_for_numbers_that_json_cannot_write_become_those_numbers() -> None:
    schema = pa.schema([("single", pa.float32()), ("list", pa.list_(pa.float64()))])
    payloads = pa.array([b'{"single":"NaN","list":["Infinity","-Infinity",1.5,null]}'])

    (row,) = read_payloads(payloads, schema).table.to_pylist()

    assert math.isnan(row["single"])
    assert row["list"] == [math.inf, -math.inf, 1.5, None]


def test_one_special_number_leaves_the_other_rows_as_they_are() -> None:
    random_ = random.Random(7)
    rows = [random_row(random_) for _ in range(50)]
    texts = [json.dumps(row).encode() for row in rows]
    special = json.dumps({"double": "-Infinity"}).encode()

    table = read_payloads(pa.array([*texts[:25], special, *texts[25:]]), SCHEMA).table

    wanted = [{name: row.get(name) for name in SCHEMA.names} for row in rows]
    found = table.to_pylist()
    assert found[:25] + found[26:] == wanted
    assert found[25]["double"] == -math.inf


@pytest.mark.parametrize(
    "payload",
    [
        b'{"int":"5"}',
        b'{"int":true}',
        b'{"int":2147483648}',
        b'{"long":9223372036854775808}',
        b'{"single":"1.5"}',
        b'{"double":"infinity"}',
        b'{"double":true}',
        b'{"flag":1}',
        b'{"flag":"true"}',
        b'{"text":5}',
        b'{"text":true}',
        b'{"text":{}}',
        b'{"list":5}',
        b'{"list":{"0":1}}',
        b'{"list":["1"]}',
        b'{"struct":[1]}',
        b'{"struct":"x"}',
        b'{"text":"\\ud800"}',
        b'{"int":1',
        b"[1]",
        b"5",
        b'"text"',
        b"",
        b"{}{}",
        b"{} {",
    ],
)
def test_a_payload_that_does_not_fit_is_named_by_its_row(payload: bytes) -> None:
    payloads = pa.array([b'{"int":1}', b'{"int":2}', payload, b'{"int":4}'], pa.binary())

    read = read_payloads(payloads, SCHEMA)

    assert [bad.row for bad in read.bad_messages] == [2]
    assert read.indexes.tolist() == [0, 1, 3]
    assert read.table["int"].to_pylist() == [1, 2, 4]


def struct(*names: str) -> bytes:
    fields = [{"type": "int32", "field": name} for name in names]
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":")).encode()


def split(messages: list[bytes]) -> list[JsonGroup | Schemaless | BadMessage]:
    return list(split_json(pa.array(messages, pa.binary()), np.arange(len(messages)) + 10))


def parts(messages: list[bytes]) -> list[tuple[list[str], list[int], list[bytes]]]:
    """Name the columns, the rows and the payloads of each group."""
    return [
        (
            [field.name for field in group.type.fields],
            group.rows.tolist(),
            group.payloads.to_pylist(),
        )
        for group in split(messages)
        if isinstance(group, JsonGroup)
    ]


def test_messages_are_grouped_by_schema_with_their_own_rows() -> None:
    messages = [
        b'{"schema":' + struct("a") + b',"payload":{"a":1}}',
        b'{"schema":' + struct("b") + b',"payload":{"b":1}}',
        b'{"schema":' + struct("a") + b',"payload":{"a":2}}',
        b'{"payload":{"b":1.50}, "schema":' + struct("b") + b"}",
    ]

    assert parts(messages) == [
        (["a"], [10, 12], [b'{"a":1}', b'{"a":2}']),
        (["b"], [11], [b'{"b":1}']),
        (["b"], [13], [b'{"b":1.50}']),
    ]


def test_a_schema_with_the_same_beginning_is_another_schema() -> None:
    messages = [
        b'{"schema":' + schema + b',"payload":{}}'
        for schema in (
            b'{"type":"struct","fields":[]}',
            b'{"type":"struct","fields":[],"payload":3}',
            b'{"type":"struct","fields":[]}',
        )
    ]

    assert [rows for _, rows, _ in parts(messages)] == [[10, 12], [11]]


def test_a_schema_in_another_script_is_cut_off_at_its_bytes() -> None:
    schema = '{"type":"struct","fields":[],"name":"zoë 🚀"}'
    message = f'{{"schema":{schema},"payload":{{"ü":"é"}}}}'.encode()

    ((_, _, payloads),) = parts([message, message])

    assert payloads == ['{"ü":"é"}'.encode()] * 2


def test_no_message_makes_no_group() -> None:
    assert split([]) == []


@pytest.mark.parametrize(
    "message",
    [
        b'{"a":1}',
        b'{"schema":null,"payload":{"a":1}}',
        b'{"payload":{"a":1}}',
        b' { "schema" : null , "payload":{"a":1} } ',
    ],
)
def test_messages_without_a_schema_are_told_apart(message: bytes) -> None:
    (found,) = split([message])

    assert isinstance(found, Schemaless)
    assert (found.rows.tolist(), found.payloads.to_pylist()) == ([10], [b'{"a":1}'])


def test_a_row_with_a_column_named_payload_is_no_wrapping() -> None:
    (found,) = split([b'{"id":1,"payload":{"a":1}}'])

    assert isinstance(found, Schemaless)
    assert found.payloads.to_pylist() == [b'{"id":1,"payload":{"a":1}}']


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"5",
        b"[]",
        b"{",
        b'{"payload":1,}',
        b'{"payload":1}}',
        b'{"payload" 1}',
        b'{5:"payload"}',
        b"\xff\xfe",
        b'{"schema":{"type":"int32"},"payload":1}',
        b'{"schema":{"type":"struct"},"payload":{}}',
        b'{"payload":' + b"[" * 100_000,
    ],
    ids=lambda message: message[:30].decode(errors="replace"),
)
def test_a_message_that_belongs_to_no_group_leaves_its_neighbours_alone(message: bytes) -> None:
    good = b'{"schema":' + struct("a") + b',"payload":{"a":1}}'

    found = split([good, message, good])

    assert [item.row for item in found if isinstance(item, BadMessage)] == [11]
    assert [item.rows.tolist() for item in found if isinstance(item, JsonGroup)] == [[10, 12]]


def test_a_map_is_read_from_an_object_or_from_pairs() -> None:
    schema = pa.schema([("m", pa.map_(pa.string(), pa.int32()))])
    payloads = pa.array([b'{"m":{"a":1,"b":null}}', b'{"m":[["c",3]]}', b'{"m":null}', b'{"m":5}'])

    read = read_payloads(payloads, schema)

    assert read.table["m"].to_pylist() == [[("a", 1), ("b", None)], [("c", 3)], None]
    assert [bad.row for bad in read.bad_messages] == [3]


def test_a_single_is_rounded_once_in_both_readers() -> None:
    # Halfway between two singles but for the last digit, which a double cannot keep.
    text = b"1.00000005960464477539062500001"
    schema = pa.schema([("x", pa.float32())])

    (fast,) = read_payloads(pa.array([b'{"x":' + text + b"}"]), schema).table["x"].to_pylist()
    (_, exact), _ = _read_exactly(pa.array([b'{"x":' + text + b"}"]), np.arange(1), schema)

    assert exact["x"].to_pylist() == [fast] == [1.00000011920928955078125]
