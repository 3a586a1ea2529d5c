"""What a JSON message without a schema is, and the raw types under which its like can be read."""

import json
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

import pyarrow as pa

from cdc.decode.inference import Kind, kind_of
from cdc.decode.json_payloads import Number

ENVELOPE: Final = frozenset({"op", "source", "after"})
TEXT: Final = pa.string()
TRANSACTION: Final = pa.struct(
    [("id", TEXT), ("total_order", pa.int64()), ("data_collection_order", pa.int64())]
)
# What MongoDB's connector says of an update, beside the document itself.
UPDATE: Final = pa.struct(
    [
        ("removedFields", pa.list_(TEXT)),
        ("updatedFields", TEXT),
        ("truncatedArrays", pa.list_(pa.struct([("field", TEXT), ("size", pa.int64())]))),
    ]
)
# Fields of source blocks that are numbers where they are not null.
NUMBERS: Final = frozenset(
    [
        *("ts_ms", "ts_us", "ts_ns", "lsn", "txId", "xmin", "origin_lsn", "pos", "row", "thread"),
        *("server_id", "event_serial_no", "ord", "ssn", "redo_thread"),
    ]
)
# The raw types of values that are read at once; of other kinds each value is looked at.
RAW_KINDS: Final = {
    Kind.NULL: pa.null(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.LONG: pa.int64(),
    Kind.NUMBER: pa.float64(),
    Kind.TEXT: TEXT,
}


class Shape(Enum):
    """What a message is."""

    CHANGE = "an envelope around a row"
    DOCUMENT = "an envelope around the text of a document"
    PLAIN = "a row, or a key"


def parsed_object(text: bytes) -> dict[str, Any]:
    """Parse a message.

    Raises:
        ValueError: It is no JSON object.
        RecursionError: It is nested too deeply.
    """
    parsed = json.loads(text, parse_float=Number)
    if not isinstance(parsed, dict):
        raise ValueError(f"it begins with {text[:20]!r}")
    return parsed


def object_or_empty(value: Any) -> dict[str, Any]:
    """Give an object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def shape_of(message: dict[str, Any]) -> Shape:
    """Recognise a message by its fields."""
    if not message.keys() >= ENVELOPE:
        return Shape.PLAIN
    after, before = message["after"], message.get("before")
    if isinstance(after, str) or (after is None and isinstance(before, str)):
        return Shape.DOCUMENT
    if after is None and "collection" in object_or_empty(message["source"]):
        return Shape.DOCUMENT
    return Shape.CHANGE


def row_of(message: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Give the columns of a message's row; of a deleted row the names alone are of use."""
    if shape is Shape.PLAIN:
        return message
    if shape is Shape.DOCUMENT:
        return {}
    after = message["after"]
    return object_or_empty(
        after if after else dict.fromkeys(object_or_empty(message.get("before")))
    )


def envelope_fields(messages: Sequence[dict[str, Any]], row: pa.DataType) -> dict[str, pa.DataType]:
    """Give the raw types of an envelope's fields, as some messages have them.

    Raises:
        ValueError: A field is nothing that Debezium writes there.
    """
    fields: dict[str, pa.DataType] = {}
    source: dict[str, pa.DataType] = {}
    for message in messages:
        for name, value in message.items():
            if name == "source":
                for key, part in object_or_empty(value).items():
                    _add(source, key, TEXT if part is None else _scalar(key, part))
            elif name in _BLOCKS:
                fields[name] = _BLOCKS[name]
            elif name in ("before", "after"):
                fields[name] = row
            else:
                _add(fields, name, pa.null() if value is None else _scalar(name, value))
    for key in NUMBERS & source.keys():
        source[key] = pa.int64()
    return {**fields, "source": pa.struct(list(source.items()))}


_BLOCKS: Final = {"transaction": TRANSACTION, "updateDescription": UPDATE}


def _add(fields: dict[str, pa.DataType], name: str, kind: pa.DataType) -> None:
    if name not in fields or pa.types.is_null(fields[name]):
        fields[name] = kind


def _scalar(name: str, value: Any) -> pa.DataType:
    kind = kind_of(value)
    if kind is Kind.SPECIAL:
        return TEXT
    if kind not in RAW_KINDS:
        raise ValueError(f"{name} is {kind.value}")
    return RAW_KINDS[kind]
