"""One chunk of a topic partition's records to an Arrow table of changes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.connect_schema import SchemaBlockError, columns_of
from cdc.decode.json_messages import NO_SCHEMA, MessageError, group_by_schema, read_payloads
from cdc.decode.unavailable import unavailable
from cdc.decode.values import convert, raw_type, readable
from cdc.dialect import Dialect
from cdc.errors import (
    AvroTopicError,
    ManyTablesError,
    MirrorError,
    MissingValueError,
    NotDebeziumError,
    SchemalessTopicError,
    UnfitValueError,
)
from cdc.model import (
    NO_POSITION,
    OFFSET,
    OP,
    POSITION,
    Op,
    SourceColumn,
    SourceSchema,
    SourceTable,
    Truncate,
)

AVRO_MAGIC = 0
ENVELOPE_FIELDS = frozenset({"after", "source", "op"})
Rows = np.ndarray[Any, np.dtype[np.int64]]
ROW_OPS = pa.array([Op.CREATE, Op.UPDATE, Op.DELETE, Op.READ], pa.string())


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """What the decoder knows of a topic; a table not created yet has no schema."""

    topic: str
    dialect: Dialect
    schema: pa.Schema | None
    known: frozenset[SourceSchema]


@dataclass(frozen=True, slots=True)
class DecodedChanges:
    """The changes of one chunk; `changes` is absent where something new was met."""

    table: SourceTable | None = None
    changes: tuple[pa.Table, ...] = ()
    new_schemas: tuple[SourceSchema, ...] = ()
    truncates: tuple[Truncate, ...] = ()
    tombstones: int = 0


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The records of a chunk that carry a value, one array per part."""

    partition: int
    offsets: pa.Array
    keys: pa.Array
    values: pa.Array


def decode_changes(
    partition: int, offsets: pa.Array, keys: pa.Array, values: pa.Array, plan: DecodePlan
) -> DecodedChanges:
    """Decode a chunk of one topic partition, in the order of its offsets.

    Raises:
        MirrorError: A record cannot be read; the error names its offset.
    """
    tombstones = values.null_count
    if tombstones:
        present = values.is_valid()
        offsets, keys, values = (part.filter(present) for part in (offsets, keys, values))
    chunk = _Chunk(partition, offsets, keys, values)
    tables: set[SourceTable] = set()
    schemas: dict[SourceSchema, None] = {}
    changes: list[pa.Table] = []
    truncates: list[Truncate] = []
    try:
        for group in group_by_schema(values):
            rows = pa.array(group.rows)
            columns = _row_columns(group.schema, int(group.rows[0]))
            envelope = _read_envelope(group.payloads, columns, group.rows, plan.dialect)
            tables |= _source_tables(envelope, plan.dialect, group.rows)
            op = envelope["op"].chunk(0)
            position = _positions(envelope, plan.dialect, group.rows)
            is_truncate = pc.equal(op, Op.TRUNCATE)
            if pc.any(is_truncate).as_py():
                truncates += _truncates(chunk, rows, is_truncate, position)
            for key, members in _by_key_columns(chunk, group.rows, is_truncate):
                schema = SourceSchema(columns, key)
                schemas[schema] = None
                if plan.schema is None or schema not in plan.known:
                    continue
                part = pa.array(members)
                after = envelope["after"].chunk(0).take(part)
                taken = rows.take(part)
                changes.append(
                    _change_table(
                        chunk, plan, schema, taken, after, op.take(part), position.take(part)
                    )
                )
    except MessageError as error:
        raise _named(error, chunk, plan.topic) from error
    if len(tables) > 1:
        raise ManyTablesError(plan.topic, tuple(sorted(str(table) for table in tables)))
    new = tuple(schema for schema in schemas if schema not in plan.known)
    return DecodedChanges(
        table=next(iter(tables), None),
        changes=() if new or plan.schema is None else tuple(changes),
        new_schemas=new,
        truncates=tuple(truncates),
        tombstones=tombstones,
    )


