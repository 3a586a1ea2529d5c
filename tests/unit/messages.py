"""Debezium messages for tests: JSON with schemas, laid out exactly as Kafka Connect does.

A `Table` says what a source table looks like; `change` and its short forms make the record that
Debezium would write for one change of it, with the offset and the log position that the test asks
for. Row values are Debezium's own: base64 for bytes and decimals, numbers for dates and times (see
`base64_of` and `decimal`).

    ORDERS = Table((column("id", "int64", optional=False), column("note", "string")))
    insert({"id": 1, "note": "new"}, table=ORDERS, offset=7, lsn=100)

`read_recorded` gives the real messages of tests/recorded, `arrays` and `record_batch` what Spark
would hand on, `planned` the decoder's plan once the driver has made the table, and `final_rows` the
rows that are left in it.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from cdc.collapse import after_cutoff, collapse
from cdc.config import ResolvedRule
from cdc.decode import DecodePlan, TargetTable, decode_changes
from cdc.dialect import Dialect
from cdc.model import RESERVED, SourceSchema
from cdc.schema import arrow_schema, iceberg_schema, mirror_columns, source_schema

RECORDED = Path(__file__).parents[1] / "recorded"
CONNECT_DECIMAL = "org.apache.kafka.connect.data.Decimal"
PRECISION = "connect.decimal.precision"

# When the source made every change: in microseconds, and in the milliseconds that messages have.
MADE_AT = 1_700_000_000_000_000
MILLISECONDS = MADE_AT // 1000

Block = dict[str, Any]  # a schema block of Kafka Connect
Row = Mapping[str, Any]


def column(
    name: str,
    kind: str = "int32",
    *,
    optional: bool = True,
    logical: str | None = None,
    parameters: Mapping[str, str] | None = None,
    **more: Any,
) -> Block:
    """Describe a column; `more` are the parts of an array (items=) or a struct (fields=)."""
    block: Block = {"type": kind, **more, "optional": optional}
    if logical is not None:
        block |= {"name": logical, "version": 1}
    if parameters is not None:
        block["parameters"] = dict(parameters)
    return {**block, "field": name}


def decimal_column(name: str, precision: int, scale: int, *, optional: bool = True) -> Block:
    """Describe a column of type numeric(precision, scale)."""
    parameters = {"scale": str(scale), PRECISION: str(precision)}
    return column(name, "bytes", optional=optional, logical=CONNECT_DECIMAL, parameters=parameters)


def base64_of(value: bytes) -> str:
    """Write bytes as JSON carries them."""
    return base64.b64encode(value).decode()


def decimal(unscaled: int) -> str:
    """Write the unscaled value of a decimal as Connect does: big-endian, as short as it fits."""
    width = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return base64_of(unscaled.to_bytes(width, "big", signed=True))


@dataclass(frozen=True, slots=True)
class Message:
    """One record of a Kafka topic."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Table:
    """A source table as its messages describe it; without key columns messages have no key."""

    columns: tuple[Block, ...] = (
        column("id", "int64", optional=False),
        column("name", "string"),
    )
    key: tuple[str, ...] = ("id",)
    name: str = "orders"
    schema: str = "public"
    database: str = "shop"
    server: str = "srv"
    connector: str = "postgresql"

    @property
    def topic(self) -> str:
        """The topic that Debezium would write to; databases without schemas name themselves."""
        middle = self.schema if self.connector == "postgresql" else self.database
        return f"{self.server}.{middle}.{self.name}"


ORDERS = Table()


