"""Chunks of well-formed records to change tables."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from cdc.config import ResolvedRule
from cdc.config.type_choices import Otherwise
from cdc.decode import (
    DecodedChanges,
    DecodePlan,
    TargetTable,
    ValueRules,
    decode_changes,
)
from cdc.decode.json_messages import MOST_PREFIXES
from cdc.errors import ManyTablesError
from cdc.model import MISSING, NO_POSITION, OFFSET, OP, POSITION, TIME, Cutoff, SourceTable
from cdc.schema import arrow_schema, iceberg_schema, mirror_columns
from connectors import DIALECTS
from tests.unit.messages import (
    MADE_AT,
    ORDERS,
    Message,
    Table,
    arrays,
    base64_of,
    column,
    decimal,
    decimal_column,
    delete,
    insert,
    planned,
    snapshot_row,
    tombstone,
    truncate,
    update,
)

POSTGRES, MYSQL = DIALECTS["postgres"], DIALECTS["mysql"]
WIDER = Table((*ORDERS.columns, column("size", "int32")))


def decode(messages: list[Message], *, met: list[Message] | None = None) -> DecodedChanges:
    """Decode with a plan that knows the schemas of `met`, by default of the messages."""
    return decode_changes(0, *arrays(messages), planned(met or messages, POSTGRES))


def rows_of(decoded: DecodedChanges) -> list[dict[str, Any]]:
    return [row for table in decoded.changes for row in table.to_pylist()]


def relaid(message: Message, **layout: Any) -> Message:
    """Write a message's key and value again in another layout of JSON."""
    key, value = (json.loads(part or b"null") for part in (message.key, message.value))
    key, value = (dict(reversed(part.items())) for part in (key, value))  # the payload first
    texts = [json.dumps(part, **layout).encode() for part in (key, value)]
    return replace(message, key=texts[0], value=texts[1])


def test_a_change_has_its_row_and_where_it_stands() -> None:
    message = insert({"id": 1, "name": "ann"}, offset=7, lsn=99)

    decoded = decode([message])

    time = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert rows_of(decoded) == [
        {"id": 1, "name": "ann", OFFSET: 7, OP: "c", POSITION: 99, TIME: time}
    ]
    assert decoded.table == SourceTable("srv", "shop", "public", "orders")


def test_all_four_row_operations_are_told_apart() -> None:
    row = {"id": 1, "name": "ann"}
    messages = [
        snapshot_row(row, offset=1),
        insert(row, offset=2),
        update(row, offset=3),
        delete(row, offset=4),
    ]

    decoded = decode(messages)

    assert decoded.changes[0][OP].to_pylist() == ["r", "c", "u", "d"]


def test_a_binary_log_position_joins_file_and_place() -> None:
    table = Table(connector="mysql")
    messages = [
        insert({"id": 1}, table=table, offset=1, lsn=500, source={"file": "binlog.000009"}),
        insert({"id": 2}, table=table, offset=2, lsn=4, source={"file": "binlog.000010"}),
    ]

    decoded = decode_changes(0, *arrays(messages), planned(messages, MYSQL))

    first, second = decoded.changes[0][POSITION].to_pylist()
    assert first < second
    assert decoded.table == SourceTable("srv", "shop", "shop", "orders")


def test_a_number_without_a_sign_is_the_same_in_a_key_that_does_not_say_so() -> None:
    named = {"__debezium.source.column.type": "BIGINT UNSIGNED"}
    rows = Table((column("id", "int64", optional=False, parameters=named),), connector="mysql")
    keys = Table((column("id", "int64", optional=False),), connector="mysql")
    messages = [
        replace(make({"id": -1}, table=rows), key=make({"id": -1}, table=keys).key, offset=offset)
        for offset, make in enumerate((insert, delete))
    ]

    decoded = decode_changes(0, *arrays(messages), planned(messages, MYSQL))

    assert [row["id"] for row in rows_of(decoded)] == [2**64 - 1, 2**64 - 1]


def test_an_enum_of_mysql_is_the_same_in_a_snapshot_and_in_a_change() -> None:
    allowed = {"allowed": "a,b\\,c"}
    kind: dict[str, Any] = {"logical": "io.debezium.data.Enum", "parameters": allowed}
    key, size = column("id", "string", optional=False, **kind), column("size", "string", **kind)
    table = Table((key, size), connector="mysql")
    messages = [
        snapshot_row({"id": "b,c", "size": "b,c"}, table=table, offset=1),
        insert({"id": "b\\,c", "size": "b\\,c"}, table=table, offset=2),
        delete({"id": "b\\,c"}, table=table, offset=3),
    ]

    decoded = decode_changes(0, *arrays(messages), planned(messages, MYSQL))

    rows = rows_of(decoded)
    assert [row["id"] for row in rows] == ["b,c"] * 3
    assert [row["size"] for row in rows] == ["b,c", "b,c", None]


