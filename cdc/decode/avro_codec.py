"""Avro datums read one by one, by the letter of the specification: slow, and strict.

Here come the rows that the fast reader stumbles over, most of them damaged. So nothing is taken
for granted: a branch, a symbol, a length or a number that the schema does not allow is refused,
and so is a datum that ends too early or too late. fastavro would read a negative branch or symbol
as one counted from the end, and a number of any length cut to 64 bits.
"""

import json
import math
import struct
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

from cdc.decode.avro_schema import AvroType

# Reads one value: takes the bytes and an offset in them, gives the value and the offset behind it.
Reader = Callable[[bytes, int], tuple[Any, int]]

_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")
MOST_WITHOUT_BYTES: Final = 1000
_SMALLEST_INT, _GREATEST_INT = -(1 << 31), (1 << 31) - 1


class DatumError(ValueError):
    """Bytes that are no datum of the schema."""


class DatumReader:
    """Reads the datums of one writer schema.

    A record becomes a dict, a map a list of pairs, bytes stay bytes; a type that has no fixed form
    becomes JSON text, its bytes in base64.
    """

    def __init__(self, schema: AvroType) -> None:
        self._readers: dict[tuple[AvroType, bool], Reader] = {}
        self._read = self._reader(schema, in_text=False)

    def read(self, datum: bytes, start: int = 0) -> dict[str, Any]:
        """Read the datum that takes all bytes from `start` on.

        Raises:
            DatumError: The bytes are no datum of the schema, or more than one.
        """
        try:
            value, end = self._read(datum, start)
        except (IndexError, struct.error) as error:
            raise DatumError("it ends in the middle of a value") from error
        except UnicodeDecodeError as error:
            raise DatumError("it has a text that is not UTF-8") from error
        except RecursionError as error:
            raise DatumError("it is nested too deeply") from error
        if end != len(datum):
            raise DatumError(f"it has {len(datum) - end} bytes too many")
        row: dict[str, Any] = value
        return row

    def _reader(self, schema: AvroType, in_text: bool) -> Reader:
        """Make the reader of a type, once; a type may contain itself."""
        known = self._readers.get((schema, in_text))
        if known is not None:
            return known

        def not_made_yet(data: bytes, at: int) -> tuple[Any, int]:
            return self._readers[schema, in_text](data, at)

        self._readers[schema, in_text] = not_made_yet
        made = self._make(schema, in_text or schema.as_text)
        self._readers[schema, in_text] = _texts(made) if schema.as_text and not in_text else made
        return self._readers[schema, in_text]

    def _make(self, schema: AvroType, in_text: bool) -> Reader:
        if schema.kind == "record":
            return _records([(name, self._reader(part, in_text)) for name, part in schema.fields])
        if schema.kind == "union":
            return _unions([self._reader(branch, in_text) for branch in schema.branches])
        if schema.kind == "array":
            item = self._reader(schema.item, in_text)
            return _pairs(item) if schema.is_pairs and not in_text else _arrays(item)
        if schema.kind == "map":
            entries = _arrays(_entries(self._reader(schema.item, in_text)))
            return _objects(entries) if in_text else entries
        if schema.kind == "enum":
            return _enums(schema.symbols)
        if schema.kind == "fixed":
            return _fixed(schema.size, in_text)
        return (_IN_TEXT if in_text else _PRIMITIVES)[schema.kind]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise DatumError("it has a number of more than 64 bits")
    if value >> 64:
        raise DatumError("it has a number of more than 64 bits")
    return (value >> 1) ^ -(value & 1), at


