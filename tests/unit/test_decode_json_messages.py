"""The two ways to read payloads give the same, and messages are grouped by schema."""

import json
import math
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from cdc.decode.json_messages import MessageError, _read_exactly, group_by_schema, read_payloads

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

    fast = read_payloads(payloads, SCHEMA)

    wanted = [{name: row.get(name) for name in SCHEMA.names} for row in rows]
    assert fast.to_pylist() == wanted
    assert _read_exactly(payloads, SCHEMA).to_pylist() == wanted


def test_texts_for_numbers_that_json_cannot_write_become_those_numbers() -> None:
    schema = pa.schema([("single", pa.float32()), ("list", pa.list_(pa.float64()))])
    payloads = pa.array([b'{"single":"NaN","list":["Infinity","-Infinity",1.5,null]}'])

    (row,) = read_payloads(payloads, schema).to_pylist()

    assert math.isnan(row["single"])
    assert row["list"] == [math.inf, -math.inf, 1.5, None]


def test_one_special_number_leaves_the_other_rows_as_they_are() -> None:
    random_ = random.Random(7)
    rows = [random_row(random_) for _ in range(50)]
    texts = [json.dumps(row).encode() for row in rows]
    special = json.dumps({"double": "-Infinity"}).encode()

    table = read_payloads(pa.array([*texts[:25], special, *texts[25:]]), SCHEMA)

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

    with pytest.raises(MessageError) as raised:
        read_payloads(payloads, SCHEMA)

    assert raised.value.row == 2


def test_messages_are_grouped_by_schema_with_their_own_rows() -> None:
    messages = [
        b'{"schema":{"type":"int32"},"payload":1}',
        b'{"schema":{"type":"string"},"payload":"a"}',
        b'{"schema":{"type":"int32"},"payload":2}',
        b'{"payload":"b","schema":{"type":"string"}}',
    ]

    groups = list(group_by_schema(pa.array(messages, pa.binary())))

    assert [
        (group.schema, group.rows.tolist(), group.payloads.to_pylist()) for group in groups
    ] == [
        ({"type": "int32"}, [0, 2], [b"1", b"2"]),
        ({"type": "string"}, [1], [b'"a"']),
        ({"type": "string"}, [3], [b'"b"']),
    ]


def test_a_schema_with_the_same_beginning_is_another_schema() -> None:
    messages = [
        b'{"schema":{"type":"int3"},"payload":1}',
        b'{"schema":{"type":"int32"},"payload":2}',
        b'{"schema":{"type":"int3","payload":3},"payload":3}',
    ]

    groups = list(group_by_schema(pa.array(messages, pa.binary())))

    assert [group.rows.tolist() for group in groups] == [[0], [1], [2]]


def test_a_schema_in_another_script_is_cut_off_at_its_bytes() -> None:
    message = '{"schema":{"name":"zoë 🚀"},"payload":{"ü":"é"}}'.encode()

    (group,) = group_by_schema(pa.array([message, message], pa.binary()))

    assert group.payloads.to_pylist() == ['{"ü":"é"}'.encode()] * 2


def test_no_message_makes_no_group() -> None:
    assert list(group_by_schema(pa.array([], pa.binary()))) == []
