"""Avro schemas stand for the same Connect types as the schema blocks of JSON messages."""

import json
from base64 import b64decode
from typing import Any

import pytest

from cdc.decode.avro_schema import JSON_TEXT, AvroSchemaError, parse_schema
from cdc.decode.connect_schema import source_type
from cdc.model import SourceColumn, SourceType
from tests.unit.messages import RECORDED

Block = dict[str, Any] | list[Any] | str


def record(*fields: tuple[str, Block], name: str = "Row", **more: Any) -> dict[str, Any]:
    parts = [{"name": field, "type": type_} for field, type_ in fields]
    return {"type": "record", "name": name, "fields": parts, **more}


def type_of(block: Block, *references: Block) -> SourceType:
    """Give the type of the only column of a record."""
    texts = [json.dumps(reference) for reference in references]
    (column,) = parse_schema(json.dumps(record(("it", block))), texts).source.fields
    return column.type


def recorded_types(name: str, part: str) -> dict[str, list[SourceType]]:
    """List the types of each recorded topic in the order they appear; server names become one."""
    ids = json.loads((RECORDED / "pg_avro.schemas.json").read_text())["ids"]
    types: dict[str, list[SourceType]] = {}
    for line in (RECORDED / name).read_text().splitlines():
        message = json.loads(line)
        if message[part] is None:
            continue
        content = b64decode(message[part])
        server, _, topic = message["topic"].partition(".")
        if content[0] == 0:
            text = ids[str(int.from_bytes(content[1:5], "big"))]["schema"]
            found = parse_schema(text.replace(f'"{server}.', '"server.')).source
        else:
            block = json.dumps(json.loads(content)["schema"])
            found = source_type(json.loads(block.replace(f'"{server}.', '"server.')))
        if found not in types.setdefault(topic, []):
            types[topic].append(found)
    return types


# What the Avro capture lacks: its converter refuses the first two topics' decimals.
NOT_IN_AVRO = {"app.neg_scale", "app.special_numeric"}
# Debezium itself renames these columns for Avro, and no others.
RENAMED = {"app.Mixed_Case": {"col-dash": "col_dash", "ünï": "_n_", "1st": "_1st"}}


@pytest.mark.parametrize("part", ["key", "value"])
def test_the_recorded_schemas_stand_for_the_same_types_as_in_json(part: str) -> None:
    in_avro = recorded_types("pg_avro.jsonl", part)
    in_json = recorded_types("pg_json.jsonl", part)

    assert in_json.keys() - in_avro.keys() == NOT_IN_AVRO
    for topic, types in in_avro.items():
        texts = [repr(type_) for type_ in in_json[topic]]
        for old, new in RENAMED.get(topic, {}).items():
            texts = [text.replace(repr(old), repr(new)) for text in texts]
        assert [repr(type_) for type_ in types] == texts, topic
    assert sum(map(len, in_avro.values())) >= 12


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("boolean", SourceType("boolean")),
        ("int", SourceType("int32")),
        ("long", SourceType("int64")),
        ("float", SourceType("float")),
        ("double", SourceType("double")),
        ("string", SourceType("string")),
        ("bytes", SourceType("bytes")),
        ({"type": "int"}, SourceType("int32")),
        ({"type": {"type": "int"}}, SourceType("int32")),
        ({"type": "int", "connect.type": "int8"}, SourceType("int8")),
        ({"type": "int", "connect.type": "int16"}, SourceType("int16")),
        (["null", "long"], SourceType("int64")),
        (["long", "null"], SourceType("int64")),
        (["long"], SourceType("int64")),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, SourceType("string")),
        ({"type": "fixed", "name": "F", "size": 4}, SourceType("bytes")),
        (
            {"type": "array", "items": ["null", "int"]},
            SourceType("array", element=SourceType("int32")),
        ),
        (
            {"type": "map", "values": "double"},
            SourceType(
                "map",
                fields=(
                    SourceColumn("key", SourceType("string")),
                    SourceColumn("value", SourceType("double")),
                ),
            ),
        ),
    ],
)
def test_a_type_stands_for_the_connect_type_with_the_same_values(
    block: Block, expected: SourceType
) -> None:
    assert type_of(block) == expected