def change(
    op: str,
    before: Row | None,
    after: Row | None,
    *,
    table: Table = ORDERS,
    offset: int = 0,
    lsn: int | None = None,
    partition: int = 0,
    key: Row | None = None,
    source: Row | None = None,
) -> Message:
    """Make the record of one change.

    Args:
        op: c, u, d, r or t; any other text is written as it is.
        before: The row before the change, or None.
        after: The row after the change, or None.
        table: The table that the change belongs to.
        offset: The record's Kafka offset.
        lsn: The change's place in the source's log; by default 1000 more than the offset.
        partition: The record's Kafka partition.
        key: The key's values; by default those of the row. A truncate has none.
        source: Fields of the source block to write differently.
    """
    if key is None and op != "t":
        row = after if after is not None else before or {}
        key = {name: row.get(name) for name in table.key}
    values = source_values(table, lsn if lsn is not None else 1000 + offset) | dict(source or {})
    payload = {
        "before": before,
        "after": after,
        "source": values,
        "transaction": None,
        "op": op,
        "ts_ms": 1_700_000_000_000,
        "ts_us": 1_700_000_000_000_000,
        "ts_ns": 1_700_000_000_000_000_000,
    }
    return Message(
        table.topic,
        partition,
        offset,
        _json({"schema": key_schema(table), "payload": key}) if table.key and key else None,
        _json({"schema": envelope_schema(table), "payload": payload}),
    )


def insert(row: Row, **where: Any) -> Message:
    """Make the record of an insert; `where` as in `change`."""
    return change("c", None, row, **where)


def update(row: Row, **where: Any) -> Message:
    """Make the record of an update."""
    return change("u", None, row, **where)


def delete(row: Row, **where: Any) -> Message:
    """Make the record of a delete; the row may be its key alone."""
    return change("d", row, None, **where)


def snapshot_row(row: Row, **where: Any) -> Message:
    """Make the record of a row that the connector's snapshot read."""
    return change("r", None, row, **where)


def truncate(**where: Any) -> Message:
    """Make the record of a truncate."""
    return change("t", None, None, **where)


def tombstone(key: Row, *, table: Table = ORDERS, offset: int = 0, partition: int = 0) -> Message:
    """Make the record that follows a delete, so that compaction can forget the key."""
    text = _json({"schema": key_schema(table), "payload": key})
    return Message(table.topic, partition, offset, text, None)


def key_schema(table: Table) -> Block:
    """Describe a table's keys."""
    blocks = {block["field"]: block for block in table.columns}
    name = f"{table.topic}.Key"
    fields = [blocks[column] for column in table.key]
    return {"type": "struct", "fields": fields, "optional": False, "name": name}


def envelope_schema(table: Table) -> Block:
    """Describe the values of a table's topic."""
    row = {"type": "struct", "fields": list(table.columns), "optional": True}
    named = {**row, "name": f"{table.topic}.Value"}
    transaction = [
        column("id", "string", optional=False),
        column("total_order", "int64", optional=False),
        column("data_collection_order", "int64", optional=False),
    ]
    fields = [
        {**named, "field": "before"},
        {**named, "field": "after"},
        _source_schema(table),
        column("transaction", "struct", logical="event.block", fields=transaction),
        column("op", "string", optional=False),
        column("ts_ms", "int64"),
        column("ts_us", "int64"),
        column("ts_ns", "int64"),
    ]
    name = f"{table.topic}.Envelope"
    return {"type": "struct", "fields": fields, "optional": False, "name": name, "version": 2}


def source_values(table: Table, lsn: int) -> Block:
    """Fill a source block; a binary log's file stays the same and `lsn` is the place in it."""
    common = {
        "version": "3.6.1.Final",
        "connector": table.connector,
        "name": table.server,
        "ts_ms": MILLISECONDS,
        "snapshot": "false",
        "db": table.database,
    }
    if table.connector == "postgresql":
        return {**common, "schema": table.schema, "table": table.name, "txId": 1, "lsn": lsn}
    return {**common, "table": table.name, "server_id": 1, "file": "binlog.000001", "pos": lsn}


def without_schemas(message: Message) -> Message:
    """Give a record as schemas.enable=false writes it."""
    key, value = (
        None if part is None else _json(json.loads(part)["payload"])
        for part in (message.key, message.value)
    )
    return Message(message.topic, message.partition, message.offset, key, value)


