"""One chunk of a topic partition's records to an Arrow table of changes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.config.type_choices import Otherwise
from cdc.decode.envelope import Layout, RawChanges, layout_of, read_changes
from cdc.decode.fitting import fitted
from cdc.decode.messages import BadMessage, MessageGroup, Rows
from cdc.decode.schemaless import SchemalessGroup
from cdc.decode.unavailable import unavailable
from cdc.decode.values import digests
from cdc.decode.wire import NoRegistryError, Wire, split
from cdc.dialect import Dialect
from cdc.errors import AvroTopicError, ManyTablesError
from cdc.model import (
    MISSING,
    OFFSET,
    OP,
    POSITION,
    TIME,
    BadRecord,
    Declared,
    Form,
    Op,
    SourceColumn,
    SourceSchema,
    SourceTable,
    SourceType,
    Truncate,
)

NO_SCHEMA = "it has no schema"


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """What the decoder knows of a topic; a table not created yet has no schema."""

    topic: str
    dialect: Dialect
    schema: pa.Schema | None
    known: frozenset[SourceSchema]
    wire: Wire = field(default_factory=Wire)
    # What stands in for a value that does not fit, by column.
    otherwise: Mapping[str, Otherwise] = field(default_factory=dict)
    declared: Declared = field(default_factory=Declared)
    hashed: frozenset[str] = frozenset()
    # The key of the table; none where its rows need no key.
    table_key: tuple[str, ...] = ()
    # The key that the config names, where it does: its values come from the row.
    key: tuple[str, ...] = ()

    def has_room(self, schema: SourceSchema) -> bool:
        """Whether the table takes rows of a schema as it is."""
        if self.schema is None:
            return False
        if schema in self.known:
            return True
        # An inferred schema is as long as the columns that had values: too many to know them all.
        guessed = {column.name for column in self.declared.guessed}
        keyed = bool(self.table_key) and not self.key
        return (
            schema.inferred
            and schema.form is Form.ENVELOPE
            and (schema.key == self.table_key or not keyed)
            and all(column.name in guessed for column in schema.columns)
        )

    @property
    def infers(self) -> bool:
        """Whether messages without a schema are read; one among others that have it is a fault."""
        return bool(self.declared.columns) or all(schema.inferred for schema in self.known)

    @property
    def flat(self) -> bool:
        """Whether the topic holds flat rows, of which a tombstone is the only sign of a delete."""
        return any(schema.form is Form.FLAT for schema in self.known)


@dataclass(frozen=True, slots=True)
class DecodedChanges:
    """The changes of one chunk; `changes` is absent where something new was met."""

    table: SourceTable | None = None
    changes: tuple[pa.Table, ...] = ()
    new_schemas: tuple[SourceSchema, ...] = ()
    truncates: tuple[Truncate, ...] = ()
    tombstones: int = 0
    bad: tuple[BadRecord, ...] = ()


def decode_changes(
    partition: int, offsets: pa.Array, keys: pa.Array, values: pa.Array, plan: DecodePlan
) -> DecodedChanges:
    """Decode a chunk of one topic partition, in the order of its offsets.

    A record that cannot be read is given with its reason and never spoils its neighbours.

    Raises:
        MirrorError: The topic as a whole cannot be read.
    """
    chunk = _Chunk(partition, offsets, keys, values, plan)
    try:
        chunk.decode()
    except NoRegistryError as error:
        offset = offsets[error.row].as_py()
        raise AvroTopicError(plan.topic, partition, offset) from error
    if len(chunk.tables) > 1:
        raise ManyTablesError(plan.topic, tuple(sorted(str(table) for table in chunk.tables)))
    new = tuple(schema for schema in chunk.schemas if not plan.has_room(schema))
    return DecodedChanges(
        table=next(iter(chunk.tables), None),
        changes=() if new or plan.schema is None else tuple(chunk.changes),
        new_schemas=new,
        truncates=tuple(chunk.truncates),
        tombstones=chunk.tombstones,
        bad=chunk.bad,
    )


class _Chunk:
    """The records of a chunk, and what has been made of them."""

    def __init__(
        self, partition: int, offsets: pa.Array, keys: pa.Array, values: pa.Array, plan: DecodePlan
    ) -> None:
        self.partition, self.offsets, self.keys, self.values = partition, offsets, keys, values
        self.plan = plan
        self.tables: set[SourceTable] = set()
        self.schemas: dict[SourceSchema, None] = {}
        self.changes: list[pa.Table] = []
        self.truncates: list[Truncate] = []
        self.tombstones = 0
        self._bad: dict[int, str] = {}  # by row; the first reason is the one that counts

    @property
    def bad(self) -> tuple[BadRecord, ...]:
        """The records that cannot be read, in their order."""
        return tuple(
            BadRecord(self.offsets[row].as_py(), self._bad[row]) for row in sorted(self._bad)
        )

    def decode(self) -> None:
        """Go through the messages, one schema at a time."""
        present = self.values.is_valid().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(present)
        for group in self._split(self.values, rows, self.plan.declared):
            layout = layout_of(group.type)
            if isinstance(group, SchemalessGroup) and group.inferred and not self.plan.infers:
                layout = NO_SCHEMA
            if isinstance(layout, str):
                self._reject(BadMessage(row, layout) for row in group.rows.tolist())
            else:
                self._take(group, layout)
        if not present.all():
            self._take_tombstones(np.flatnonzero(~present))

    def _split(
        self, messages: pa.Array, rows: Rows, declared: Declared, part: str = ""
    ) -> Iterator[MessageGroup]:
        """Split the messages of some rows by schema."""
        if len(rows) != len(messages):
            messages = messages.take(pa.array(rows))
        for item in split(messages, rows, self.plan.wire, declared):
            if isinstance(item, BadMessage):
                self._reject([BadMessage(item.row, part + item.reason)])
            else:
                yield item

    def _split_keys(
        self, rows: Rows, columns: tuple[SourceColumn, ...] = ()
    ) -> Iterator[MessageGroup]:
        """Split the keys of some rows; one without a schema has the types of the row's columns."""
        declared = self.plan.declared
        declared = replace(declared, columns=(*declared.columns, *columns))
        return self._split(self.keys, rows, declared, "of its key: ")

    def _reject(self, messages: Iterable[BadMessage]) -> None:
        for message in messages:
            self._bad.setdefault(message.row, message.reason)

    def _take(self, group: MessageGroup, layout: Layout) -> None:
        plan = self.plan
        wanted = plan.schema.names if plan.schema is not None else []
        raw, bad = read_changes(group, layout, wanted, plan.dialect, plan.topic)
        self._reject(bad)
        self.tables |= raw.tables
        is_truncate = pc.equal(raw.op, Op.TRUNCATE).to_numpy(zero_copy_only=False)
        for place in np.flatnonzero(is_truncate).tolist():
            offset = self.offsets[int(raw.rows[place])].as_py()
            position, time = raw.position[place].as_py(), raw.time[place].value
            self.truncates.append(Truncate(self.partition, offset, position, time))
        for key, changes in self._by_key(raw.take(np.flatnonzero(~is_truncate))):
            schema = _schema(group, layout, key)
            self.schemas[schema] = None
            if plan.has_room(schema):
                self._convert(changes, schema)

    def _by_key(self, raw: RawChanges) -> Iterator[tuple[tuple[SourceColumn, ...], RawChanges]]:
        """Part changes by the columns of their keys."""
        keyed = self.keys.take(pa.array(raw.rows)).is_valid().to_numpy(zero_copy_only=False)
        if not keyed.all():
            yield (), raw.take(np.flatnonzero(~keyed))
        places = np.flatnonzero(keyed)
        for group in self._split_keys(raw.rows[places], raw.layout.columns):
            members = places[np.searchsorted(raw.rows[places], group.rows)]
            yield group.type.fields, raw.take(members)

    def _take_tombstones(self, rows: Rows) -> None:
        """Count the records that follow a delete; of flat rows they are the deletes themselves."""
        keyed = self.keys.take(pa.array(rows)).is_valid().to_numpy(zero_copy_only=False)
        if not self.plan.flat or self.plan.schema is None:
            self.tombstones += len(rows)
            return
        self.tombstones += int((~keyed).sum())
        for group in self._split_keys(rows[keyed]):
            names = tuple(column.name for column in group.type.fields)
            self._convert(RawChanges.deletes(group.rows), SourceSchema((), names, Form.FLAT))

    def _convert(self, raw: RawChanges, schema: SourceSchema) -> None:
        """Put changes into the table's columns; a delete has its key alone."""
        target = self.plan.schema
        assert target is not None
        deleted = pc.equal(raw.op, Op.DELETE).to_numpy(zero_copy_only=False)
        by_key = np.ones(len(deleted), bool) if schema.form is Form.DOCUMENT else deleted
        keys = {}
        if schema.key and by_key.any():
            keys = self._key_values(raw.rows[by_key], schema.columns)
        row = raw.row
        if keys and schema.form is Form.FLAT:
            # A rewritten delete repeats the row as it was; only its key counts.
            row = _without(row, deleted)
        types = {column.name: column.type for column in schema.columns}
        arrays, left_out = [], {}
        for column in target:
            array = pa.nulls(len(raw.rows), column.type)
            place = row.type.get_field_index(column.name)
            if column.name in types and place >= 0:
                values = pc.struct_field(row, [place])  # by name, a dot in it would make a path
                unsent = unavailable(values)
                if unsent is not None:
                    left_out[column.name] = unsent
                    values = pc.if_else(pa.array(unsent), None, values)
                array = self._fitted(values, raw.rows, types[column.name], column)
            if column.name in keys:
                array = pc.replace_with_mask(array, pa.array(by_key), self._key(keys, column))
            if not column.nullable and array.null_count:
                missing = raw.rows[array.is_null().to_numpy(zero_copy_only=False)]
                reason = f"its key column {column.name} has no value"
                self._reject(BadMessage(row, reason) for row in missing.tolist())
            arrays.append(array)
        offsets = self.offsets.take(pa.array(raw.rows))
        names = [*target.names, OFFSET, OP, POSITION, TIME]
        table = pa.Table.from_arrays([*arrays, offsets, raw.op, raw.position, raw.time], names)
        if left_out:
            table = table.append_column(MISSING, _names_of(left_out))
        if self._bad:
            table = table.filter(pa.array(~np.isin(raw.rows, list(self._bad))))
        self.changes.append(table)

    def _fitted(self, raw: pa.Array, rows: Rows, source: SourceType, column: pa.Field) -> pa.Array:
        array, bad = self._converted(raw, source, column)
        self._reject(BadMessage(int(rows[message.row]), message.reason) for message in bad)
        return array

    def _converted(
        self, raw: pa.Array, source: SourceType, column: pa.Field
    ) -> tuple[pa.Array, list[BadMessage]]:
        """Convert raw values into the table's type, or into their digests."""
        source = self.plan.dialect.understood(source)
        if column.name in self.plan.hashed:
            plain = source.kind == "bytes" and source.logical is None
            array, bad = fitted(raw, source, pa.binary() if plain else pa.string(), column.name)
            return digests(array), bad
        otherwise = self.plan.otherwise.get(column.name, Otherwise.REJECT)
        return fitted(raw, source, column.type, column.name, otherwise)

    def _key_values(self, rows: Rows, row: tuple[SourceColumn, ...]) -> "dict[str, _KeyColumn]":
        """Read the keys of some records from the messages' keys, where they are always whole."""
        assert self.plan.schema is not None
        columns: dict[str, _KeyColumn] = {}
        keyed = self.keys.take(pa.array(rows)).is_valid().to_numpy(zero_copy_only=False)
        for group in self._split_keys(rows[keyed], row):
            known = [c for c in group.type.fields if c.name in self.plan.schema.names]
            raw = group.read(known)
            found = group.rows[raw.places]
            self._reject(
                BadMessage(int(group.rows[b.row]), f"of its key: {b.reason}") for b in raw.bad
            )
            for column in known:
                part = columns.setdefault(column.name, _KeyColumn(rows))
                kind = self._key_type(column, row)
                part.pieces.append((found, kind, raw.table[column.name].combine_chunks()))
        return columns

    def _key_type(self, sent: SourceColumn, row: tuple[SourceColumn, ...]) -> SourceType:
        """Give a key column's type as the row has it, where that says more.

        The name of a source type comes with rows only: of the key alone nobody could tell that
        its -1 is the greatest number without a sign.
        """
        told, known = sent.type, (c for schema in self.plan.known for c in schema.columns)
        fuller = (
            column.type
            for column in row or known
            if column.name == sent.name
            and (column.type.kind, column.type.logical) == (told.kind, told.logical)
            and set(column.type.parameters) >= set(told.parameters)
        )
        return max(fuller, key=lambda kind: len(kind.parameters), default=told)

    def _key(self, keys: "dict[str, _KeyColumn]", column: pa.Field) -> pa.Array:
        """Convert the values of one key column, in the order of the rows they were asked for."""
        part = keys[column.name]
        order, arrays = [], []
        for rows, source, raw in part.pieces:
            array, bad = self._converted(raw, source, column)
            self._reject(BadMessage(int(rows[b.row]), f"of its key: {b.reason}") for b in bad)
            order.append(rows)
            arrays.append(array)
        found = np.concatenate(order)
        if not len(found):
            return pa.nulls(len(part.rows), column.type)
        by_row = np.argsort(found)
        places = np.searchsorted(found[by_row], part.rows)
        inside = np.minimum(places, len(found) - 1)
        there = found[by_row][inside] == part.rows
        index = pa.array(by_row[inside], mask=~there)
        return pa.concat_arrays(arrays).take(index)


