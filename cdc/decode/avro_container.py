"""Avro datums of one writer schema, read as whole columns behind a container's header.

DataFusion reads Avro container files natively. So the messages, as they are, become the one block
of a container that is made around them, written where files cost nothing, read back and removed.

A container has no boundaries between its datums: a damaged one would shift all that follow. So
each datum is followed by eight bytes that only its own index in this one file has, read as a last
column. A row whose eight bytes are right began where it should if its predecessor's were right.
The first wrong ones name the damaged datum, and every row before it is proven.
"""

import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.avro_schema import AvroType

HEADER: Final = 5  # bytes before the datum of a message: a zero and the schema's id
CHECK: Final = "check"
SEAL_BYTES: Final = 8
PREFIX: Final = "database-mirror-avro-"
MEMORY_FOLDER: Final = Path("/dev/shm")
STALE_SECONDS: Final = 3600
# A null takes the room of a value in the columns it is in, however short the message.
WIDEST_FIXED: Final = 256
DEEPEST: Final = 32  # types within types; the reader calls itself for each

# The process in which the reader was first used; its threads do not survive a fork.
_process: int | None = None

# An odd factor gives every index in a file another seal.
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


class ContainerError(ValueError):
    """The reader stumbled over a datum, without saying which."""


class Container:
    """The shape in which the datums of one writer schema are handed to the reader.

    Names, logical types and references are left out: the reader sees plain numbers, bytes and
    texts in records of its own. Records that are never null are taken apart into their fields, so
    that each of them is a column that need not be read.
    """

    def __init__(self, schema: AvroType) -> None:
        self._names = 0
        self._fields: list[dict[str, Any]] = [
            {"name": "header", "type": self._fixed(HEADER)},
        ]
        # The column of each field that is no record, by the path to it.
        self.columns: dict[tuple[str, ...], str] = {}
        self._add(schema, ())
        self._fields.append({"name": CHECK, "type": self._fixed(SEAL_BYTES)})
        self._head = _file_head(self._record(self._fields))

    @property
    def width(self) -> int:
        """How many columns there are, those within records included."""
        return self._names

    def read(self, messages: pa.Array, columns: Sequence[str]) -> tuple[pa.Table, int]:
        """Read columns of messages; the rows up to the first damaged datum, and their number.

        Raises:
            ContainerError: A datum made the whole reading fail.
        """
        seals = (
            np.uint64(secrets.randbits(64)) + np.arange(len(messages), dtype=np.uint64) * _SPREAD
        )
        buffers = [None, pa.py_buffer(seals)]
        marks = pa.Array.from_buffers(pa.binary(SEAL_BYTES), len(seals), buffers)
        sealed = pc.binary_join_element_wise(messages, marks.cast(pa.binary()), b"")
        table = _read_file(self._head, sealed, [*columns, CHECK])
        check = table[CHECK].chunk(0)
        found = np.frombuffer(check.buffers()[1], np.uint64)[check.offset :][: len(seals)]
        wrong = np.flatnonzero(found != seals)
        table = table.drop_columns([CHECK])
        if not len(wrong):
            return table, len(seals)
        # Not a slice: what was read of the rows behind is not even to be looked at.
        return table.take(pa.array(np.arange(wrong[0]))), int(wrong[0])

    def _add(self, schema: AvroType, path: tuple[str, ...]) -> None:
        if schema.kind == "record":
            for name, part in schema.fields:
                self._add(part, (*path, name))
            return
        self.columns[path] = f"c{len(self.columns)}"
        self._fields.append({"name": self.columns[path], "type": self._type(schema)})

    def _type(self, schema: AvroType) -> Any:
        self._names += 1
        if schema.kind == "record":
            parts = enumerate(schema.fields)
            return self._record([{"name": f"f{i}", "type": self._type(p)} for i, (_, p) in parts])
        if schema.kind == "union":
            return [self._type(branch) for branch in schema.branches]
        if schema.kind == "array":
            return {"type": "array", "items": self._type(schema.item)}
        if schema.kind == "map":
            return {"type": "map", "values": self._type(schema.item)}
        if schema.kind == "fixed":
            return self._fixed(schema.size)
        # A symbol's number is all that is written; what it means is looked up afterwards.
        return "int" if schema.kind == "enum" else schema.kind

    def _record(self, fields: list[dict[str, Any]]) -> dict[str, Any]:
        self._names += 1
        return {"type": "record", "name": f"r{self._names}", "fields": fields}

    def _fixed(self, size: int) -> dict[str, Any]:
        self._names += 1
        return {"type": "fixed", "name": f"x{self._names}", "size": size}