@pytest.mark.parametrize(
    ("block", "logical"),
    [
        ({"type": "int", "logicalType": "date"}, "org.apache.kafka.connect.data.Date"),
        ({"type": "int", "logicalType": "time-millis"}, "org.apache.kafka.connect.data.Time"),
        ({"type": "long", "logicalType": "time-micros"}, "io.debezium.time.MicroTime"),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            "org.apache.kafka.connect.data.Timestamp",
        ),
        ({"type": "long", "logicalType": "timestamp-micros"}, "io.debezium.time.MicroTimestamp"),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, "io.debezium.time.Timestamp"),
        (
            {"type": "long", "logicalType": "local-timestamp-micros"},
            "io.debezium.time.MicroTimestamp",
        ),
        ({"type": "long", "logicalType": "timestamp-nanos"}, "io.debezium.time.NanoTimestamp"),
        ({"type": "string", "logicalType": "uuid"}, "io.debezium.data.Uuid"),
        # A logical type of another physical one means nothing, and so does an unknown one.
        ({"type": "string", "logicalType": "date"}, None),
        ({"type": "long", "logicalType": "fortnight"}, None),
        # Connect's own name says more than Avro's.
        (
            {"type": "int", "logicalType": "date", "connect.name": "io.debezium.time.Date"},
            "io.debezium.time.Date",
        ),
    ],
)
def test_a_logical_type_without_a_connect_name_is_named_as_connect_does(
    block: Block, logical: str | None
) -> None:
    assert type_of(block).logical == logical


DECIMAL = "org.apache.kafka.connect.data.Decimal"


@pytest.mark.parametrize(
    ("more", "parameters"),
    [
        ({"precision": 5, "scale": 2}, {"connect.decimal.precision": "5", "scale": "2"}),
        ({"precision": 5}, {"connect.decimal.precision": "5", "scale": "0"}),
        ({"precision": 64, "scale": 2}, {"scale": "2"}),  # 64 stands for: not known
        (
            # numeric(5,-2) as Debezium describes it
            {
                "precision": 5,
                "scale": 2046,
                "connect.name": DECIMAL,
                "connect.parameters": {"scale": "2046", "connect.decimal.precision": "5"},
            },
            {"connect.decimal.precision": "5", "scale": "2046"},
        ),
    ],
)
@pytest.mark.parametrize(
    "bytes_", [{"type": "bytes"}, {"type": "fixed", "name": "Amount", "size": 9}]
)
def test_a_decimal_keeps_its_scale_and_precision(
    bytes_: dict[str, Any], more: dict[str, Any], parameters: dict[str, str]
) -> None:
    found = type_of(bytes_ | {"logicalType": "decimal"} | more)

    assert found == SourceType("bytes", DECIMAL, tuple(sorted(parameters.items())))


@pytest.mark.parametrize("more", [{}, {"precision": "5"}, {"precision": 2, "scale": 3}])
def test_a_decimal_that_makes_no_sense_is_plain_bytes(more: dict[str, Any]) -> None:
    assert type_of({"type": "bytes", "logicalType": "decimal", **more}) == SourceType("bytes")


def test_parameters_are_kept_wherever_a_converter_leaves_them() -> None:
    block = record(("a", {"type": "string", "connect.parameters": {"allowed": "x,y"}}))
    block["fields"][0]["connect.parameters"] = {"length": 7}

    (column,) = parse_schema(json.dumps(block)).source.fields

    assert column.type.parameters == (("allowed", "x,y"), ("length", "7"))


def test_a_named_type_is_found_from_every_namespace() -> None:
    inner = record(("x", "int"), name="Inner", namespace="a.b")
    block = record(
        ("defined", inner),
        ("full", "a.b.Inner"),
        ("around", record(("near", "Inner"), name="Near", namespace="a.b")),
        ("spelt_out", record(("near", ["null", "Inner"]), name="a.b.Other", namespace="ignored")),
        namespace="c",
    )

    fields = {field.name: field.type for field in parse_schema(json.dumps(block)).source.fields}

    expected = SourceType("struct", "a.b.Inner", fields=(SourceColumn("x", SourceType("int32")),))
    assert fields["defined"] == fields["full"] == expected
    assert fields["around"].fields[0].type == fields["spelt_out"].fields[0].type == expected