def test_a_change_without_a_log_position_is_older_than_all_others() -> None:
    message = insert({"id": 1}, source={"lsn": None})

    decoded = decode([message])

    assert decoded.changes[0][POSITION].to_pylist() == [NO_POSITION]


def test_a_delete_takes_its_key_from_the_messages_key() -> None:
    # REPLICA IDENTITY may leave `before` without a value, but never the key.
    messages = [
        insert({"id": 1, "name": "ann"}, offset=1),
        replace(delete({"id": 999}, offset=2), key=delete({"id": 5}).key),
        insert({"id": 2, "name": "bob"}, offset=3),
        replace(delete({"id": 999}, offset=4), key=delete({"id": 4}).key),
    ]

    rows = rows_of(decode(messages))

    assert [(row["id"], row["name"], row[OP]) for row in rows] == [
        (1, "ann", "c"),
        (5, None, "d"),
        (2, "bob", "c"),
        (4, None, "d"),
    ]


def test_deletes_whose_keys_are_laid_out_differently_keep_their_own() -> None:
    # The first key decides how all are told apart; among the deletes another one comes first.
    messages = [insert({"id": 0}), *(delete({"id": place}, offset=place) for place in range(1, 6))]
    mixed = [m if m.offset % 2 else replace(m, key=relaid(m, indent=2).key) for m in messages]

    rows = rows_of(decode(mixed))

    assert sorted((row[OFFSET], row["id"]) for row in rows) == [(n, n) for n in range(6)]


def test_a_delete_converts_keys_of_any_type() -> None:
    columns = (
        column("day", "int32", optional=False, logical="io.debezium.time.Date"),
        decimal_column("price", 10, 2, optional=False),
        column("tag", "bytes", optional=False),
        column("name", "string"),
    )
    table = Table(columns, key=("day", "price", "tag"))
    key = {"day": 1, "price": decimal(-150), "tag": base64_of(b"\x00\xff")}

    rows = rows_of(decode([delete(key, table=table), insert(key, table=table, offset=1)]))

    assert [{n: row[n] for n in key} for row in rows[:1]] == [
        {n: row[n] for n in key} for row in rows[1:]
    ]
    assert rows[0]["tag"] == b"\x00\xff"


def test_the_keys_columns_come_first_in_its_own_order() -> None:
    columns = (column("v", "string"), column("a"), column("b", "string"))
    table = Table(columns, key=("b", "a"))

    plan = planned([insert({"v": "x", "a": 1, "b": "y"}, table=table)], POSTGRES)

    assert plan.table is not None
    assert plan.table.schema.names == ["b", "a", "v"]


def test_tombstones_are_counted_and_left_out() -> None:
    messages = [delete({"id": 1}, offset=1), tombstone({"id": 1}, offset=2)]

    decoded = decode(messages)

    assert decoded.tombstones == 1
    assert [row[OFFSET] for row in rows_of(decoded)] == [1]


def test_a_chunk_of_tombstones_alone_holds_nothing() -> None:
    messages = [tombstone({"id": 1}, offset=1), tombstone({"id": 2}, offset=2)]

    decoded = decode(messages, met=[insert({"id": 1})])

    assert decoded == DecodedChanges(tombstones=2)


def test_an_empty_chunk_holds_nothing() -> None:
    decoded = decode_changes(0, *arrays([]), planned([insert({"id": 1})], POSTGRES))

    assert decoded == DecodedChanges()


def test_truncates_are_reported_apart_from_the_rows() -> None:
    messages = [
        insert({"id": 1}, offset=4),
        truncate(offset=5, lsn=77),
        insert({"id": 2}, offset=6),
        truncate(offset=8, lsn=99),
    ]

    decoded = decode_changes(3, *arrays(messages), planned(messages, POSTGRES))

    assert decoded.truncates == (Cutoff(3, 5, 77, MADE_AT), Cutoff(3, 8, 99, MADE_AT))
    assert [row[OFFSET] for row in rows_of(decoded)] == [4, 6]
    assert decoded.new_schemas == ()


def test_a_chunk_of_truncates_alone_still_names_its_table() -> None:
    decoded = decode([truncate(offset=1)], met=[insert({"id": 1})])

    assert decoded.table == SourceTable("srv", "shop", "public", "orders")
    assert decoded.changes == ()


