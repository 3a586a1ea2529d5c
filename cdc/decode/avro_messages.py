"""Avro messages in Confluent's wire format: told apart by schema id, read as whole columns.

A message is a zero, the id of its writer's schema in four bytes, and one datum. The datums of one
schema are read together and fast; where that fails, the failing ones are looked for and read one
by one, and only those that cannot be read at all are given up.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from cdc.decode.avro_codec import DatumError, DatumReader
from cdc.decode.avro_columns import ColumnPlan, UnlikeError, check_alike, raw_schema
from cdc.decode.avro_container import HEADER, Container, ContainerError, is_plain, is_usable
from cdc.decode.avro_schema import AvroType
from cdc.decode.messages import BadMessage, RawColumns, Rows, Split
from cdc.decode.parts import FAN_OUT
from cdc.decode.registry import SchemaRegistry, UnreadableSchema
from cdc.model import SourceColumn, SourceType

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

# Fewer messages are read one by one in less time than it takes to call the reader.
FEW: Final = 32
# What is read at once: a null of a wide table takes room that its message does not.
MOST_BYTES: Final = 64 << 20
MOST_CELLS: Final = 1 << 24
MAGIC: Final = 0


def split_avro(messages: pa.Array, rows: Rows, registry: SchemaRegistry) -> Split:
    """Split messages by the schema they were written with.

    Args:
        messages: Binary, none null.
        rows: The messages' rows in the caller's array.
        registry: Knows the schemas.

    Raises:
        RegistryUnreachableError: The registry does not answer; nothing is known of the messages.
    """
    if not len(messages):
        return
    starts, sizes, data = _layout(messages)
    framed = sizes >= HEADER
    framed[framed] = data[starts[framed]] == MAGIC
    for index in np.flatnonzero(~framed).tolist():
        yield BadMessage(int(rows[index]), "it is too short to name its schema")
    inside = np.flatnonzero(framed)
    if not len(inside):
        return
    ids = data[starts[inside, None] + np.arange(1, HEADER)].view(">u4")[:, 0]
    order = np.argsort(ids, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(ids[order])) + 1):
        id_, members = int(ids[members[0]]), inside[members]
        schema = registry.schema(id_)
        if isinstance(schema, UnreadableSchema):
            yield from (BadMessage(row, schema.reason) for row in rows[members].tolist())
            continue
        own = messages if len(members) == len(messages) else messages.take(pa.array(members))
        yield AvroGroup(schema, rows[members], own)


class AvroGroup:
    """Messages of one writer schema."""

    def __init__(self, schema: AvroType, rows: Rows, messages: pa.Array) -> None:
        self._schema, self._rows, self._messages = schema, rows, messages

    @property
    def type(self) -> SourceType:
        """The schema of the whole message, a struct."""
        return self._schema.source

    @property
    def rows(self) -> Rows:
        """The messages' rows in the array they came in."""
        return self._rows

    def read(self, fields: Sequence[SourceColumn]) -> RawColumns:
        """Read some fields of every message; one that the writer did not have is null."""
        count = len(self._messages)
        try:
            check_alike(fields, self._schema.source)
        except UnlikeError as error:
            bad_messages = tuple(BadMessage(index, str(error)) for index in range(count))
            nothing = raw_schema(fields).empty_table()
            return RawColumns(np.empty(0, np.int64), nothing, bad_messages)
        return _Reading(self._schema, self._messages, fields).run()


class _Reading:
    """One reading of a group: what was read so far, and what could not be."""

    def __init__(
        self, schema: AvroType, messages: pa.Array, fields: Sequence[SourceColumn]
    ) -> None:
        self._messages = messages
        self._datums = _datum_reader(schema)
        self._schema = raw_schema(fields)
        self._container = _container(schema) if is_usable() else None
        if self._container is not None:
            self._plan = ColumnPlan(self._container, schema, fields)
        self._indexes: list[Rows] = []
        self._tables: list[pa.Table] = []
        self._bad_messages: list[BadMessage] = []

    def run(self) -> RawColumns:
        for start, end in self._pieces():
            self._read(start, end)
        indexes = [np.empty(0, np.int64), *self._indexes]
        table = pa.concat_tables([self._schema.empty_table(), *self._tables])
        return RawColumns(
            np.concatenate(indexes), table.combine_chunks(), tuple(self._bad_messages)
        )

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Cut the messages into pieces that are not too large to be read at once."""
        _, sizes, _ = _layout(self._messages)
        wide = self._container.width if self._container is not None else 1
        most = max(FEW, MOST_CELLS // wide)
        start = 0
        while start < len(sizes):
            reached = np.cumsum(sizes[start : start + most])
            end = start + max(1, int(np.searchsorted(reached, MOST_BYTES, "right")))
            yield start, end
            start = end

    def _read(self, start: int, end: int) -> None:
        """Read messages together, and in ever fewer at once around those that fail."""
        if self._container is None or end - start <= FEW:
            self._read_singly(start, end)
            return
        try:
            table, proven = self._container.read(
                self._messages.slice(start, end - start), self._plan.needed
            )
            if proven:
                self._keep(start, self._plan.make(table))
        except ContainerError:
            proven = 0
            rest = start
        else:
            rest = start + proven
            if rest < end:
                self._read_singly(rest, rest + 1)
                rest += 1
        step = -(-(end - rest) // FAN_OUT)
        for part in range(rest, end, step) if step else ():
            self._read(part, min(part + step, end))

    def _read_singly(self, start: int, end: int) -> None:
        values, indexes = [], []
        for index in range(start, end):
            try:
                values.append(self._datums.read(self._messages[index].as_py(), HEADER))
                indexes.append(index)
            except DatumError as error:
                reason = f"its datum does not fit the schema it names: {error}"
                self._bad_messages.append(BadMessage(index, reason))
        if indexes:
            table = pa.Table.from_pylist(values, self._schema)
            self._indexes.append(np.array(indexes, np.int64))
            self._tables.append(table)

    def _keep(self, start: int, table: pa.Table) -> None:
        self._indexes.append(np.arange(start, start + table.num_rows))
        self._tables.append(table)


@lru_cache(maxsize=256)
def _datum_reader(schema: AvroType) -> DatumReader:
    return DatumReader(schema)


@lru_cache(maxsize=256)
def _container(schema: AvroType) -> Container | None:
    return Container(schema) if is_plain(schema) else None


def _layout(messages: pa.Array) -> tuple[Rows, Rows, Bytes]:
    """Give where each message starts, how long it is, and the bytes of all."""
    _, offsets, data = messages.buffers()
    narrow = np.frombuffer(offsets, np.int32)[messages.offset :][: len(messages) + 1]
    ends = narrow.astype(np.int64)
    return ends[:-1], np.diff(ends), np.frombuffer(data or b"", np.uint8)