def _schema(group: MessageGroup, layout: Layout, key: tuple[SourceColumn, ...]) -> SourceSchema:
    row, schemaless = layout.columns, isinstance(group, SchemalessGroup)
    told = {column.name: column for column in key if column.optional is not None}
    row = tuple(
        replace(column, optional=told[column.name].optional) if column.name in told else column
        for column in row
    )
    if layout.form is Form.DOCUMENT or schemaless:
        # A document says nothing of its key, and deletes without a schema of nothing else.
        present = {column.name for column in row}
        row = (*(column for column in key if column.name not in present), *row)
    inferred = isinstance(group, SchemalessGroup) and group.inferred
    return SourceSchema(row, tuple(column.name for column in key), layout.form, inferred)


@dataclass(slots=True)
class _KeyColumn:
    """A key column as the messages' keys hold it: the rows asked for, and what was found."""

    rows: Rows
    pieces: list[tuple[Rows, SourceType, pa.Array]] = field(default_factory=list)


def _names_of(left_out: "Mapping[str, np.ndarray[Any, np.dtype[np.bool_]]]") -> pa.Array:
    """List for each row the columns that it leaves out; null where it is whole."""
    count = len(next(iter(left_out.values())))
    names: list[list[str] | None] = [None] * count
    for name, mask in left_out.items():
        for place in np.flatnonzero(mask).tolist():
            names[place] = [*(names[place] or ()), name]
    return pa.array(names, pa.list_(pa.string()))


def _without(row: pa.StructArray, mask: "np.ndarray[Any, np.dtype[np.bool_]]") -> pa.StructArray:
    """Take away some rows' values."""
    if not row.type.num_fields:
        return row
    gone = pa.array(mask | row.is_null().to_numpy(zero_copy_only=False))
    return pa.StructArray.from_arrays(
        [pc.struct_field(row, place) for place in range(row.type.num_fields)],
        fields=list(row.type),
        mask=gone,
    )