def test_several_schemas_in_one_chunk_are_decoded_each_as_it_says() -> None:
    messages = [
        insert({"id": 1, "name": "a"}, offset=1),
        insert({"id": 2, "name": "b", "size": 5}, table=WIDER, offset=2),
        insert({"id": 3, "name": "c"}, offset=3),
        insert({"id": 4, "name": "d", "size": 6}, table=WIDER, offset=4),
    ]

    decoded = decode(messages, met=[messages[1], messages[0]])

    rows = sorted(rows_of(decoded), key=lambda row: int(row[OFFSET]))
    assert [(row["id"], row["name"], row["size"]) for row in rows] == [
        (1, "a", None),
        (2, "b", 5),
        (3, "c", None),
        (4, "d", 6),
    ]


@pytest.mark.parametrize("count", [MOST_PREFIXES - 1, MOST_PREFIXES + 6])
def test_any_number_of_schemas_in_one_chunk_is_decoded(count: int) -> None:
    tables = [Table((*ORDERS.columns, column(f"extra{place}"))) for place in range(count)]
    messages = [
        insert({"id": place}, table=table, offset=place) for place, table in enumerate(tables)
    ]

    decoded = decode(messages)

    assert sorted((row[OFFSET], row["id"]) for row in rows_of(decoded)) == [
        (place, place) for place in range(count)
    ]


def test_a_new_schema_is_news_and_nothing_of_the_chunk_is_decoded() -> None:
    messages = [insert({"id": 1}, offset=1), insert({"id": 2, "size": 5}, table=WIDER, offset=2)]

    decoded = decode(messages, met=messages[:1])

    assert decoded.changes == ()
    assert [[c.name for c in schema.columns] for schema in decoded.new_schemas] == [
        ["id", "name", "size"]
    ]


def test_another_key_is_a_new_schema() -> None:
    other = Table(ORDERS.columns, key=("id", "name"))
    messages = [insert({"id": 1}, offset=1), insert({"id": 2, "name": "b"}, table=other, offset=2)]

    decoded = decode(messages, met=messages[:1])

    assert [schema.key for schema in decoded.new_schemas] == [("id", "name")]


def test_a_topic_without_a_table_gives_its_schema_only() -> None:
    message = insert({"id": 1, "name": "a"})

    decoded = decode_changes(0, *arrays([message]), DecodePlan(message.topic, POSTGRES))

    assert decoded.changes == ()
    assert [schema.key for schema in decoded.new_schemas] == [("id",)]


def test_a_column_that_the_source_has_dropped_is_null() -> None:
    narrow = Table(ORDERS.columns[:1])
    messages = [insert({"id": 1, "name": "a"}, offset=1), insert({"id": 2}, table=narrow, offset=2)]

    rows = rows_of(decode(messages))

    assert [(row["id"], row["name"]) for row in rows] == [(1, "a"), (2, None)]


@pytest.mark.parametrize(
    "layout", [{"indent": 2}, {"separators": (" , ", " : ")}, {"ensure_ascii": True}]
)
def test_the_layout_of_the_json_does_not_matter(layout: dict[str, Any]) -> None:
    messages = [
        insert({"id": 1, "name": "zoë 🚀"}, offset=1),
        update({"id": 1, "name": 'a "quote" \\ and\nline'}, offset=2),
        delete({"id": 1}, offset=3),
    ]

    relaid_rows = rows_of(decode([relaid(message, **layout) for message in messages]))

    assert relaid_rows == rows_of(decode(messages))


def test_layouts_may_be_mixed_in_one_chunk() -> None:
    messages = [insert({"id": place, "name": str(place)}, offset=place) for place in range(6)]
    mixed = [relaid(m, indent=1) if m.offset % 2 else m for m in messages]

    rows = rows_of(decode(mixed))

    assert sorted((row[OFFSET], row["id"]) for row in rows) == [(n, n) for n in range(6)]


def test_a_payload_with_line_breaks_behind_a_compact_schema_is_one_message() -> None:
    message = insert({"id": 1, "name": "a"}, offset=1)
    assert message.value is not None
    head, tail = message.value.split(b',"payload":')
    spread = replace(message, value=head + b',"payload":' + tail.replace(b",", b",\n"))

    rows = rows_of(decode([spread, insert({"id": 2, "name": "b"}, offset=2)]))

    assert [(row[OFFSET], row["id"]) for row in rows] == [(1, 1), (2, 2)]


