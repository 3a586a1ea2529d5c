"""Messages of all six databases, laid out as Debezium's documentation and sources describe them.

None of them is a recording: SQL Server, Oracle and MongoDB have no server here to record from. The
order of the fields, their types and the names of the schemas are those of Debezium 3.6, and the
values those of its examples: the table `customers`, whose row 1004 belongs to Anne Kretchmar.

`event` and `document_event` make the record of one change, at the nth place of the database's log;
`tombstone` what follows a delete; `life_of_rows` a snapshot row, an insert, an update, a delete and
a change of the key, with the rows that are left of them.
"""

import json
from dataclasses import replace
from typing import Any

from tests.unit.connector_sources import (
    MOMENT,
    SOURCES,
    moments,
    source_schema,
    source_values,
    texts,
)
from tests.unit.messages import Block, Message, Row, column

JSON_TEXT = "io.debezium.data.Json"
CUSTOMERS = (
    column("id", "int32", optional=False),
    column("first_name", "string", optional=False),
    column("last_name", "string", optional=False),
    column("email", "string", optional=False),
)
ANNE = {
    "id": 1004,
    "first_name": "Anne",
    "last_name": "Kretchmar",
    "email": "annek@noanswer.org",
}
UPDATE_DESCRIPTION = "io.debezium.connector.mongodb.changestream.updatedescription"
TRUNCATED_ARRAY = "io.debezium.connector.mongodb.changestream.truncatedarray"


def event(
    dialect: str,
    op: str,
    n: int,
    *,
    before: Row | None = None,
    after: Row | None = None,
    key: Row | None = None,
    columns: tuple[Block, ...] = CUSTOMERS,
    key_columns: tuple[str, ...] = ("id",),
) -> Message:
    """Make the record of a change of a row, at the nth place of the log and at offset n.

    Args:
        dialect: The database.
        op: c, u, d, r or t; an r is a row that the snapshot read.
        n: Which change of the topic it is.
        before: The row before the change, or None.
        after: The row after the change, or None.
        key: The key's values; by default those of the row. A truncate has none.
        columns: The table's columns.
        key_columns: Those of its key.
    """
    source = SOURCES[dialect]
    row = after if after is not None else before
    if key is None and row is not None:
        key = {name: row[name] for name in key_columns}
    struct = column("", "struct", fields=list(columns), logical=f"{source.topic}.Value")
    struct.pop("version")
    payload = {
        "before": before,
        "after": after,
        "source": source_values(source, n, snapshot=op == "r"),
        "transaction": None,
        "op": op,
        **moments(MOMENT + 3_000),
    }
    fields = [
        {**struct, "field": "before"},
        {**struct, "field": "after"},
        source_schema(source),
        _transaction(),
        column("op", "string", optional=False),
        *(column(name, "int64") for name in moments(0)),
    ]
    key_fields = [block for block in columns if block["field"] in key_columns]
    return Message(
        source.topic,
        0,
        n,
        None if key is None else _with_schema(key, key_fields, f"{source.topic}.Key"),
        _with_schema(payload, fields, f"{source.topic}.Envelope", version=2),
    )


def document_event(
    op: str,
    n: int,
    id_: str,
    *,
    before: str | None = None,
    after: str | None = None,
    updated: str | None = None,
) -> Message:
    """Make the record of a change of a MongoDB document.

    Args:
        op: c, u, d or r.
        n: Which change of the topic it is.
        id_: The document's `_id` as JSON text: 1004, a quoted text, or an object.
        before: The document's JSON text before the change, where pre-images are on.
        after: That after the change, where the capture mode asks for it.
        updated: What an update changed, as JSON text.
    """
    source = SOURCES["mongodb"]
    description = {"removedFields": None, "updatedFields": updated, "truncatedArrays": None}
    payload = {
        "before": before,
        "after": after,
        "updateDescription": description if op == "u" else None,
        "source": source_values(source, n, snapshot=op == "r"),
        "op": op,
        "ts_ms": MOMENT + 3_000,
        "transaction": None,
    }
    fields = [
        column("before", "string", logical=JSON_TEXT),
        column("after", "string", logical=JSON_TEXT),
        _update_description(),
        source_schema(source),
        column("op", "string"),
        column("ts_ms", "int64"),
        _transaction(),
    ]
    return Message(
        source.topic,
        0,
        n,
        document_key(id_),
        _with_schema(payload, fields, f"{source.topic}.Envelope"),
    )


