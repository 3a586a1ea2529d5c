"""What all wire formats have in common: messages of one schema, read as whole columns.

A format splits an array of messages into groups of one schema each. A group says what its schema
is, and reads the asked-for fields of its messages as raw columns: numbers, texts and structs as
the message holds them, the meaning that Debezium gives them not applied yet. Bytes are binary in
Avro and base64 text in JSON. A message that cannot be read is named with its reason, and never
spoils its neighbours.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from cdc.model import SourceColumn, SourceType

Rows = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


# The Arrow type of a raw column by its kind; how bytes are written is the format's own.
RAW: Final = {
    "int8": pa.int32(),
    "int16": pa.int32(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
}


def raw_type(source: SourceType, octets: pa.DataType) -> pa.DataType:
    """Give the Arrow type of a raw column, in a format that writes bytes as `octets`."""
    if source.element is not None:
        return pa.list_(raw_type(source.element, octets))
    if source.kind == "map":
        return pa.map_(*(raw_type(field.type, octets) for field in source.fields))
    if source.kind == "struct":
        return pa.struct([(field.name, raw_type(field.type, octets)) for field in source.fields])
    return octets if source.kind == "bytes" else RAW[source.kind]


@dataclass(frozen=True, slots=True)
class BadMessage:
    """A message that cannot be read; `row` is its index in the array or group it came in."""

    row: int
    reason: str


class BadRecords:
    """The records of a chunk that cannot be applied; the first reason is the one that counts."""

    def __init__(self) -> None:
        self._reasons: dict[int, str] = {}

    @property
    def rows(self) -> list[int]:
        """The records' rows, rising."""
        return sorted(self._reasons)

    def __getitem__(self, row: int) -> str:
        return self._reasons[row]

    def add(
        self, messages: Iterable[BadMessage], rows: Rows | None = None, prefix: str = ""
    ) -> None:
        """Note messages, whose rows are indexes of others where these are given."""
        for message in messages:
            row = message.row if rows is None else int(rows[message.row])
            self._reasons.setdefault(row, prefix + message.reason)


@dataclass(frozen=True, slots=True)
class RawColumns:
    """The messages of a group that could be read: their indexes in the group, one row for each."""

    indexes: Rows
    table: pa.Table
    bad_messages: tuple[BadMessage, ...] = ()


class MessageGroup(Protocol):
    """Messages of one schema."""

    @property
    def type(self) -> SourceType:
        """The schema of the whole message, a struct."""

    @property
    def rows(self) -> Rows:
        """The messages' rows in the array they came in, rising."""

    def read(self, fields: Sequence[SourceColumn]) -> RawColumns:
        """Read some fields of every message; one that the schema does not have is null."""


# What splitting gives, in any order: groups, and the messages that belong to none.
Split = Iterator[MessageGroup | BadMessage]