def test_a_type_may_be_defined_in_a_schema_that_is_referred_to() -> None:
    money = record(("cents", "long"), name="Money", namespace="shop")
    price = record(("net", "shop.Money"), name="Price", namespace="shop")

    found = type_of("shop.Price", money, price)

    assert found.logical == "shop.Price"
    assert found.fields[0].type.fields == (SourceColumn("cents", SourceType("int64")),)


def test_a_struct_without_a_name_has_none_in_avro_either() -> None:
    nameless = record(("x", "int"), name="ConnectDefault", namespace="io.confluent.connect.avro")

    assert type_of(nameless).logical is None


@pytest.mark.parametrize(
    "named",
    [
        {"name": "MapEntry", "namespace": "io.confluent.connect.avro"},
        {"name": "Stock", "namespace": "shop", "connect.internal.type": "MapEntry"},
    ],
)
def test_an_array_of_map_entries_is_a_map(named: dict[str, Any]) -> None:
    found = type_of(
        {"type": "array", "items": record(("key", "int"), ("value", "string"), **named)}
    )

    assert (found.kind, found.element) == ("map", None)
    assert [field.type.kind for field in found.fields] == ["int32", "string"]


TREE = record(("value", "int"), ("children", {"type": "array", "items": "Tree"}), name="Tree")


@pytest.mark.parametrize(
    "block",
    [
        ["int", "string"],
        ["null", "int", "string"],
        "null",
        TREE,
        ["null", TREE],
        record(("other", record(("one", ["null", "One"]), name="Two")), name="One"),
    ],
)
def test_a_type_without_a_fixed_form_is_json_text(block: Block) -> None:
    assert type_of(block) == JSON_TEXT


def test_a_row_that_contains_itself_stays_a_struct() -> None:
    source = parse_schema(json.dumps(TREE)).source

    assert source.kind == "struct"
    assert source.fields[0].type == SourceType("int32")
    assert source.fields[1].type.element == JSON_TEXT


def test_only_the_part_of_a_column_that_has_no_fixed_form_is_text() -> None:
    found = type_of(record(("odd", {"type": "array", "items": ["int", "string"]}), name="Part"))

    assert found.fields[0].type == SourceType("array", element=JSON_TEXT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '"string"',
        '["null", "int"]',
        "5",
        "null",
        '{"type": "record", "name": "R"}',
        '{"type": "record", "fields": []}',
        '{"type": "record", "name": "R", "fields": 5}',
        '{"type": "record", "name": "R", "fields": [5]}',
        '{"type": "record", "name": "R", "fields": [{"name": "a"}]}',
        '{"type": "record", "name": "R", "fields": [{"type": "int"}]}',
        '{"type": "record", "name": "R", "fields": [{"name": "\\ud800", "type": "int"}]}',
        json.dumps(record(("a", "int"), ("a", "int"))),
        json.dumps(record(("a", "Unknown"))),
        json.dumps(record(("a", []))),
        json.dumps(record(("a", [["int"]]))),
        json.dumps(record(("a", {"type": "array"}))),
        json.dumps(record(("a", {"type": "map"}))),
        json.dumps(record(("a", {"type": "enum", "name": "E"}))),
        json.dumps(record(("a", {"type": "enum", "name": "E", "symbols": [5]}))),
        json.dumps(record(("a", {"type": "fixed", "name": "F"}))),
        json.dumps(record(("a", {"type": "fixed", "name": "F", "size": -1}))),
        json.dumps(record(("a", {"type": "fixed", "name": "F", "size": True}))),
        json.dumps(record(("a", record(name="Row")))),
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type": '
        + '{"type": "array", "items": ' * 5000
        + '"int"'
        + "}" * 5001
        + "]}",
    ],
)
def test_what_is_no_schema_of_a_row_is_refused(text: str) -> None:
    with pytest.raises(AvroSchemaError):
        parse_schema(text)