def read_recorded(file: str) -> dict[str, list[Message]]:
    """Read a file of recorded messages, by topic."""
    topics: dict[str, list[Message]] = {}
    with (RECORDED / file).open() as lines:
        for line in lines:
            raw = json.loads(line)
            key, value = (
                None if raw[part] is None else base64.b64decode(raw[part])
                for part in ("key", "value")
            )
            record = Message(raw["topic"], raw["partition"], raw["offset"], key, value)
            topics.setdefault(record.topic, []).append(record)
    return topics


def arrays(messages: Sequence[Message]) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Give the offsets, keys and values of messages as the decoder takes them."""
    return (
        pa.array([message.offset for message in messages], pa.int64()),
        pa.array([message.key for message in messages], pa.binary()),
        pa.array([message.value for message in messages], pa.binary()),
    )


def record_batch(messages: Sequence[Message]) -> pa.RecordBatch:
    """Give messages as the record batch that Spark hands to a write task."""
    offsets, keys, values = arrays(messages)
    return pa.RecordBatch.from_pydict(
        {
            "topic": pa.array([message.topic for message in messages], pa.string()),
            "partition": pa.array([message.partition for message in messages], pa.int32()),
            "offset": offsets,
            "key": keys,
            "value": values,
        }
    )


def planned(
    messages: Sequence[Message], dialect: Dialect, rule: ResolvedRule | None = None
) -> DecodePlan:
    """Plan a topic as after its table was made from the first schema and has met all others."""
    topic = messages[0].topic
    unplanned = DecodePlan(topic, dialect)
    met = decode_changes(messages[0].partition, *arrays(messages), unplanned).new_schemas
    return plan_of(topic, met, dialect, rule)


def plan_of(
    topic: str,
    schemas: Iterable[SourceSchema],
    dialect: Dialect,
    rule: ResolvedRule | None = None,
) -> DecodePlan:
    """Plan a topic whose table was made from the first of its schemas."""
    known = tuple(schemas)
    columns = mirror_columns(known[0], topic, dialect, rule)
    schema = source_schema(arrow_schema(iceberg_schema(columns, rule), topic))
    key = tuple(column.name for column in columns if column.key)
    return DecodePlan(
        topic,
        dialect,
        table=TargetTable(
            schema,
            frozenset(known),
            key=key,
            config_key=rule.key if rule is not None else (),
        ),
    )


def final_rows(messages: list[Message], plan: DecodePlan) -> list[dict[str, Any]]:
    """Give the rows in which one partition of a topic leaves its table, sorted by key."""
    assert plan.table is not None
    decoded = decode_changes(0, *arrays(messages), plan)
    changes = pa.concat_tables(decoded.changes, promote_options="default")
    if decoded.truncates:
        changes = after_cutoff(changes, 0, decoded.truncates[-1])
    key = list(plan.key)
    live = collapse(changes, key, None, empty=False).rows
    rows = live.drop([name for name in live.column_names if name.startswith(RESERVED)]).to_pylist()
    return sorted(rows, key=lambda row: [str(row[name]) for name in key])


def _source_schema(table: Table) -> Block:
    fields = [
        column("version", "string", optional=False),
        column("connector", "string", optional=False),
        column("name", "string", optional=False),
        column("ts_ms", "int64", optional=False),
        column("snapshot", "string"),
        column("db", "string", optional=False),
    ]
    if table.connector == "postgresql":
        fields += [
            column("schema", "string", optional=False),
            column("table", "string", optional=False),
            column("sequence", "string"),
            column("txId", "int64"),
            column("lsn", "int64"),
        ]
    else:
        fields += [
            column("table", "string"),
            column("server_id", "int64", optional=False),
            column("file", "string", optional=False),
            column("pos", "int64", optional=False),
        ]
    name = f"io.debezium.connector.{table.connector}.Source"
    return column("source", "struct", optional=False, logical=name, fields=fields)


def _json(value: Block) -> bytes:
    """Write as the converter does: no space anywhere, every letter as it is."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