def document_key(id_: str) -> bytes:
    """Write the key of a MongoDB document's messages."""
    name = f"{SOURCES['mongodb'].topic}.Key"
    return _with_schema({"id": id_}, list(texts("id", optional=False)), name)


def tombstone(deleted: Message) -> Message:
    """Make the record that follows a delete."""
    return replace(deleted, offset=deleted.offset + 1, value=None)


def without_schemas(message: Message) -> Message:
    """Give a record as a converter with schemas.enable=false writes it."""
    key, value = (
        None if part is None else _json(json.loads(part)["payload"])
        for part in (message.key, message.value)
    )
    return replace(message, key=key, value=value)


def unwrapped(message: Message) -> Message:
    """Give a record as ExtractNewRecordState writes it, deletes rewritten and the op added."""
    if message.value is None:
        return message
    parts = json.loads(message.value)
    whole, change = parts["schema"], parts["payload"]
    (row,) = (field for field in whole["fields"] if field["field"] == "after")
    added = {"__deleted": "true" if change["op"] == "d" else "false", "__op": change["op"]}
    fields = [*row["fields"], *texts(*added)]
    payload = {**(change["after"] or change["before"]), **added}
    return replace(message, value=_with_schema(payload, fields, row["name"]))


def life_of_rows(dialect: str) -> tuple[list[Message], list[dict[str, Any]]]:
    """Give the changes that every database knows, and the rows that are left of them."""
    if dialect == "mongodb":
        return _life_of_documents()
    bob = {**ANNE, "id": 1005, "first_name": "Bob"}
    married = {**ANNE, "last_name": "Smith"}
    moved = {**married, "id": 1006}
    deleted = event(dialect, "d", 4, before=bob)
    old_key = event(dialect, "d", 6, before=married)
    messages = [
        event(dialect, "r", 1, after=ANNE),
        event(dialect, "c", 2, after=bob),
        event(dialect, "u", 3, before=ANNE, after=married),
        deleted,
        tombstone(deleted),
        old_key,
        tombstone(old_key),
        event(dialect, "c", 8, after=moved),
    ]
    return messages, [moved]


def _life_of_documents() -> tuple[list[Message], list[dict[str, Any]]]:
    anne = '{"_id": {"$numberLong": "1004"},"first_name": "Anne"}'
    marie = '{"_id": {"$numberLong": "1004"},"first_name": "Anne Marie"}'
    bob = '{"_id": {"$oid": "596e275826f08b2730779e1f"},"first_name": "Bob"}'
    bob_id = '{"$oid": "596e275826f08b2730779e1f"}'
    deleted = document_event("d", 4, bob_id)
    messages = [
        document_event("r", 1, "1004", after=anne),
        document_event("c", 2, bob_id, after=bob),
        document_event("u", 3, "1004", after=marie, updated='{"first_name": "Anne Marie"}'),
        deleted,
        tombstone(deleted),
    ]
    return messages, [{"id": "1004", "document": marie}]


def _update_description() -> Block:
    truncated = {
        "type": "struct",
        "fields": [
            column("field", "string", optional=False),
            column("size", "int32", optional=False),
        ],
        "optional": False,
        "name": TRUNCATED_ARRAY,
        "version": 1,
    }
    names = {"type": "string", "optional": False}
    fields = [
        column("removedFields", "array", items=names),
        column("updatedFields", "string", logical=JSON_TEXT),
        column("truncatedArrays", "array", items=truncated),
    ]
    return column("updateDescription", "struct", logical=UPDATE_DESCRIPTION, fields=fields)


def _transaction() -> Block:
    orders = (
        column(name, "int64", optional=False) for name in ("total_order", "data_collection_order")
    )
    fields = [column("id", "string", optional=False), *orders]
    return column("transaction", "struct", logical="event.block", fields=fields)


def _with_schema(payload: Row, fields: list[Block], name: str, **more: Any) -> bytes:
    schema = {"type": "struct", "fields": fields, "optional": False, "name": name, **more}
    return _json({"schema": schema, "payload": payload})


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
