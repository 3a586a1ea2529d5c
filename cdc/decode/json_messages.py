"""JSON messages with a schema block: told apart by schema, their payloads read as whole columns.

Kafka Connect's converter writes `{"schema":…,"payload":…}` with the same bytes before the payload
for every message of one schema. So the schema is parsed once, the others are recognised by that
prefix, and only payloads reach the JSON reader.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

SCHEMA_START = b'{"schema":'
PAYLOAD_START = b',"payload":'
# A batch with more schemas than this in one partition is odd: read its messages one by one.
MOST_PREFIXES = 64
NO_SCHEMA = "it has no schema"

Rows = np.ndarray[Any, np.dtype[np.int64]]


class MessageError(ValueError):
    """A message that cannot be read; `row` counts from the start of the array it came in."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(row, reason)
        self.row, self.reason = row, reason


@dataclass(frozen=True, slots=True)
class MessageGroup:
    """Messages of one schema: their rows in the original array and their payloads' bytes."""

    schema: Any
    rows: Rows
    payloads: pa.Array


def group_by_schema(messages: pa.Array) -> Iterator[MessageGroup]:
    """Split messages into groups of one schema each; the array holds no null.

    Raises:
        MessageError: A message is no JSON object with a schema block and a payload.
    """
    rows = np.arange(len(messages))
    closed = pc.ends_with(messages, pattern=b"}")
    try:
        texts = messages.cast(pa.string())  # which fails on bytes that are no UTF-8
    except pa.ArrowInvalid:
        yield from _one_by_one(messages, rows)
        return
    if not pc.all(closed).as_py():
        messages = pc.ascii_rtrim_whitespace(texts).cast(pa.binary())
    for _ in range(MOST_PREFIXES):
        if not len(messages):
            return
        found = _schema_and_prefix(messages[0].as_py())
        if found is None:
            break
        schema, prefix = found
        if schema is None:
            raise MessageError(int(rows[0]), NO_SCHEMA)
        alike = pc.and_(
            pc.starts_with(messages, pattern=prefix), pc.ends_with(messages, pattern=b"}")
        ).to_numpy(zero_copy_only=False)
        members = messages if alike.all() else messages.filter(pa.array(alike))
        payloads = pc.binary_slice(members, len(prefix), -1)
        yield MessageGroup(schema, rows[alike], payloads)
        messages = messages.filter(pa.array(~alike))
        rows = rows[~alike]
    yield from _one_by_one(messages, rows)


def read_payloads(payloads: pa.Array, schema: pa.Schema) -> pa.Table:
    """Read payloads into columns of the given raw types; a field that is absent is null.

    Raises:
        MessageError: A payload does not fit the schema; `row` counts within `payloads`.
    """
    # The reader takes one object per line: anything else would shift the rows, or crash it.
    objects = pc.and_(pc.starts_with(payloads, pattern=b"{"), pc.ends_with(payloads, pattern=b"}"))
    if not pc.all(objects).as_py():
        return _read_exactly(payloads, schema)
    whole = pa.ListArray.from_arrays(pa.array([0, len(payloads)], pa.int32()), payloads)
    data = pc.binary_join(whole, b"\n")[0].as_buffer()
    try:
        table = pj.read_json(
            pa.BufferReader(data),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
            read_options=pj.ReadOptions(use_threads=False, block_size=data.size + 1),
        )
    except pa.ArrowInvalid:
        # NaN and Infinity come as text in number columns, which fails the whole block.
        return _read_exactly(payloads, schema)
    if table.num_rows != len(payloads):
        return _read_exactly(payloads, schema)
    return table.combine_chunks()


def _schema_and_prefix(message: bytes) -> tuple[Any, bytes] | None:
    """Give the schema of a message in the converter's layout, and the bytes before its payload."""
    if not message.startswith(SCHEMA_START) or not message.endswith(b"}"):
        return None
    try:
        text = message.decode()
        schema, end = json.JSONDecoder().raw_decode(text, len(SCHEMA_START))
    except (ValueError, RecursionError):
        return None
    prefix = text[:end].encode()
    if not message.startswith(PAYLOAD_START, len(prefix)):
        return None
    return schema, prefix + PAYLOAD_START


def _one_by_one(messages: pa.Array, rows: Rows) -> Iterator[MessageGroup]:
    """Group messages of any layout by their schema's text."""
    groups: dict[str, tuple[Any, list[int], list[bytes]]] = {}
    for row, message in zip(rows.tolist(), messages.to_pylist(), strict=True):
        try:
            parsed = json.loads(message)
        except (ValueError, RecursionError) as error:
            raise MessageError(row, f"it is not JSON: {error}") from error
        if not isinstance(parsed, dict) or "payload" not in parsed:
            raise MessageError(row, _what_is_missing(parsed))
        if parsed.get("schema") is None:
            raise MessageError(row, NO_SCHEMA)
        identity = json.dumps(parsed["schema"], sort_keys=True)
        _, members, payloads = groups.setdefault(identity, (parsed["schema"], [], []))
        members.append(row)
        payloads.append(json.dumps(parsed["payload"]).encode())
    for schema, members, payloads in groups.values():
        yield MessageGroup(schema, np.array(members, dtype=np.int64), pa.array(payloads))


def _what_is_missing(parsed: Any) -> str:
    if isinstance(parsed, dict) and "op" in parsed and "source" in parsed:
        return NO_SCHEMA
    return "it is not a Debezium change"


def _read_exactly(payloads: pa.Array, schema: pa.Schema) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for row, payload in enumerate(payloads.to_pylist()):
        try:
            parsed = json.loads(payload)
        except (ValueError, RecursionError) as error:
            raise MessageError(row, f"its payload is not JSON: {error}") from error
        if not isinstance(parsed, dict):
            raise MessageError(row, "its payload is not a JSON object")
        for column in schema:
            try:
                value = _exact(parsed.get(column.name), column.type)
                pa.scalar(value, column.type)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                reason = f"its field {column.name} is not of the type its schema names: {error}"
                raise MessageError(row, reason) from error
            columns[column.name].append(value)
    arrays = [pa.array(columns[column.name], column.type) for column in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _exact(value: Any, kind: pa.DataType) -> Any:
    """Keep a parsed value as it is, but for the texts that stand for numbers JSON cannot write."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        if not isinstance(value, dict):
            raise TypeError(f"{type(value).__name__} instead of an object")
        return {member.name: _exact(value.get(member.name), member.type) for member in kind}
    if pa.types.is_list(kind):
        if not isinstance(value, list):
            raise TypeError(f"{type(value).__name__} instead of an array")
        return [_exact(item, kind.value_type) for item in value]
    if pa.types.is_floating(kind):
        if isinstance(value, bool) or (
            isinstance(value, str) and value not in ("NaN", "Infinity", "-Infinity")
        ):
            raise TypeError(f"{value!r} instead of a number")
        return float(value)
    expected = bool if pa.types.is_boolean(kind) else int if pa.types.is_integer(kind) else str
    if type(value) is not expected:
        raise TypeError(f"{type(value).__name__} instead of {expected.__name__}")
    return value
