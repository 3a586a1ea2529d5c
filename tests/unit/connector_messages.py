"""Messages of all six databases, laid out as Debezium's documentation and sources describe them.

None of them is a recording: SQL Server, Oracle and MongoDB have no server here to record from. The
order of the fields, their types and the names of the schemas are those of Debezium 3.6, and the
values those of its examples: the table `customers`, whose row 1004 belongs to Anne Kretchmar.

`event` and `document_event` make the record of one change, at the nth place of the database's log;
`tombstone` what follows a delete; `life_of_rows` a snapshot row, an insert, an update, a delete and
a change of the key, with the rows that are left of them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cdc.model import SourceTable
from tests.unit.messages import Block, Message, Row, column

SERVER = "server1"
JSON_TEXT = "io.debezium.data.Json"
MOMENT = 1_559_729_468_470  # milliseconds
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


@dataclass(frozen=True)
class Source:
    """How one database's messages name their table and their place in its log."""

    connector: str
    schema: str
    own: tuple[Block, ...]  # the fields of the source block behind those that all databases have
    names: Mapping[str, str]  # of the source block, such as db and table
    topic: str
    table: SourceTable
    place: Callable[[int], dict[str, Any]]
    snapshot_place: dict[str, Any]


def _texts(*names: str, optional: bool = True) -> tuple[Block, ...]:
    return tuple(column(name, "string", optional=optional) for name in names)


def _binary_log(connector: str) -> Source:
    return Source(
        connector=connector,
        schema=f"io.debezium.connector.{connector}.Source",
        own=(
            column("table", "string"),
            column("server_id", "int64", optional=False),
            column("gtid", "string"),
            column("file", "string", optional=False),
            column("pos", "int64", optional=False),
            column("row", "int32", optional=False),
            column("thread", "int64"),
            column("query", "string"),
        ),
        names={"db": "inventory", "table": "customers"},
        topic=f"{SERVER}.inventory.customers",
        table=SourceTable(SERVER, "inventory", "inventory", "customers"),
        place=lambda n: {"server_id": 1, "file": "binlog.000003", "pos": 154 + n, "row": 0},
        snapshot_place={"server_id": 0, "file": "binlog.000003", "pos": 154, "row": 0},
    )