def _named(error: MessageError, chunk: _Chunk, topic: str) -> MirrorError:
    offset = chunk.offsets[error.row].as_py()
    if (chunk.values[error.row].as_py() or b"x")[0] == AVRO_MAGIC:
        return AvroTopicError(topic, chunk.partition, offset)
    if error.reason == NO_SCHEMA:
        return SchemalessTopicError(topic, chunk.partition, offset)
    return NotDebeziumError(topic, chunk.partition, offset, error.reason)


def _row_columns(schema: Any, row: int) -> tuple[SourceColumn, ...]:
    """Find the table's columns in the envelope's schema block."""
    try:
        parts = {part["field"]: part for part in schema["fields"]}
        if not parts.keys() >= ENVELOPE_FIELDS:
            raise MessageError(row, "it is not a Debezium change")
        return columns_of(parts["after"])
    except (SchemaBlockError, KeyError, TypeError) as error:
        raise MessageError(row, f"its schema cannot be read: {error}") from error


def _read_envelope(
    payloads: pa.Array, columns: tuple[SourceColumn, ...], rows: Rows, dialect: Dialect
) -> pa.Table:
    names = ("name", "db", "table", dialect.schema_field)
    source = dict.fromkeys(names, pa.string()) | {
        name: getattr(pa, kind)() for name, kind in dialect.position_fields.items()
    }
    after = pa.struct([(c.name, raw_type(c.type)) for c in columns if readable(c.type)])
    schema = pa.schema([("op", pa.string()), ("source", pa.struct(source)), ("after", after)])
    try:
        envelope = read_payloads(payloads, schema)
    except MessageError as error:
        raise MessageError(int(rows[error.row]), error.reason) from error
    op = envelope["op"].chunk(0)
    is_row = pc.is_in(op, ROW_OPS)
    known = pc.or_(is_row, pc.fill_null(pc.equal(op, Op.TRUNCATE), False))
    if not pc.all(known).as_py():
        place = pc.index(known, False).as_py()
        reason = f"its op is {op[place].as_py()!r}, which is no change of a row"
        raise MessageError(int(rows[place]), reason)
    has_row = pc.or_(pc.is_valid(envelope["after"].chunk(0)), pc.invert(is_row))
    complete = pc.or_(has_row, pc.equal(op, Op.DELETE))
    if not pc.all(complete).as_py():
        place = pc.index(complete, False).as_py()
        raise MessageError(int(rows[place]), f"its op is {op[place].as_py()!r} but it has no row")
    return envelope


def _source_tables(envelope: pa.Table, dialect: Dialect, rows: Rows) -> set[SourceTable]:
    source = envelope["source"].chunk(0)
    named = pc.is_valid(pc.struct_field(source, "table"))
    if not pc.all(named).as_py():
        place = pc.index(named, False).as_py()
        raise MessageError(int(rows[place]), "its source block names no table")
    parts = [
        pc.fill_null(pc.struct_field(source, name), "")
        for name in ("name", "db", dialect.schema_field, "table")
    ]
    names = ["server", "database", "schema", "table"]
    unique = pa.Table.from_arrays(parts, names).group_by(names, use_threads=False).aggregate([])
    return {SourceTable(**row) for row in unique.to_pylist()}


def _positions(envelope: pa.Table, dialect: Dialect, rows: Rows) -> pa.Array:
    source = envelope["source"].chunk(0)
    fields = {name: pc.struct_field(source, name) for name in dialect.position_fields}
    try:
        return pc.fill_null(dialect.position(fields), NO_POSITION)
    except pa.ArrowException as error:
        raise MessageError(int(rows[0]), f"its source position is none: {error}") from error


