"""Rows without their envelope, as ExtractNewRecordState leaves them, and documents."""

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from cdc.decode import DecodedChanges, DecodePlan, decode_changes
from cdc.model import NO_POSITION, OFFSET, OP, POSITION, TIME, Form, SourceTable
from connectors import DIALECTS
from tests.unit.messages import (
    ORDERS,
    Block,
    Message,
    arrays,
    column,
    key_schema,
    planned,
    tombstone,
)

POSTGRES, MYSQL = DIALECTS["postgres"], DIALECTS["mysql"]
ADDED = (
    column("__deleted", "string"),
    column("__op", "string"),
    column("__table", "string"),
    column("__lsn", "int64"),
    column("__source_ts_ms", "int64"),
)


def flat(
    row: dict[str, Any],
    *,
    added: tuple[Block, ...] = ADDED,
    offset: int = 0,
    topic: str = ORDERS.topic,
    name: str | None = f"{ORDERS.topic}.Value",
) -> Message:
    """Make the record of a flat row; its key is the row's id."""
    block = {"type": "struct", "fields": [*ORDERS.columns, *added], "optional": False}
    if name is not None:
        block["name"] = name
    key = {"schema": key_schema(ORDERS), "payload": {"id": row["id"]}}
    value = {"schema": block, "payload": row}
    parts = (json.dumps(part, separators=(",", ":")).encode() for part in (key, value))
    return Message(topic, 0, offset, *parts)


def decode(*messages: Message, plan: DecodePlan | None = None) -> DecodedChanges:
    return decode_changes(0, *arrays(messages), plan or planned(list(messages), POSTGRES))


def rows_of(decoded: DecodedChanges) -> list[dict[str, Any]]:
    rows = [row for table in decoded.changes for row in table.to_pylist()]
    return sorted(rows, key=lambda row: row[OFFSET])


def test_a_flat_row_has_its_columns_and_none_of_the_added_ones() -> None:
    message = flat({"id": 1, "name": "ann", "__op": "c", "__lsn": 99, "__table": "orders"})

    decoded = decode(message)

    assert rows_of(decoded) == [
        {"id": 1, "name": "ann", OFFSET: 0, OP: "c", POSITION: 99, TIME: None}
    ]
    assert decoded.table == SourceTable("srv", "srv", "public", "orders")
    assert decode(message, plan=DecodePlan(ORDERS.topic, POSTGRES)).new_schemas[0].form is Form.FLAT


def test_a_flat_row_without_added_fields_is_known_by_its_schemas_name() -> None:
    decoded = decode(flat({"id": 1, "name": "ann"}, added=()))

    assert rows_of(decoded) == [
        {"id": 1, "name": "ann", OFFSET: 0, OP: "u", POSITION: NO_POSITION, TIME: None}
    ]


def test_a_row_that_nothing_marks_as_debeziums_is_refused() -> None:
    decoded = decode_changes(
        0,
        *arrays([flat({"id": 1}, added=(), name="com.example.Order")]),
        DecodePlan(ORDERS.topic, POSTGRES),
    )

    assert [record.reason for record in decoded.bad_records] == ["it is not a Debezium change"]


def test_a_row_marked_as_deleted_is_deleted_by_its_key_alone() -> None:
    messages = [
        flat({"id": 1, "name": "ann", "__deleted": "false"}),
        flat({"id": 1, "name": "ann", "__deleted": "true"}, offset=1),
    ]

    deleted = rows_of(decode(*messages))[1]

    assert (deleted["id"], deleted["name"], deleted[OP]) == (1, None, "d")


def test_a_tombstone_among_flat_rows_is_a_delete() -> None:
    row = flat({"id": 1, "name": "ann"}, added=())

    decoded = decode(row, tombstone({"id": 1}, offset=1), plan=planned([row], POSTGRES))

    assert [(row["id"], row[OP]) for row in rows_of(decoded)] == [(1, "u"), (1, "d")]
    assert decoded.tombstones == 0


def test_tombstones_alone_are_deletes_once_the_topic_is_known_to_be_flat() -> None:
    plan = planned([flat({"id": 1}, added=())], POSTGRES)

    decoded = decode(tombstone({"id": 1}, offset=5), tombstone({"id": 2}, offset=6), plan=plan)

    assert [(row["id"], row[OP], row[OFFSET]) for row in rows_of(decoded)] == [
        (1, "d", 5),
        (2, "d", 6),
    ]