SOURCES = {
    "postgres": Source(
        connector="postgresql",
        schema="io.debezium.connector.postgresql.Source",
        own=(
            *_texts("schema", "table", optional=False),
            *(column(name, "int64") for name in ("txId", "lsn", "xmin")),
        ),
        names={"db": "testDB", "schema": "public", "table": "customers"},
        topic=f"{SERVER}.public.customers",
        table=SourceTable(SERVER, "testDB", "public", "customers"),
        place=lambda n: {"txId": 555, "lsn": 24_023_128 + n},
        snapshot_place={"txId": 554, "lsn": 24_023_128},
    ),
    "mysql": _binary_log("mysql"),
    "mariadb": _binary_log("mariadb"),
    "sqlserver": Source(
        connector="sqlserver",
        schema="io.debezium.connector.sqlserver.Source",
        own=(
            *_texts("schema", "table", optional=False),
            *_texts("change_lsn", "commit_lsn"),
            column("event_serial_no", "int64"),
        ),
        names={"db": "testDB", "schema": "dbo", "table": "customers"},
        topic=f"{SERVER}.testDB.dbo.customers",
        table=SourceTable(SERVER, "testDB", "dbo", "customers"),
        place=lambda n: {
            "change_lsn": f"00000027:{0x758 + 8 * n:08x}:0003",
            "commit_lsn": f"00000027:{0x758 + 8 * n:08x}:0005",
            "event_serial_no": 1,
        },
        snapshot_place={"commit_lsn": "00000027:00000758:0001"},
    ),
    "oracle": Source(
        connector="oracle",
        schema="io.debezium.connector.oracle.Source",
        own=(
            *_texts("schema", "table", optional=False),
            *_texts("txId", "scn", "commit_scn", "lcr_position", "rs_id"),
            column("ssn", "int64"),
            column("redo_thread", "int32"),
            *_texts("user_name", "redo_sql", "row_id"),
            column("commit_ts_ms", "int64"),
            column("start_scn", "string"),
            column("start_ts_ms", "int64"),
            column("txSeq", "int64"),
        ),
        names={"db": "ORCLPDB1", "schema": "DEBEZIUM", "table": "CUSTOMERS"},
        topic=f"{SERVER}.DEBEZIUM.CUSTOMERS",
        table=SourceTable(SERVER, "ORCLPDB1", "DEBEZIUM", "CUSTOMERS"),
        place=lambda n: {
            "txId": "06001c0027030000",
            "scn": str(2_122_185 - n),  # those of the changes themselves interleave
            "commit_scn": str(2_122_185 + n),
            "rs_id": "001234.00012345.0124",
            "ssn": 1,
            "redo_thread": 1,
            "user_name": "user",
            "row_id": "AAASgjAAMAAAACnAAA",
            "commit_ts_ms": MOMENT,
            "start_scn": "2122100",
            "start_ts_ms": MOMENT,
            "txSeq": n,
        },
        snapshot_place={"scn": "2122185", "ssn": 0},
    ),
    "mongodb": Source(
        connector="mongodb",
        schema="io.debezium.connector.mongo.Source",
        own=(
            column("collection", "string", optional=False),
            column("ord", "int32", optional=False),
            column("lsid", "string"),
            column("txnNumber", "int64"),
            column("wallTime", "int64"),
        ),
        names={"db": "inventory", "collection": "customers"},
        topic=f"{SERVER}.inventory.customers",
        table=SourceTable(SERVER, "inventory", "inventory", "customers"),
        place=lambda n: {"ts_ms": MOMENT + n, "ord": 31, "wallTime": MOMENT + n},
        snapshot_place={"ts_ms": MOMENT, "ord": -1},
    ),
}


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
        **_moments(MOMENT + 3_000),
    }
    fields = [
        {**struct, "field": "before"},
        {**struct, "field": "after"},
        source_schema(source),
        _transaction(),
        column("op", "string", optional=False),
        *(column(name, "int64") for name in _moments(0)),
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
    return _with_schema({"id": id_}, list(_texts("id", optional=False)), name)


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


def source_values(source: Source, n: int, *, snapshot: bool) -> dict[str, Any]:
    """Fill the source block of the nth change."""
    fields = [block["field"] for block in source_schema(source)["fields"]]
    common = {
        "version": "3.6.1.Final",
        "connector": source.connector,
        "name": SERVER,
        "snapshot": "true" if snapshot else "false",
        **_moments(MOMENT),
    }
    place = source.snapshot_place if snapshot else source.place(n)
    return dict.fromkeys(fields) | common | dict(source.names) | place


def source_schema(source: Source) -> Block:
    """Describe the source block."""
    marks = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
    snapshot = column(
        "snapshot", "string", logical="io.debezium.data.Enum", parameters={"allowed": marks}
    )
    fields = [
        *_texts("version", "connector", "name", optional=False),
        column("ts_ms", "int64", optional=False),
        {**snapshot, "default": "false"},
        column("db", "string", optional=False),
        column("sequence", "string"),
        column("ts_us", "int64"),
        column("ts_ns", "int64"),
        *source.own,
    ]
    return column("source", "struct", optional=False, logical=source.schema, fields=fields)


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


def _moments(millis: int) -> dict[str, int]:
    return {"ts_ms": millis, "ts_us": millis * 1_000, "ts_ns": millis * 1_000_000}


def _with_schema(payload: Row, fields: list[Block], name: str, **more: Any) -> bytes:
    schema = {"type": "struct", "fields": fields, "optional": False, "name": name, **more}
    return _json({"schema": schema, "payload": payload})


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