def _int(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    if not _SMALLEST_INT <= value <= _GREATEST_INT:
        raise DatumError(f"it has the int {value}, which needs more than 32 bits")
    return value, at


def _null(data: bytes, at: int) -> tuple[None, int]:
    return None, at


def _boolean(data: bytes, at: int) -> tuple[bool, int]:
    if data[at] > 1:
        raise DatumError(f"it has a boolean that is {data[at]}")
    return data[at] == 1, at + 1


def _float(data: bytes, at: int) -> tuple[float, int]:
    return _FLOAT.unpack_from(data, at)[0], at + 4


def _double(data: bytes, at: int) -> tuple[float, int]:
    return _DOUBLE.unpack_from(data, at)[0], at + 8


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _varint(data, at)
    return _cut(data, at, size)


def _cut(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    if not 0 <= size <= len(data) - at:
        raise DatumError(f"it has a value of {size} bytes, and {len(data) - at} are left")
    return data[at : at + size], at + size


def _string(data: bytes, at: int) -> tuple[str, int]:
    value, at = _bytes(data, at)
    return value.decode(), at


def _fixed(size: int, in_text: bool) -> Reader:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        value, at = _cut(data, at, size)
        return (b64encode(value).decode() if in_text else value), at

    return read


def _enums(symbols: tuple[str, ...]) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        index, at = _varint(data, at)
        if not 0 <= index < len(symbols):
            raise DatumError(f"it has symbol {index} of an enum of {len(symbols)}")
        return symbols[index], at

    return read


def _unions(branches: list[Reader]) -> Reader:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        index, at = _varint(data, at)
        if not 0 <= index < len(branches):
            raise DatumError(f"it has branch {index} of a union of {len(branches)}")
        return branches[index](data, at)

    return read


def _records(fields: list[tuple[str, Reader]]) -> Reader:
    def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        record = {}
        for name, reader in fields:
            record[name], at = reader(data, at)
        return record, at

    return read


def _arrays(item: Reader) -> Reader:
    def read(data: bytes, at: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        while True:
            count, at = _varint(data, at)
            if count == 0:
                return items, at
            end = None
            if count < 0:
                size, at = _varint(data, at)
                count, end = -count, at + size
            # Items that take no bytes are few, or their count would fill the memory.
            if len(items) + count > len(data) + MOST_WITHOUT_BYTES:
                raise DatumError(f"it has {count} items, and {len(data) - at} bytes are left")
            for _ in range(count):
                value, at = item(data, at)
                items.append(value)
            if end is not None and end != at:
                raise DatumError("it has a block of items of another size than it says")

    return read


def _entries(value: Reader) -> Reader:
    def read(data: bytes, at: int) -> tuple[tuple[str, Any], int]:
        key, at = _string(data, at)
        content, at = value(data, at)
        return (key, content), at

    return read


def _pairs(record: Reader) -> Reader:
    """Read an array of records of key and value as the map that it stands for."""
    read_records = _arrays(record)

    def read(data: bytes, at: int) -> tuple[list[tuple[Any, Any]], int]:
        records, at = read_records(data, at)
        if any(entry["key"] is None for entry in records):
            raise DatumError("it has a map with an entry without a key")
        return [(entry["key"], entry["value"]) for entry in records], at

    return read


def _objects(entries: Reader) -> Reader:
    def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        pairs, at = entries(data, at)
        return dict(pairs), at

    return read


def _texts(reader: Reader) -> Reader:
    def read(data: bytes, at: int) -> tuple[str | None, int]:
        value, at = reader(data, at)
        if value is None:
            return None, at
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")), at

    return read


def _float_in_text(reader: Reader) -> Reader:
    """Write what JSON has no number for as Debezium does."""

    def read(data: bytes, at: int) -> tuple[float | str, int]:
        value, at = reader(data, at)
        if math.isfinite(value):
            return value, at
        return ("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"), at

    return read


def _bytes_in_text(data: bytes, at: int) -> tuple[str, int]:
    value, at = _bytes(data, at)
    return b64encode(value).decode(), at


_PRIMITIVES: Final[dict[str, Reader]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _int,
    "long": _varint,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}
_IN_TEXT: Final[dict[str, Reader]] = {
    **_PRIMITIVES,
    "float": _float_in_text(_float),
    "double": _float_in_text(_double),
    "bytes": _bytes_in_text,
}
