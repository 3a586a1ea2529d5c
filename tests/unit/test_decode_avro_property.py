"""Random schemas and values: the fast reader, the strict one and the writer agree."""

import itertools
import json
import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdc.decode import avro_messages
from cdc.decode.avro_columns import raw_schema
from cdc.decode.avro_container import is_plain
from cdc.decode.avro_schema import parse_schema
from cdc.decode.messages import RawColumns
from cdc.model import SourceColumn, SourceType
from tests.unit.avro_datums import comparable, datums, group_of

Block = Any
ROWS = avro_messages.FEW + 8

LOGICAL = [
    {"type": "int", "logicalType": "date"},
    {"type": "int", "connect.type": "int16"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2046},
    {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
]
PLAIN = ["boolean", "int", "long", "float", "double", "string", "bytes"]
LEAVES = st.one_of(
    st.sampled_from([*PLAIN, *LOGICAL]),
    st.integers(1, 20).map(lambda size: {"type": "fixed", "size": size}),
    st.integers(1, 5).map(lambda n: {"type": "enum", "symbols": [f"S{i}" for i in range(n)]}),
)


def _records(types: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    names = ["a", "A", "select", "c0", "check", "header", "f0", "_x", "key", "value"]
    fields = st.dictionaries(st.sampled_from(names), types, min_size=1, max_size=5)
    return fields.map(
        lambda parts: {
            "type": "record",
            "fields": [{"name": name, "type": type_} for name, type_ in parts.items()],
        }
    )


def _pairs(types: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    """Make maps whose keys are no texts, as converters write them."""
    return types.map(
        lambda value: {
            "type": "array",
            "items": {
                "type": "record",
                "connect.internal.type": "MapEntry",
                "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": value}],
            },
        }
    )


def _nullable(type_: Block) -> st.SearchStrategy[Block]:
    if isinstance(type_, list) or type_ == "null":
        return st.just(type_)
    return st.sampled_from([["null", type_], [type_, "null"], type_])


# What has no fixed form, or none that the fast reader has.
ODD = st.sampled_from(
    [
        ["null", "int", "string"],
        ["string", "double", {"type": "array", "items": "bytes"}],
        "null",
        ["bytes"],
        ["null"],
        {"type": "fixed", "size": 0},
        {"type": "array", "items": "null"},
        {"type": "map", "values": [{"type": "enum", "symbols": ["A"]}, "long"]},
        {"type": "record", "fields": []},
    ]
)


def _types(leaves: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    def larger(types: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
        nullable = types.flatmap(_nullable)
        return st.one_of(
            nullable.map(lambda item: {"type": "array", "items": item}),
            nullable.map(lambda item: {"type": "map", "values": item}),
            _records(nullable),
            _pairs(nullable),
        )

    return st.recursive(leaves, larger, max_leaves=8).flatmap(_nullable)


def _named(block: Block, numbers: "itertools.count[int]") -> Block:
    """Give every type that needs a name one of its own."""
    if isinstance(block, list):
        return [_named(branch, numbers) for branch in block]
    if not isinstance(block, dict):
        return block
    named = {name: _named(part, numbers) for name, part in block.items() if name != "symbols"}
    if "symbols" in block:
        named["symbols"] = block["symbols"]
    if block.get("type") in ("record", "enum", "fixed"):
        named["name"] = f"N{next(numbers)}"
    return named


def _rows(leaves: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    return _records(_types(leaves)).map(lambda block: _named(block, itertools.count()))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def _values(block: Block) -> st.SearchStrategy[Any]:
    """Draw what the writer may be given for a type."""
    if isinstance(block, list):
        return st.one_of([_values(branch) for branch in block])
    kind = block if isinstance(block, str) else block["type"]
    if kind == "record":
        return st.fixed_dictionaries(
            {field["name"]: _values(field["type"]) for field in block["fields"]}
        )
    if kind == "array":
        return st.lists(_values(block["items"]), max_size=3)
    if kind == "map":
        return st.dictionaries(TEXTS, _values(block["values"]), max_size=3)
    if kind == "enum":
        return st.sampled_from(block["symbols"])
    if kind == "fixed":
        return st.binary(min_size=block["size"], max_size=block["size"])
    return {
        "null": st.none(),
        "boolean": st.booleans(),
        "int": st.integers(-(2**31), 2**31 - 1),
        "long": st.integers(-(2**63), 2**63 - 1),
        "float": st.floats(width=32),
        "double": st.floats(),
        "string": TEXTS,
        "bytes": st.binary(max_size=8),
    }[kind]


def _raw(block: Block, value: Any) -> Any:
    """Give what a written value must be read as, if its type has a fixed form."""
    if isinstance(block, list):
        if value is None:
            return None
        (present,) = [branch for branch in block if branch != "null"]
        return _raw(present, value)
    kind = block if isinstance(block, str) else block["type"]
    if kind == "record":
        fields = {field["name"]: field["type"] for field in block["fields"]}
        return {name: _raw(type_, value[name]) for name, type_ in fields.items()}
    if kind == "array":
        items = [_raw(block["items"], item) for item in value]
        pairs = isinstance(block["items"], dict) and "connect.internal.type" in block["items"]
        return [(item["key"], item["value"]) for item in items] if pairs else items
    if kind == "map":
        return [(key, _raw(block["values"], item)) for key, item in value.items()]
    return value


def _pruned(fields: tuple[SourceColumn, ...], keep: st.DataObject) -> list[SourceColumn]:
    """Leave some fields out, also within structs."""
    kept = []
    for field in fields:
        if keep.draw(st.booleans()):
            type_ = field.type
            if type_.kind == "struct":
                type_ = SourceType("struct", fields=tuple(_pruned(type_.fields, keep)))
            kept.append(SourceColumn(field.name, type_))
    return kept


def _only_asked(value: Any, type_: SourceType) -> Any:
    if type_.kind != "struct" or value is None:
        return value
    return {field.name: _only_asked(value[field.name], field.type) for field in type_.fields}


def read_fast(block: Block, written: list[bytes], fields: list[SourceColumn]) -> RawColumns:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(avro_messages._Reading, "_read_singly", _refuse)
        return group_of(block, written).read(fields)


def read_strictly(block: Block, written: list[bytes], fields: list[SourceColumn]) -> RawColumns:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(avro_messages, "_container", lambda _: None)
        return group_of(block, written).read(fields)


def _refuse(*_: object) -> None:
    raise AssertionError("the fast reader gave up")


OPTIONS = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@OPTIONS
@given(st.data())
def test_both_readers_give_what_was_written(data: st.DataObject) -> None:
    block = data.draw(_rows(LEAVES))
    values = data.draw(st.lists(_values(block), min_size=1, max_size=6))
    values = [values[place % len(values)] for place in range(ROWS)]
    written = datums(block, values)
    schema = parse_schema(json.dumps(block))
    assert is_plain(schema)
    fields = _pruned(schema.source.fields, data) or list(schema.source.fields)
    asked = SourceType("struct", fields=tuple(fields))

    fast = read_fast(block, written, fields)
    strict = read_strictly(block, written, fields)

    assert fast.table.schema == strict.table.schema == raw_schema(fields)
    for read in (fast, strict):
        read.table.validate(full=True)
        assert read.bad_messages == ()
        assert read.indexes.tolist() == list(range(ROWS))
        expected = [_only_asked(_raw(block, value), asked) for value in values]
        assert comparable(read.table.to_pylist()) == comparable(expected)


@OPTIONS
@given(st.data())
def test_what_the_fast_reader_cannot_have_is_read_all_the_same(data: st.DataObject) -> None:
    block = data.draw(_rows(ODD))
    schema = parse_schema(json.dumps(block))
    assert not is_plain(schema)
    values = data.draw(st.lists(_values(block), min_size=1, max_size=5))
    fields = list(schema.source.fields)

    read = group_of(block, datums(block, values)).read(fields)

    read.table.validate(full=True)
    assert read.table.schema == raw_schema(fields)
    assert read.bad_messages == ()
    assert read.table.num_rows == len(values)


@OPTIONS
@given(st.data())
def test_damage_is_seen_by_both_readers_alike(data: st.DataObject) -> None:
    block = data.draw(_rows(LEAVES))
    values = data.draw(st.lists(_values(block), min_size=1, max_size=4))
    written = datums(block, [values[place % len(values)] for place in range(ROWS)])
    place = data.draw(st.integers(0, ROWS - 1))
    damaged = bytearray(written[place])
    for _ in range(data.draw(st.integers(1, 3))):
        cut = data.draw(st.integers(0, len(damaged)))
        damaged[cut : cut + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([b"", b"\x00", b"\xff", b"\x01", struct.pack("<q", -1), b"\x80" * 11])
            | st.binary(max_size=12)
        )
    written[place] = bytes(damaged)
    fields = list(parse_schema(json.dumps(block)).source.fields)

    fast = group_of(block, written).read(fields)
    strict = read_strictly(block, written, fields)

    fast.table.validate(full=True)
    fast_rows = dict(zip(fast.indexes.tolist(), comparable(fast.table.to_pylist()), strict=True))
    rows = dict(zip(strict.indexes.tolist(), comparable(strict.table.to_pylist()), strict=True))
    # Of a wrong branch or boolean the fast reader sees only whether it is zero, and goes on.
    assert {number: fast_rows.get(number) for number in rows} == rows
    assert fast_rows.keys() - rows.keys() <= {place}
