"""Debezium messages in Avro, made from those in JSON as Kafka Connect's Avro converters do.

`AvroTopic` keeps the schemas that its messages refer to, for a registry to serve.
"""

import base64
import io
import json
from dataclasses import replace
from typing import Any

import fastavro

from tests.unit.messages import Block, Message

PRIMITIVES = {
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
}


class AvroTopic:
    """Writes messages in Confluent's wire format; the same schema always gets the same id."""

    def __init__(self) -> None:
        self.schemas: dict[int, str] = {}
        self._known: dict[str, tuple[int, Any]] = {}

    def write(self, message: Message) -> Message:
        """Write a JSON message with schemas as Avro."""
        return replace(message, key=self.encode(message.key), value=self.encode(message.value))

    def encode(self, text: bytes | None) -> bytes | None:
        """Write one JSON document with its schema block as Avro."""
        if text is None:
            return None
        document = json.loads(text)
        block = document["schema"]
        identity = json.dumps(block)
        if identity not in self._known:
            number = len(self._known) + 1
            schema = avro_schema(block, "Value", set())
            self.schemas[number] = json.dumps(schema)
            self._known[identity] = (number, fastavro.parse_schema(schema))
        number, parsed = self._known[identity]
        out = io.BytesIO()
        out.write(b"\x00" + number.to_bytes(4, "big"))
        fastavro.schemaless_writer(out, parsed, avro_value(document["payload"], block))
        return out.getvalue()


def avro_schema(block: Block, name: str, named: set[str]) -> Any:
    """Describe a schema block in Avro; a record that was described before is only named."""
    kind = block["type"]
    extras: Block = {}
    if "name" in block:
        extras["connect.name"] = block["name"]
    if "parameters" in block:
        extras["connect.parameters"] = block["parameters"]
    if kind in ("int8", "int16"):
        extras["connect.type"] = kind
    if kind == "array":
        return {"type": "array", "items": _part(block["items"], f"{name}_item", named), **extras}
    if kind == "struct":
        full = block.get("name", f"ConnectDefault.{name}")
        if full in named:
            return full
        named.add(full)
        namespace, _, short = full.rpartition(".")
        fields = [_field(part, named) for part in block["fields"]]
        return {
            "type": "record",
            "name": short,
            "namespace": namespace,
            "fields": [
                {**f, "default": None} if isinstance(f["type"], list) else f for f in fields
            ],
            **extras,
        }
    return {"type": PRIMITIVES[kind], **extras} if extras else PRIMITIVES[kind]


def avro_value(value: Any, block: Block) -> Any:
    """Turn a JSON value into the one that Avro writes: base64 becomes bytes."""
    if value is None:
        return None
    kind = block["type"]
    if kind == "struct":
        return {f["field"]: avro_value(value.get(f["field"]), f) for f in block["fields"]}
    if kind == "array":
        return [avro_value(item, block["items"]) for item in value]
    if kind == "bytes":
        return base64.b64decode(value)
    return float(value) if kind in ("float", "double") else value


def _field(block: Block, named: set[str]) -> Block:
    field = {"name": block["field"], "type": _part(block, block["field"], named)}
    return {**field, "default": None} if block.get("optional") else field


def _part(block: Block, name: str, named: set[str]) -> Any:
    schema = avro_schema(block, name, named)
    return ["null", schema] if block.get("optional") else schema
