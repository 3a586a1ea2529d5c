"""JSON messages without schemas: the types of their columns, declared or inferred."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cdc.decode.messages import BadMessage
from cdc.decode.schemaless import SchemalessGroup, split_schemaless
from cdc.model import SourceColumn, SourceType
from cdc.model.column_types import KnownColumns, known_columns
from connectors import DIALECTS
from tests.unit.messages import (
    CONNECT_DECIMAL,
    ORDERS,
    PRECISION,
    source_values,
)

POSTGRES, MONGODB = DIALECTS["postgres"], DIALECTS["mongodb"]
NOTHING: KnownColumns = {}
MANY = 400  # more than are ever looked at one by one without a reason


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def rows(*afters: str) -> list[bytes]:
    """Write envelopes around rows given as JSON text."""
    source = _compact(source_values(ORDERS, 7)).decode()
    return [
        f'{{"before":null,"after":{after},"source":{source},"op":"c","ts_ms":1}}'.encode()
        for after in afters
    ]


def split(
    messages: Sequence[bytes], known: KnownColumns = NOTHING
) -> tuple[list[SchemalessGroup], list[BadMessage]]:
    payloads = pa.array(messages, pa.binary())
    found = list(split_schemaless(payloads, np.arange(len(messages)), known))
    return (
        [item for item in found if isinstance(item, SchemalessGroup)],
        [item for item in found if isinstance(item, BadMessage)],
    )


def row_of(group: SchemalessGroup) -> tuple[SourceColumn, ...]:
    return next(part.type.fields for part in group.type.fields if part.name == "after")


def types_of(*afters: str, known: KnownColumns = NOTHING) -> dict[str, SourceType]:
    (group,), bad = split(rows(*afters), known)
    assert not bad
    return {column.name: column.type for column in row_of(group)}


def values_of(*afters: str, known: KnownColumns = NOTHING) -> list[dict[str, Any]]:
    (group,), _ = split(rows(*afters), known)
    raw = group.read([SourceColumn("after", SourceType("struct", fields=row_of(group)))])
    assert not raw.bad_messages
    return [row["after"] for row in raw.table.to_pylist()]


def guessed(**types: str) -> KnownColumns:
    return known_columns(inferred=(SourceColumn(n, SourceType(t)) for n, t in types.items()))


def declared(*columns: SourceColumn) -> KnownColumns:
    return known_columns(declared=columns)


# Inference.


def test_each_kind_of_value_gets_its_type() -> None:
    found = types_of('{"i":1,"d":1.5,"b":true,"t":"x","o":{"a":1},"l":[1],"n":null}')

    assert {name: kind.kind for name, kind in found.items()} == {
        "i": "int64",
        "d": "double",
        "b": "boolean",
        "t": "string",
        "o": "string",
        "l": "string",
    }
    assert found["o"].logical == found["l"].logical == "io.debezium.data.Json"


@pytest.mark.parametrize(
    "text", ["2024-01-01", "2024-01-01 00:00:00", "2024-01-01T00:00:00Z", "12:00", "1", "true"]
)
def test_a_text_stays_a_text_whatever_it_looks_like(text: str) -> None:
    assert types_of(f'{{"x":"{text}"}}')["x"] == SourceType("string")
    assert (
        values_of(*[f'{{"x":"{text}"}}'] * MANY, known=guessed(x="string")) == [{"x": text}] * MANY
    )


@pytest.mark.parametrize(
    "number",
    ["18446744073709551615", "-9223372036854775809", "0.12345678901234567890", "1e400"],
)
def test_a_number_that_no_type_holds_becomes_its_own_text(number: str) -> None:
    assert values_of(f'{{"x":{number}}}', '{"x":1}') == [{"x": number}, {"x": "1"}]


def test_whole_numbers_beside_others_are_widened_if_a_double_holds_them() -> None:
    assert values_of('{"x":1}', '{"x":0.5}', '{"x":null}') == [{"x": 1.0}, {"x": 0.5}, {"x": None}]


def test_whole_numbers_that_a_double_would_round_stay_exact() -> None:
    assert values_of('{"x":9007199254740993}') == [{"x": 9007199254740993}]
    assert values_of('{"x":9007199254740993}', '{"x":0.5}') == [
        {"x": "9007199254740993"},
        {"x": "0.5"},
    ]


def test_what_is_nested_is_kept_as_it_is_written() -> None:
    texts = ['{ "b":1.10, "a":[ null ,"\\u00e9"] }', "[]", "{}", "[{}]"]

    assert [row["x"] for row in values_of(*(f'{{"x":{text}}}' for text in texts))] == texts


def test_several_kinds_in_one_column_are_text() -> None:
    afters = [
        '{"x":"a"}',
        '{"x":1}',
        '{"x":true}',
        '{"x":{"y":null}}',
        '{"x":null}',
        '{"x":"null"}',
    ]

    found = [row["x"] for row in values_of(*afters)]

    assert found == ["a", "1", "true", '{"y":null}', None, "null"]


def test_numbers_that_json_has_no_word_for_do_not_make_a_column_text() -> None:
    found = values_of('{"x":"NaN"}', '{"x":1.5}', '{"x":"-Infinity"}')

    assert str([row["x"] for row in found]) == "[nan, 1.5, -inf]"


def test_a_column_without_any_value_is_none_yet() -> None:
    assert list(types_of('{"id":1,"x":null}', '{"id":2,"x":null}')) == ["id"]


def test_columns_stand_in_the_order_they_are_met() -> None:
    assert list(types_of('{"b":1,"a":null}', '{"b":1,"a":2,"c":3}', '{"d":4}')) == list("bacd")


# Declared types.

DECIMAL = SourceType("bytes", CONNECT_DECIMAL, ((PRECISION, "10"), ("scale", "2")))
DATE = SourceType("int32", "io.debezium.time.Date")
FLOATS = SourceType("array", element=SourceType("double"))


def test_declared_columns_have_the_types_they_are_declared_with() -> None:
    known = declared(
        SourceColumn("id", SourceType("int32")),
        SourceColumn("price", DECIMAL),
        SourceColumn("day", DATE),
        SourceColumn("list", FLOATS),
    )

    found = types_of(*['{"id":1,"price":"AJY=","day":null,"list":[1.5]}'] * MANY, known=known)

    assert found == {name: types.declared for name, types in known.items()}


def test_declared_columns_that_no_message_has_are_none() -> None:
    known = declared(
        SourceColumn("id", SourceType("int32")), SourceColumn("unsent", SourceType("bytes"))
    )

    assert list(types_of('{"id":1}', known=known)) == ["id"]


def test_a_group_of_declared_columns_alone_is_not_inferred() -> None:
    known = declared(SourceColumn("id", SourceType("int32")))

    (told,), _ = split(rows('{"id":1}'), known)
    (partly,), _ = split(rows('{"id":1,"new":2}'), known)

    assert not told.inferred
    assert partly.inferred


def test_a_value_that_is_not_as_declared_is_found_by_itself() -> None:
    known = declared(SourceColumn("id", SourceType("int64")))
    afters = ['{"id":1}'] * MANY
    afters[123] = '{"id":"one"}'

    (group,), bad = split(rows(*afters), known)
    raw = group.read([SourceColumn("after", SourceType("struct", fields=row_of(group)))])

    assert not bad
    assert [message.row for message in raw.bad_messages] == [123]
    assert len(raw.table) == MANY - 1


def test_a_map_is_read_as_declared() -> None:
    pair = (SourceColumn("key", SourceType("string")), SourceColumn("value", SourceType("string")))
    known = declared(SourceColumn("h", SourceType("map", fields=pair)))

    assert values_of('{"h":{"a":"1","b":null}}', known=known) == [{"h": [("a", "1"), ("b", None)]}]


def test_what_a_catalog_calls_a_small_number_may_come_as_a_boolean() -> None:
    """MySQL's BOOLEAN is tinyint(1) in its catalog, and in Debezium's mind what it was made as."""
    known = declared(SourceColumn("on", SourceType("int16")))

    assert types_of(*['{"on":true}'] * MANY, known=known)["on"] == SourceType("boolean")
    assert types_of('{"on":null}', '{"on":1}', known=known)["on"] == SourceType("int16")
    assert values_of('{"on":true}', '{"on":null}', '{"on":false}', known=known) == [
        {"on": True},
        {"on": None},
        {"on": False},
    ]


def test_columns_that_are_mostly_null_are_read_at_once_all_the_same() -> None:
    afters = [f'{{"id":{n},"x":{n if n % 3 == 0 else "null"}}}' for n in range(MANY)]

    (group,), _ = split(rows(*afters))

    assert group.table is not None
    assert row_of(group) == (
        SourceColumn("id", SourceType("int64")),
        SourceColumn("x", SourceType("int64")),
    )


def test_a_new_column_is_found_in_the_middle_of_known_ones() -> None:
    afters = ['{"id":1}'] * MANY
    afters[MANY - 7 :] = ['{"id":1,"new":"x"}'] * 7

    found = types_of(*afters, known=guessed(id="int64"))

    assert found == {"id": SourceType("int64"), "new": SourceType("string")}


def test_a_first_value_is_found_after_many_nulls() -> None:
    afters = ['{"id":1,"late":null}'] * MANY
    afters[MANY // 2] = '{"id":1,"late":2.5}'

    found = types_of(*afters, known=guessed(id="int64"))

    assert found["late"] == SourceType("double")


# A table's types rule.


@pytest.mark.parametrize(
    ("column", "value", "kept"),
    [
        ("int64", "1", 1),
        ("int32", "1", 1),
        ("double", "1.5", 1.5),
        ("double", "2", 2.0),
        ("double", "9007199254740992", 9007199254740992.0),
        ("boolean", "false", False),
        ("string", '"x"', "x"),
        ("string", "1", "1"),
        ("string", "1.50", "1.50"),
        ("string", "18446744073709551615", "18446744073709551615"),
        ("string", "true", "true"),
        ("string", '{"a": 1}', '{"a": 1}'),
    ],
)
def test_what_fits_a_column_is_widened_into_its_type(column: str, value: str, kept: Any) -> None:
    usual = {"int64": "7", "int32": "7", "double": "0.5", "boolean": "true", "string": '"t"'}
    afters = [f'{{"x":{usual[column]}}}'] * MANY
    afters[99] = f'{{"x":{value}}}'

    found = values_of(*afters, known=guessed(x=column))

    assert found[99]["x"] == kept
    assert types_of(*afters, known=guessed(x=column))["x"] == SourceType(column)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("int64", "1.5"),
        ("int64", "1.0"),
        ("int64", "9223372036854775808"),
        ("int64", '"1"'),
        ("int64", "true"),
        ("int64", "{}"),
        ("double", "9007199254740993"),
        ("double", "0.12345678901234567890"),
        ("double", "1e400"),
        ("double", '"x"'),
        ("double", "true"),
        ("boolean", "1"),
        ("boolean", '"true"'),
    ],
)
def test_what_does_not_fit_a_column_never_changes_its_type(column: str, value: str) -> None:
    usual = {"int64": "7", "double": "0.5", "boolean": "true"}
    afters = [f'{{"x":{usual[column]}}}'] * MANY
    afters[99] = f'{{"x":{value}}}'

    (group,), bad = split(rows(*afters), guessed(x=column))

    assert [message.row for message in bad] == [99]
    assert "its x is" in bad[0].reason
    assert row_of(group) == (SourceColumn("x", SourceType(column)),)
    assert len(group.rows) == MANY - 1


def test_a_number_too_wide_for_its_column_is_found_when_it_is_read() -> None:
    (group,), _ = split(rows('{"x":1}', '{"x":2147483648}'), guessed(x="int32"))

    raw = group.read([SourceColumn("after", SourceType("struct", fields=row_of(group)))])

    assert [message.row for message in raw.bad_messages] == [1]


def test_a_known_column_keeps_its_type_while_it_has_no_value() -> None:
    assert types_of('{"x":null}', known=guessed(x="double")) == {"x": SourceType("double")}


# Shapes.


def test_what_is_no_object_is_named() -> None:
    groups, bad = split([b"5", b"{}", b"[]", b'{"id":', b"\xff", *rows('{"id":1}')])

    assert [message.row for message in bad] == [0, 1, 2, 3, 4]
    assert [group.rows.tolist() for group in groups] == [[5]]


def test_rows_of_all_shapes_are_kept_apart_and_in_order() -> None:
    change_, plain = rows('{"id":1}')[0], b'{"id":1,"__op":"c","__deleted":"false"}'
    document = change_.replace(b'{"id":1}', b'"{\\"_id\\":1}"')
    messages = [change_, plain, document, change_, plain, document] * 50

    groups, bad = split(messages)

    assert not bad
    assert sorted(group.rows[:2].tolist() for group in groups) == [[0, 3], [1, 4], [2, 5]]
    assert all(len(group.rows) == 100 for group in groups)


def test_a_document_without_its_text_is_known_by_its_collection() -> None:
    source = '{"name":"m","db":"d","collection":"c"}'
    message = f'{{"before":null,"after":null,"source":{source},"op":"d"}}'.encode()

    (group,), _ = split([message] * 40)

    assert {part.name: part.type.kind for part in group.type.fields}["after"] == "string"
    assert not group.inferred


def test_a_key_keeps_the_order_of_its_columns() -> None:
    known = declared(SourceColumn("a", SourceType("int32")), SourceColumn("b", DATE))

    (group,), _ = split([b'{"b":1,"a":2}'] * 40, known)

    assert group.type.fields == (SourceColumn("b", DATE), SourceColumn("a", SourceType("int32")))


def test_messages_that_grow_a_thousand_fields_are_read_in_time() -> None:
    afters = [f'{{"id":{n},"x":{{"k{n}":1,"l{n}":2}}}}' for n in range(2000)]

    found = values_of(*afters, known=guessed(id="int64"))

    assert found[7]["x"] == '{"k7":1,"l7":2}'