def test_a_topic_with_two_tables_is_refused() -> None:
    messages = [
        insert({"id": 1}, offset=1),
        replace(insert({"id": 1}, table=Table(name="invoices"), offset=2), topic=ORDERS.topic),
    ]

    with pytest.raises(ManyTablesError) as raised:
        decode(messages)

    assert raised.value.tables == ("public.invoices", "public.orders")


def test_two_databases_in_one_topic_are_two_tables() -> None:
    messages = [insert({"id": 1}, offset=1), insert({"id": 1}, offset=2, source={"db": "other"})]

    with pytest.raises(ManyTablesError):
        decode(messages)


def test_a_placeholder_for_an_unsent_text_is_no_value_and_named_as_missing() -> None:
    messages = [
        insert({"id": 1, "name": "a"}, offset=1),
        update({"id": 1, "name": "__debezium_unavailable_value"}, offset=2),
    ]

    rows = rows_of(decode(messages))

    assert [(row["name"], row[MISSING]) for row in rows] == [("a", None), (None, ["name"])]


def test_a_value_that_does_not_fit_is_named_and_the_other_rows_are_kept() -> None:
    table = Table((*ORDERS.columns, decimal_column("price", 5, 2)))
    messages = [
        insert({"id": place, "price": decimal(100000 if place == 70 else place)}, table=table)
        for place in range(100)
    ]
    numbered = [replace(message, offset=place) for place, message in enumerate(messages)]

    decoded = decode_changes(2, *arrays(numbered), planned(numbered, POSTGRES))

    (bad,) = decoded.bad_records
    assert bad.offset == 70
    assert "price" in bad.reason and "decimal128(5, 2)" in bad.reason
    assert [row["id"] for row in rows_of(decoded)] == [n for n in range(100) if n != 70]


@pytest.mark.parametrize(
    ("otherwise", "wanted"),
    [
        (Otherwise.NULL, [None, date(2024, 2, 29), None]),
        (Otherwise.NEAREST, [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]),
    ],
)
def test_a_declared_choice_stands_in_for_what_does_not_fit(
    otherwise: Otherwise, wanted: list[Any]
) -> None:
    texts = ["-infinity", "2024-02-29T00:00:00Z", "infinity"]
    until = column("until", "string", logical="io.debezium.time.ZonedTimestamp")
    table = Table((*ORDERS.columns, until))
    messages = [
        insert({"id": place, "until": text}, table=table, offset=place)
        for place, text in enumerate(texts)
    ]
    plan = replace(planned(messages, POSTGRES), values=ValueRules({"until": otherwise}))

    decoded = decode_changes(0, *arrays(messages), plan)

    assert decoded.bad_records == ()
    assert [row["until"] and row["until"].date() for row in rows_of(decoded)] == wanted


def sha256(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()


def test_only_the_digest_of_a_hashed_value_is_kept_also_in_keys() -> None:
    columns = (
        column("id", "int64", optional=False),
        column("mail", "string"),
        column("scan", "bytes"),
        decimal_column("price", 10, 2),
    )
    table = Table(columns)
    row = {"id": 7, "mail": "zoë@x", "scan": base64_of(b"\xff\x00"), "price": decimal(150)}
    messages = [
        insert(row, table=table, offset=0),
        insert({"id": 8, "mail": None}, table=table, offset=1),
        delete({"id": 7}, table=table, offset=2),
    ]
    names = ("id", "mail", "scan", "price")
    known = planned(messages, POSTGRES).known
    rule = ResolvedRule(hash=names)
    target = iceberg_schema(mirror_columns(next(iter(known)), "t", POSTGRES, rule))
    plan = DecodePlan(
        messages[0].topic,
        POSTGRES,
        table=TargetTable(arrow_schema(target, "t"), known),
        values=ValueRules(hashed=frozenset(names)),
    )

    rows = rows_of(decode_changes(0, *arrays(messages), plan))

    assert [row[name] for row in rows[:1] for name in names] == [
        sha256(b"7"),
        sha256("zoë@x".encode()),
        sha256(b"\xff\x00"),
        sha256(b"1.50"),
    ]
    assert rows[1]["mail"] is None
    assert (rows[2]["id"], rows[2][OP]) == (sha256(b"7"), "d")


def test_slices_of_larger_arrays_are_decoded_as_they_are() -> None:
    messages = [insert({"id": place, "name": str(place)}, offset=place) for place in range(10)]
    offsets, keys, values = (array.slice(3, 4) for array in arrays(messages))

    decoded = decode_changes(0, offsets, keys, values, planned(messages, POSTGRES))

    assert pa.concat_tables(decoded.changes)["id"].to_pylist() == [3, 4, 5, 6]
