"""Avro datums one by one: as fastavro reads them, but nothing damaged is let through."""

import io
import json
from base64 import b64decode, b64encode
from typing import Any

import fastavro
import pytest

from cdc.decode.avro_codec import DatumError, DatumReader
from cdc.decode.avro_schema import parse_schema
from tests.unit.messages import RECORDED

Block = dict[str, Any] | list[Any] | str

TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "value", "type": ["null", "int"]},
        {"name": "children", "type": {"type": "array", "items": "Tree"}},
    ],
}
PAIRS = {
    "type": "array",
    "items": {
        "type": "record",
        "name": "MapEntry",
        "namespace": "io.confluent.connect.avro",
        "fields": [{"name": "key", "type": ["null", "int"]}, {"name": "value", "type": "string"}],
    },
}


def row_of(block: Block) -> dict[str, Any]:
    return {"type": "record", "name": "Row", "fields": [{"name": "it", "type": block}]}


def written(block: Block, value: Any) -> bytes:
    """Write a value as the only column of a row, with another's library."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(row_of(block)), {"it": value})
    return out.getvalue()


def read(block: Block, datum: bytes) -> Any:
    return DatumReader(parse_schema(json.dumps(row_of(block)))).read(datum)["it"]


@pytest.mark.parametrize(
    ("block", "value"),
    [
        ("boolean", True),
        ("int", 0),
        ("int", 2**31 - 1),
        ("int", -(2**31)),
        ("long", 2**63 - 1),
        ("long", -(2**63)),
        ("float", 1.5),
        ("float", float("-inf")),
        ("double", 0.1),
        ("double", float("inf")),
        ("string", ""),
        ("string", "Zoë 𝄞"),
        ("bytes", b"\x00\xff"),
        ({"type": "fixed", "name": "F", "size": 3}, b"abc"),
        ({"type": "fixed", "name": "F", "size": 0}, b""),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
        ({"type": "array", "items": "int"}, []),
        ({"type": "array", "items": ["null", "int"]}, [1, None, -3]),
        (["null", "string"], None),
        (["null", "string"], "x"),
        (["string", "null"], "x"),
        (["string"], "x"),
        ("null", None),
        (row_of({"type": "array", "items": "string"}) | {"name": "Inner"}, {"it": ["a"]}),
    ],
)
def test_a_value_is_read_as_it_was_written(block: Block, value: Any) -> None:
    assert read(block, written(block, value)) == value


def test_a_number_that_is_none_stays_none() -> None:
    value = read("double", written("double", float("nan")))

    assert value != value


def test_a_map_is_read_as_pairs_in_their_order() -> None:
    block = {"type": "map", "values": "long"}

    assert read(block, written(block, {"b": 1, "a": 2})) == [("b", 1), ("a", 2)]
    assert read(block, b"\x04\x02a\x02\x02a\x04\x00") == [("a", 1), ("a", 2)]


def test_a_map_with_keys_that_are_no_texts_is_read_as_pairs() -> None:
    entries = [{"key": 7, "value": "x"}, {"key": -1, "value": ""}]

    assert read(PAIRS, written(PAIRS, entries)) == [(7, "x"), (-1, "")]


def test_a_map_entry_without_a_key_is_refused() -> None:
    with pytest.raises(DatumError):
        read(PAIRS, written(PAIRS, [{"key": None, "value": "x"}]))


def test_items_may_come_in_blocks_with_and_without_a_size() -> None:
    block = {"type": "array", "items": "int"}
    plain = b"\x04\x02\x04"  # two items: 1, 2
    sized = b"\x03\x04\x06\x08"  # two items in four halves of bytes: 3, 4

    assert read(block, plain + sized + b"\x00") == [1, 2, 3, 4]
    with pytest.raises(DatumError):
        read(block, plain + b"\x03\x06\x06\x08" + b"\x00")


@pytest.mark.parametrize(
    ("block", "value", "text"),
    [
        (["int", "string"], 5, "5"),
        (["int", "string"], "a ü", '"a ü"'),
        (["null", "int", "string"], None, None),
        (["double", "bytes"], float("nan"), '"NaN"'),
        (["double", "bytes"], float("-inf"), '"-Infinity"'),
        (["double", "bytes"], b"\xff\x00", json.dumps(b64encode(b"\xff\x00").decode())),
        (["int", {"type": "map", "values": "int"}], {}, "{}"),
        (["int", {"type": "map", "values": "int"}], {"a": 1}, '{"a":1}'),
        (["int", {"type": "array", "items": "int"}], [1, 2], "[1,2]"),
        (["int", {"type": "enum", "name": "E", "symbols": ["A"]}], "A", '"A"'),
        (["int", {"type": "fixed", "name": "F", "size": 2}], b"ab", '"YWI="'),
        (["int", PAIRS], [{"key": 1, "value": "x"}], '[{"key":1,"value":"x"}]'),
        (
            TREE,
            {"value": 1, "children": [{"value": None, "children": []}]},
            '{"value":1,"children":[{"value":null,"children":[]}]}',
        ),
    ],
)
def test_a_value_without_a_fixed_form_is_read_as_json(block: Block, value: Any, text: str) -> None:
    assert read(block, written(block, value)) == text


@pytest.mark.parametrize(
    ("block", "datum"),
    [
        ("boolean", b"\x02"),
        ("boolean", b""),
        ("int", b"\x80\x80\x80\x80\x10"),  # 2^31
        ("int", b"\x80"),
        ("long", b"\xff" * 9 + b"\x02"),
        ("long", b"\x80" * 10 + b"\x00"),
        ("float", b"\x00\x00\x00"),
        ("double", b"\x00\x00\x00"),
        ("string", b"\x01"),  # -1 bytes
        ("string", b"\x04a"),
        ("string", b"\x02\xff"),
        ("string", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        ("bytes", b"\x03ab"),
        ({"type": "fixed", "name": "F", "size": 3}, b"ab"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, b"\x01"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, b"\x04"),
        (["null", "string"], b"\x01"),
        (["null", "string"], b"\x04"),
        ({"type": "array", "items": "int"}, b"\x02"),
        ({"type": "array", "items": "int"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
        ({"type": "array", "items": "null"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
        ({"type": "array", "items": "int"}, b"\x01\x01\x02\x00"),
        ({"type": "map", "values": "int"}, b"\x02\x02\xff\x02\x00"),
        (TREE, b"\x00\x02" * 50_000 + b"\x00" * 50_001),
        ("int", b"\x02\x00"),
        ("null", b"\x00"),
    ],
)
def test_what_the_schema_does_not_allow_is_refused(block: Block, datum: bytes) -> None:
    with pytest.raises(DatumError):
        read(block, datum)


def test_every_recorded_message_is_read_as_fastavro_reads_it() -> None:
    ids = json.loads((RECORDED / "pg_avro.schemas.json").read_text())["ids"]
    compared = 0
    for name in ("pg_avro.jsonl", "orders_pg_avro.jsonl"):
        for line in (RECORDED / name).read_text().splitlines():
            message = json.loads(line)
            for part in ("key", "value"):
                if message[part] is None:
                    continue
                content = b64decode(message[part])
                text = ids[str(int.from_bytes(content[1:5], "big"))]["schema"]
                plain = json.loads(text.replace('"logicalType"', '"ignored"'))
                expected = fastavro.schemaless_reader(
                    io.BytesIO(content[5:]), fastavro.parse_schema(plain)
                )

                found = DatumReader(parse_schema(text)).read(content, 5)

                assert _maps_as_pairs(found) == _maps_as_pairs(expected)
                compared += 1
    assert compared > 400


def _maps_as_pairs(value: Any) -> Any:
    """Make what both give comparable: a map is a dict with fastavro, as every record is."""
    if isinstance(value, dict):
        return [(name, _maps_as_pairs(part)) for name, part in value.items()]
    if isinstance(value, list):
        return [_maps_as_pairs(part) for part in value]
    return "NaN" if value != value else value
