"""Avro messages for tests: written with another's library, read with ours."""

import io
import json
from base64 import b64decode
from collections.abc import Iterable, Sequence
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa

from cdc.decode.avro_messages import AvroGroup
from cdc.decode.avro_schema import parse_schema
from tests.unit.messages import RECORDED

Block = dict[str, Any] | list[Any] | str

VALUE = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {
            "name": "amount",
            "type": [
                "null",
                {
                    "type": "bytes",
                    "logicalType": "decimal",
                    "precision": 64,
                    "scale": 2,
                    "connect.name": "org.apache.kafka.connect.data.Decimal",
                    "connect.parameters": {"scale": "2"},
                },
            ],
        },
        {"name": "open", "type": ["boolean", "null"]},
        {"name": "tags", "type": ["null", {"type": "array", "items": ["null", "string"]}]},
        {"name": "weight", "type": ["null", "double"]},
        {
            "name": "size",
            "type": ["null", {"type": "enum", "name": "Size", "symbols": ["S", "M", "L"]}],
        },
    ],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "shop.public.orders",
    "connect.name": "shop.public.orders.Envelope",
    "fields": [
        {"name": "before", "type": ["null", VALUE], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {
            "name": "source",
            "type": {
                "type": "record",
                "name": "Source",
                "fields": [
                    {"name": "name", "type": "string"},
                    {"name": "lsn", "type": ["null", "long"]},
                    {"name": "table", "type": "string"},
                ],
            },
        },
        {"name": "op", "type": "string"},
    ],
}


def row(number: int) -> dict[str, Any]:
    """Make the row of a number; every few rows some value is null or empty."""
    return {
        "id": number,
        "note": None if number % 7 == 0 else f"note {number} ü" * (number % 5),
        "amount": None if number % 5 == 0 else number.to_bytes(4, "big", signed=True),
        "open": [True, False, None][number % 3],
        "tags": None if number % 4 == 0 else [f"t{number}", None][: number % 3],
        "weight": None if number % 6 == 0 else number / 8,
        "size": None if number % 9 == 0 else "SML"[number % 3],
    }


def change(number: int) -> dict[str, Any]:
    """Make the change of a number: every fourth is a delete."""
    deleted = number % 4 == 3
    return {
        "before": row(number) if deleted else None,
        "after": None if deleted else row(number),
        "source": {"name": "shop", "lsn": number * 8, "table": "orders"},
        "op": "d" if deleted else "c",
    }


def raw_change(number: int, *names: str) -> dict[str, Any]:
    """Give what a change is read as: those of its fields."""
    return {name: change(number)[name] for name in names}


def datums(block: Block, values: Iterable[Any]) -> list[bytes]:
    """Write values; what their logical types mean is left alone."""
    schema = fastavro.parse_schema(json.loads(json.dumps(block).replace("logicalType", "ignored")))
    written = []
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, value)
        written.append(out.getvalue())
    return written


def framed(id_: int, datum: bytes) -> bytes:
    """Put the header of Confluent's wire format before a datum."""
    return b"\x00" + id_.to_bytes(4, "big") + datum


def group_of(block: Block, written: Sequence[bytes]) -> AvroGroup:
    """Make the group of datums of one schema."""
    messages = pa.array([framed(7, datum) for datum in written], pa.binary())
    return AvroGroup(parse_schema(json.dumps(block)), np.arange(len(written)), messages)


def comparable(value: Any) -> Any:
    """Make values equal where they are the same: a NaN is not even equal to itself."""
    if isinstance(value, dict):
        return {name: comparable(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(part) for part in value]
    return "NaN" if value != value else value


def recorded_schemas() -> dict[int, str]:
    """Give the schemas of the registry that the recorded messages refer to."""
    ids = json.loads((RECORDED / "pg_avro.schemas.json").read_text())["ids"]
    return {int(id_): answer["schema"] for id_, answer in ids.items()}


def recorded_messages(name: str, part: str) -> dict[str, list[bytes]]:
    """Give the recorded keys or values of each topic."""
    topics: dict[str, list[bytes]] = {}
    for line in (RECORDED / name).read_text().splitlines():
        message = json.loads(line)
        if message[part] is not None:
            topics.setdefault(message["topic"], []).append(b64decode(message[part]))
    return topics