def _truncates(
    chunk: _Chunk, rows: pa.Array, is_truncate: pa.Array, position: pa.Array
) -> Iterator[Truncate]:
    offsets = chunk.offsets.take(rows.filter(is_truncate)).to_pylist()
    for offset, place in zip(offsets, position.filter(is_truncate).to_pylist(), strict=True):
        yield Truncate(chunk.partition, offset, place)


def _by_key_columns(
    chunk: _Chunk, rows: Rows, is_truncate: pa.Array
) -> Iterator[tuple[tuple[str, ...], Rows]]:
    """Split a group's changes by the columns of their keys; a truncate has none and is left out."""
    members = np.flatnonzero(~is_truncate.to_numpy(zero_copy_only=False))
    keys = chunk.keys.take(pa.array(rows[members]))
    keyed = keys.is_valid().to_numpy(zero_copy_only=False)
    if not keyed.all():
        yield (), members[~keyed]
    inside = members[keyed]
    try:
        for group in group_by_schema(keys.filter(pa.array(keyed))):
            try:
                names = tuple(column.name for column in columns_of(group.schema))
            except SchemaBlockError as error:
                reason = f"its schema cannot be read: {error}"
                raise MessageError(int(group.rows[0]), reason) from error
            yield names, inside[group.rows]
    except MessageError as error:
        raise MessageError(int(rows[inside[error.row]]), _of_key(error)) from error


def _of_key(error: MessageError) -> str:
    return error.reason if error.reason == NO_SCHEMA else f"of its key: {error.reason}"


def _change_table(
    chunk: _Chunk,
    plan: DecodePlan,
    schema: SourceSchema,
    rows: pa.Array,
    after: pa.Array,
    op: pa.Array,
    position: pa.Array,
) -> pa.Table:
    """Put the changes of one schema into the table's columns; a delete has its key alone."""
    assert plan.schema is not None
    deleted = pc.equal(op, Op.DELETE)
    old_keys = _deleted_keys(chunk, schema, rows.filter(deleted))
    sources = {column.name: column.type for column in schema.columns}
    arrays = []
    for field in plan.schema:
        if field.name not in sources:
            arrays.append(pa.nulls(len(rows), field.type))
            continue
        raw, source = pc.struct_field(after, field.name), sources[field.name]
        if unavailable(raw):
            raise MissingValueError(plan.topic, field.name)
        try:
            values = convert(raw, source, field.type)
            if field.name in old_keys:
                keys = convert(old_keys[field.name], source, field.type)
                values = pc.replace_with_mask(values, deleted, keys)
            arrays.append(values)
        except pa.ArrowException as error:
            first, last = chunk.offsets[0].as_py(), chunk.offsets[-1].as_py()
            raise UnfitValueError(
                plan.topic, chunk.partition, first, last, field.name, str(field.type), str(error)
            ) from error
        if not field.nullable and values.null_count:
            row = rows[pc.index(values.is_valid(), False).as_py()].as_py()
            raise MessageError(row, f"its key column {field.name} has no value")
    names = [*plan.schema.names, OFFSET, OP, POSITION]
    return pa.Table.from_arrays([*arrays, chunk.offsets.take(rows), op, position], names)


def _deleted_keys(chunk: _Chunk, schema: SourceSchema, rows: pa.Array) -> dict[str, pa.Array]:
    """Read the keys of deleted rows from the messages' keys, where they are always whole."""
    if not schema.key or not len(rows):
        return {}
    types = {column.name: column.type for column in schema.columns}
    raw = pa.schema([(name, raw_type(types[name])) for name in schema.key if name in types])
    order, tables = [], []
    for group in group_by_schema(chunk.keys.take(rows)):
        try:
            tables.append(read_payloads(group.payloads, raw))
        except MessageError as error:
            row = rows[int(group.rows[error.row])].as_py()
            raise MessageError(row, _of_key(error)) from error
        order.append(group.rows)
    keys = pa.concat_tables(tables).take(pa.array(np.argsort(np.concatenate(order))))
    return {name: keys[name].combine_chunks() for name in raw.names}