def test_a_tombstone_has_the_number_without_a_sign_that_its_row_had() -> None:
    row = flat({"id": -1}, added=(), topic="srv.shop.orders")
    value = json.loads(row.value or b"")
    named = {"__debezium.source.column.type": "BIGINT UNSIGNED"}
    value["schema"]["fields"][0]["parameters"] = named
    row = replace(row, value=json.dumps(value).encode())
    plan = planned([row], MYSQL)

    decoded = decode(row, replace(tombstone({"id": -1}, offset=1), topic=row.topic), plan=plan)

    assert [(row["id"], row[OP]) for row in rows_of(decoded)] == [
        (2**64 - 1, "u"),
        (2**64 - 1, "d"),
    ]


def test_a_tombstone_whose_key_cannot_be_read_is_named() -> None:
    plan = planned([flat({"id": 1}, added=())], POSTGRES)

    decoded = decode(Message(ORDERS.topic, 0, 7, b"nonsense", None), plan=plan)

    assert [record.offset for record in decoded.bad_records] == [7]


def test_a_flat_row_takes_its_place_in_the_log_from_either_name() -> None:
    added = (column("__source_file", "string"), column("__pos", "int64"), column("__op", "string"))
    row = {"id": 1, "__source_file": "bin.000002", "__pos": 7, "__op": "c"}
    message = flat(row, added=added, topic="srv.shop.orders")

    decoded = decode(message, plan=planned([message], MYSQL))

    assert rows_of(decoded)[0][POSITION] == 2 * (1 << 40) + 7
    assert decoded.table == SourceTable("srv", "shop", "shop", "orders")


@pytest.mark.parametrize("op", ["x", "t ", ""])
def test_a_flat_row_with_an_unknown_op_is_refused(op: str) -> None:
    good = flat({"id": 1, "__op": "c"})

    decoded = decode(good, flat({"id": 2, "__op": op}, offset=1), plan=planned([good], POSTGRES))

    assert [record.offset for record in decoded.bad_records] == [1]
    assert len(rows_of(decoded)) == 1


def document(op: str, text: str | None, *, id_: str = '{"$oid": "6"}', offset: int = 0) -> Message:
    """Make a change as the connector for MongoDB writes it."""
    source = column(
        "source",
        "struct",
        fields=[
            *(column(name, "string") for name in ("name", "db", "collection")),
            column("ts_ms", "int64"),
            column("ord", "int32"),
        ],
    )
    after = column("after", "string", logical="io.debezium.data.Json")
    fields = [column("before", "string"), after, source, column("op", "string")]
    block = {"type": "struct", "fields": fields, "name": "srv.shop.orders.Envelope"}
    values = {"name": "srv", "db": "shop", "collection": "orders", "ts_ms": 5000, "ord": 3}
    value = {"schema": block, "payload": {"after": text, "source": values, "op": op}}
    key_block = {"type": "struct", "fields": [column("id", "string", optional=False)]}
    key = {"schema": key_block, "payload": {"id": id_}}
    parts = (json.dumps(part).encode() for part in (key, value))
    return Message("srv.shop.orders", 0, offset, *parts)


def test_a_document_is_a_row_of_its_key_and_its_text() -> None:
    messages = [
        document("c", '{"_id": 6, "a": [1.10]}'),
        document("d", None, offset=1),
    ]
    plan = planned(messages, DIALECTS["mongodb"])

    decoded = decode(*messages, plan=plan)

    assert plan.table is not None
    assert [(field.name, field.nullable) for field in plan.table.schema] == [
        ("id", False),
        ("document", True),
    ]
    assert plan.table.schema.field("document").type == pa.string()
    assert [(row["id"], row["document"], row[OP]) for row in rows_of(decoded)] == [
        ('{"$oid": "6"}', '{"_id": 6, "a": [1.10]}', "c"),
        ('{"$oid": "6"}', None, "d"),
    ]
    assert decoded.table == SourceTable("srv", "shop", "shop", "orders")


def test_an_update_without_the_whole_document_is_refused_with_the_setting_to_change() -> None:
    good = document("c", "{}")

    decoded = decode(good, document("u", None, offset=1), plan=planned([good], DIALECTS["mongodb"]))

    (bad,) = decoded.bad_records
    assert bad.offset == 1
    assert "capture.mode" in bad.reason
