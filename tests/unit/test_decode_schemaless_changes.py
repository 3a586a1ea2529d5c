"""Changes from JSON messages without schemas, and the tables made of them, which never flip."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from cdc.decode import DecodePlan, decode_changes
from cdc.model import Form, SourceColumn, SourceSchema, SourceType
from cdc.model.column_types import known_columns
from connectors import DIALECTS
from tests.unit.messages import (
    CONNECT_DECIMAL,
    ORDERS,
    PRECISION,
    Message,
    Table,
    arrays,
    change,
    column,
    decimal,
    delete,
    insert,
    plan_of,
    truncate,
    without_schemas,
)

POSTGRES, MONGODB = DIALECTS["postgres"], DIALECTS["mongodb"]
DECIMAL = {PRECISION: "10", "scale": "2"}
INFERRED = known_columns(inferred=[SourceColumn("id", SourceType("int64"))])


def _written(value: Any) -> bytes:
    return json.dumps(value).encode()


def met(messages: Iterable[Message]) -> tuple[SourceSchema, ...]:
    records = list(messages)
    plan = DecodePlan(records[0].topic, POSTGRES)
    decoded = decode_changes(0, *arrays(records), plan)
    assert not decoded.bad_records
    return decoded.new_schemas


def decoded_rows(messages: Iterable[Message], plan: DecodePlan) -> list[dict[str, Any]]:
    decoded = decode_changes(0, *arrays(list(messages)), plan)
    assert not decoded.bad_records
    assert not decoded.new_schemas
    rows: list[dict[str, Any]] = pa.concat_tables(decoded.changes).to_pylist()
    return rows


def test_a_change_is_read_as_with_a_schema_where_its_columns_are_declared() -> None:
    table = Table(
        (
            column("id", "int64", optional=False),
            column("price", "bytes", logical=CONNECT_DECIMAL, parameters=DECIMAL),
            column("day", "int32", logical="io.debezium.time.Date"),
        )
    )
    row = {"id": 1, "price": decimal(150), "day": 19782}
    messages = [
        insert(row, table=table, offset=1),
        delete({"id": 2}, table=table, offset=2),
        truncate(table=table, offset=3),
    ]
    (schema,) = met(messages)
    plan = plan_of(table.topic, [schema], POSTGRES)
    declared = replace(plan, columns=known_columns(declared=schema.columns))

    told = decode_changes(0, *arrays(messages), plan)
    untold = decode_changes(
        0, *arrays([without_schemas(message) for message in messages]), declared
    )

    assert untold.table == told.table
    assert untold.truncates == told.truncates
    assert pa.concat_tables(untold.changes).equals(pa.concat_tables(told.changes))


def test_an_inferred_schema_says_so() -> None:
    (schema,) = met([without_schemas(insert({"id": 1, "name": "x"}))])

    assert schema == SourceSchema(
        (SourceColumn("id", SourceType("int64")), SourceColumn("name", SourceType("string"))),
        ("id",),
        inferred=True,
    )


def test_deletes_alone_tell_of_the_key() -> None:
    message = change("d", None, None, key={"id": 7})

    (schema,) = met([without_schemas(message)])

    assert schema.key == ("id",)
    assert [column.name for column in schema.columns] == ["id"]


def inferred_plan(*messages: Message) -> DecodePlan:
    """Plan a topic whose table was made of what its messages were guessed to be."""
    (schema,) = met(messages)
    plan = plan_of(messages[0].topic, [schema], POSTGRES)
    return replace(plan, columns=known_columns(inferred=schema.columns))


def test_a_table_made_by_inference_takes_every_later_change() -> None:
    plan = inferred_plan(without_schemas(insert({"id": 1, "name": "x"})))
    later = [
        without_schemas(insert({"id": 2, "name": None}, offset=1)),
        without_schemas(insert({"id": 3, "name": 5}, offset=2)),
        without_schemas(delete({"id": 1, "name": None}, offset=3)),
        without_schemas(change("d", None, None, key={"id": 2}, offset=4)),
    ]

    found = decoded_rows(later, plan)

    assert [(row["id"], row["name"]) for row in found] == [
        (2, None),
        (3, "5"),
        (1, None),
        (2, None),
    ]


def test_a_table_made_by_inference_hears_of_a_new_column() -> None:
    plan = inferred_plan(without_schemas(insert({"id": 1, "name": "x"})))
    message = without_schemas(insert({"id": 2, "name": "y", "more": 1.5}, offset=1))

    decoded = decode_changes(0, *arrays([message]), plan)

    (schema,) = decoded.new_schemas
    assert schema.inferred
    assert schema.columns[-1] == SourceColumn("more", SourceType("double"))


def test_a_value_that_does_not_fit_goes_into_quarantine_with_its_offset() -> None:
    plan = inferred_plan(without_schemas(insert({"id": 1, "name": True})))
    messages = [
        without_schemas(insert({"id": n, "name": False if n != 12 else "no"}, offset=n))
        for n in range(40)
    ]

    decoded = decode_changes(0, *arrays(messages), plan)

    assert [record.offset for record in decoded.bad_records] == [12]
    assert sum(len(part) for part in decoded.changes) == 39


def test_one_message_without_a_schema_among_others_is_not_guessed_at() -> None:
    (schema,) = met([insert({"id": 1, "name": "x"})])
    plan = plan_of(ORDERS.topic, [schema], POSTGRES)
    stray = without_schemas(insert({"id": 2, "name": "y"}, offset=1))

    decoded = decode_changes(0, *arrays([stray]), replace(plan, columns=INFERRED))

    assert [(bad.offset, bad.reason) for bad in decoded.bad_records] == [(1, "it has no schema")]


def test_a_key_without_a_schema_beside_a_value_with_one_has_the_rows_types() -> None:
    table = Table(
        (
            column(
                "id",
                "bytes",
                optional=False,
                logical=CONNECT_DECIMAL,
                parameters=DECIMAL,
            ),
        )
    )
    messages = [
        insert({"id": decimal(150)}, table=table, offset=1),
        delete({"id": decimal(250)}, table=table, offset=2),
    ]
    (schema,) = met(messages)
    plan = plan_of(table.topic, [schema], POSTGRES)
    mixed = [replace(message, key=without_schemas(message).key) for message in messages]

    assert decoded_rows(mixed, plan) == decoded_rows(messages, plan)


def test_flat_rows_without_a_schema_are_recognised_by_what_was_added() -> None:
    flat = [
        Message(
            ORDERS.topic,
            0,
            n,
            _written({"id": n}),
            _written({"id": n, "name": "x", "__deleted": deleted, "__op": op, "__lsn": n}),
        )
        for n, (op, deleted) in enumerate([("c", "false"), ("u", "false"), ("d", "true")])
    ]

    (schema,) = met(flat)
    plan = plan_of(ORDERS.topic, [schema], POSTGRES)
    found = decoded_rows(flat, replace(plan, columns=known_columns(inferred=schema.columns)))

    assert schema.form is Form.FLAT
    assert [column.name for column in schema.columns] == ["id", "name"]
    assert [(row["id"], row["name"], row["_mirror_op"]) for row in found] == [
        (0, "x", "c"),
        (1, "x", "u"),
        (2, None, "d"),
    ]


def test_documents_without_a_schema_are_rows_of_key_and_text() -> None:
    source = {"version": "3", "connector": "mongodb", "name": "m", "db": "d", "collection": "c"}
    value = {"before": None, "after": '{"_id": 1}', "source": {**source, "ord": 1}, "op": "c"}
    message = Message("m.d.c", 0, 0, _written({"id": "1"}), _written({**value, "ts_ms": 5}))
    plan = DecodePlan("m.d.c", MONGODB)

    decoded = decode_changes(0, *arrays([message]), plan)

    (schema,) = decoded.new_schemas
    assert schema.form is Form.DOCUMENT
    assert not schema.inferred
    assert [column.name for column in schema.columns] == ["id", "document"]
