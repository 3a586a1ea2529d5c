"""JSON messages told apart by schema, without parsing them all.

Kafka Connect's converter writes `{"schema":…,"payload":…}` with the same bytes before the payload
for every message of one schema. So the schema is parsed once, the others are recognised by that
prefix, and only payloads reach the JSON reader.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.connect_schema import SchemaBlockError, source_type
from cdc.decode.json_payloads import json_schema, read_payloads
from cdc.decode.messages import BadMessage, RawColumns, Rows
from cdc.decode.parts import in_parts
from cdc.model import SourceColumn, SourceType

SCHEMA_START = b'{"schema":'
PAYLOAD_START = b',"payload":'
# A batch with more schemas than this in one partition is odd: read its messages one by one.
MOST_PREFIXES = 64
WRAPPING = frozenset({"schema", "payload"})

_BEGIN = re.compile(r"\{[ \t\r\n]*(\})?")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_NEXT = re.compile(r"[ \t\r\n]*([,}])[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class JsonGroup:
    """Messages with the same schema block: their rows, and their payloads' bytes."""

    type: SourceType
    rows: Rows
    payloads: pa.Array

    def read(self, fields: Sequence[SourceColumn]) -> RawColumns:
        """Read some fields of every payload; one that is absent is null."""
        return read_payloads(self.payloads, json_schema(fields))


@dataclass(frozen=True, slots=True)
class Schemaless:
    """Messages without a schema: their rows, and the JSON that stands for the payload."""

    rows: Rows
    payloads: pa.Array


def split_json(messages: pa.Array, rows: Rows) -> Iterator[JsonGroup | Schemaless | BadMessage]:
    """Split messages, none of them null, by their schema."""
    texts, rows, bad_messages = _utf8(messages, rows)
    yield from bad_messages
    braces = pc.and_(pc.starts_with(texts, pattern="{"), pc.ends_with(texts, pattern="}"))
    if not pc.all(braces).as_py():
        texts = pc.ascii_trim_whitespace(texts)
    messages = texts.cast(pa.binary())
    laid_out = pc.starts_with(messages, pattern=SCHEMA_START).to_numpy(zero_copy_only=False)
    left: list[tuple[Rows, pa.Array]] = []
    if not laid_out.all():
        for item in _schemaless(messages.filter(pa.array(~laid_out)), rows[~laid_out]):
            if isinstance(item, Schemaless):
                yield item
            else:
                left.append(item)
        messages, rows = messages.filter(pa.array(laid_out)), rows[laid_out]
    for _ in range(MOST_PREFIXES):
        if not len(messages):
            break
        found = schema_and_prefix(messages[0].as_py())
        if found is None:
            left.append((rows[:1], messages.slice(0, 1)))
            messages, rows = messages.slice(1), rows[1:]
            continue
        schema, prefix = found
        alike = pc.and_(
            pc.starts_with(messages, pattern=prefix), pc.ends_with(messages, pattern=b"}")
        ).to_numpy(zero_copy_only=False)
        if alike.all():
            yield from _group(schema, rows, pc.binary_slice(messages, len(prefix), -1))
            messages, rows = messages.slice(0, 0), rows[:0]
            break
        members = messages.filter(pa.array(alike))
        yield from _group(schema, rows[alike], pc.binary_slice(members, len(prefix), -1))
        messages, rows = messages.filter(pa.array(~alike)), rows[~alike]
    for some_rows, some in (*left, (rows, messages)):
        yield from _one_by_one(some, some_rows)


def _utf8(messages: pa.Array, rows: Rows) -> tuple[pa.Array, Rows, list[BadMessage]]:
    def attempt(start: int, count: int) -> pa.Array | None:
        try:
            return messages.slice(start, count).cast(pa.string())
        except pa.ArrowInvalid:
            return None

    texts: list[pa.Array] = []
    good = np.ones(len(messages), bool)
    for start, count, part in in_parts(len(messages), attempt):
        if part is None:
            good[start : start + count] = False
        else:
            texts.append(part)
    bad_messages = [BadMessage(row, "it is not UTF-8 text") for row in rows[~good].tolist()]
    whole = texts[0] if len(texts) == 1 else pa.concat_arrays([pa.array([], pa.string()), *texts])
    return whole, rows[good], bad_messages


def _schemaless(messages: pa.Array, rows: Rows) -> Iterator[Schemaless | tuple[Rows, pa.Array]]:
    """Tell objects that surely have no schema block from what must be looked at one by one."""
    braces = pc.and_(pc.starts_with(messages, pattern=b"{"), pc.ends_with(messages, pattern=b"}"))
    plain = pc.and_not(braces, pc.match_substring(messages, pattern=b'"payload"'))
    chosen = plain.to_numpy(zero_copy_only=False)
    if chosen.any():
        yield Schemaless(rows[chosen], messages.filter(plain))
    if not chosen.all():
        yield rows[~chosen], messages.filter(pc.invert(plain))


def schema_and_prefix(message: bytes) -> tuple[Any, bytes] | None:
    """Give the schema of a message in the converter's layout, and the bytes before its payload."""
    if not message.endswith(b"}"):
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


def _group(
    schema: Any, rows: Rows, payloads: pa.Array
) -> Iterator[JsonGroup | Schemaless | BadMessage]:
    if schema is None:
        yield Schemaless(rows, payloads)
        return
    try:
        kind = source_type(schema)
    except (SchemaBlockError, RecursionError) as error:
        reason = f"its schema cannot be read: {error}"
        yield from (BadMessage(row, reason) for row in rows.tolist())
        return
    if kind.kind != "struct":
        reason = f"its schema is that of a {kind.kind}, not of an object"
        yield from (BadMessage(row, reason) for row in rows.tolist())
        return
    yield JsonGroup(kind, rows, payloads)


def _one_by_one(messages: pa.Array, rows: Rows) -> Iterator[JsonGroup | Schemaless | BadMessage]:
    """Group messages of any layout by their schema's text."""
    groups: dict[str, tuple[Any, list[int], list[bytes]]] = {}
    for row, message in zip(rows.tolist(), messages.to_pylist(), strict=True):
        try:
            members = _members(message.decode())
        except (ValueError, RecursionError) as error:
            yield BadMessage(row, f"it is not a JSON object: {error}")
            continue
        schema, payload = None, message
        if members.keys() <= WRAPPING and "payload" in members:
            schema = json.loads(members.get("schema", "null"))
            payload = members["payload"].encode()
        identity = json.dumps(schema, sort_keys=True)
        _, found, payloads = groups.setdefault(identity, (schema, [], []))
        found.append(row)
        payloads.append(payload)
    for schema, found, payloads in groups.values():
        yield from _group(schema, np.array(found, np.int64), pa.array(payloads, pa.binary()))


def _members(text: str) -> dict[str, str]:
    """Cut a JSON object into its members, each value's text as it is written."""
    decoder, members = json.JSONDecoder(), {}
    begin = _BEGIN.match(text)
    if begin is None:
        raise ValueError(f"it begins with {text[:20]!r}")
    position, more = begin.end(), begin[1] is None
    while more:
        name, position = decoder.raw_decode(text, position)
        colon = _COLON.match(text, position)
        if not isinstance(name, str) or colon is None:
            raise ValueError(f"no name at character {position}")
        _, end = decoder.raw_decode(text, colon.end())
        members[name] = text[colon.end() : end]
        next_ = _NEXT.match(text, end)
        if next_ is None:
            raise ValueError(f"neither a comma nor its end at character {end}")
        position, more = next_.end(), next_[1] == ","
    if position != len(text):
        raise ValueError(f"more text behind its end at character {position}")
    return members