def is_plain(schema: AvroType, depth: int = 0) -> bool:
    """Say whether the reader can have a type: nothing without a fixed form, nothing outsized.

    Values that take no bytes are left out as well: a damaged count of them would never end.
    """
    if schema.as_text or depth > DEEPEST:
        return False
    if schema.kind == "union":
        return schema.present is not None and is_plain(schema.present, depth + 1)
    if schema.kind == "record":
        return bool(schema.fields) and all(is_plain(part, depth + 1) for _, part in schema.fields)
    if schema.kind in ("array", "map"):
        return is_plain(schema.item, depth + 1)
    return schema.kind != "fixed" or 0 < schema.size <= WIDEST_FIXED


def is_usable() -> bool:
    """Say whether this process may use the reader: one forked from its user would wait forever."""
    return _process in (None, os.getpid())


def _file_head(schema: dict[str, Any]) -> bytes:
    """Write all that comes before a container's first block, its sync marker last."""
    entries = {"avro.schema": json.dumps(schema), "avro.codec": "null"}
    head = [b"Obj\x01", _varint(len(entries))]
    for pair in entries.items():
        for text in pair:
            head += [_varint(len(text)), text.encode()]
    return b"".join([*head, b"\x00", secrets.token_bytes(16)])


def _varint(number: int) -> bytes:
    zigzag, out = number << 1, bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def _read_file(head: bytes, sealed: pa.Array, columns: list[str]) -> pa.Table:
    offsets = np.frombuffer(sealed.buffers()[1], np.int32)[sealed.offset :][: len(sealed) + 1]
    body = memoryview(sealed.buffers()[2])[offsets[0] : offsets[-1]]
    parts: list[bytes | memoryview] = [
        head,
        _varint(len(sealed)),
        _varint(len(body)),
        body,
        head[-16:],
    ]
    path = _write(parts, sum(map(len, parts)))
    try:
        table = _query(path, columns, len(sealed))
    finally:
        path.unlink(missing_ok=True)
    if table.num_rows != len(sealed):
        raise ContainerError(f"{table.num_rows} rows instead of {len(sealed)}")
    return table.combine_chunks()


def _query(path: Path, columns: list[str], rows: int) -> pa.Table:
    # Imported late: it takes a third of a second, and JSON topics never need it.
    from datafusion import SessionConfig, SessionContext

    global _process
    _process = os.getpid()
    # A damaged datum may leave bytes behind the last row, and looking for further rows in them the
    # reader never ends. So all rows are one batch, and behind it the limit keeps it from looking.
    config = SessionConfig().with_target_partitions(1).with_batch_size(rows)
    try:
        frame = SessionContext(config).read_avro(path).select(*columns).limit(rows)
        return frame.to_arrow_table()
    except (KeyboardInterrupt, SystemExit):
        raise
    # The reader's errors are plain exceptions, and its panics are not even that.
    except BaseException as error:
        raise ContainerError(str(error)) from error


def _write(parts: Sequence[bytes | memoryview], size: int) -> Path:
    """Write a file, in memory where there is room."""
    _remove_stale()
    with suppress(OSError):
        if shutil.disk_usage(MEMORY_FOLDER).free > 4 * size:
            return _write_to(MEMORY_FOLDER, parts)
    return _write_to(Path(tempfile.gettempdir()), parts)


def _write_to(folder: Path, parts: Sequence[bytes | memoryview]) -> Path:
    handle, name = tempfile.mkstemp(".avro", PREFIX, folder)
    try:
        with open(handle, "wb", buffering=0) as file:
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[file.write(view) :]
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


@cache
def _remove_stale() -> None:
    """Remove what killed processes left behind, once; a file that is in use is never old."""
    for folder in (MEMORY_FOLDER, Path(tempfile.gettempdir())):
        for path in folder.glob(f"{PREFIX}*.avro"):
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - STALE_SECONDS:
                    path.unlink()
