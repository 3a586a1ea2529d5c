"""Messages in Avro, as the Avro converters of Kafka Connect write those that are made as JSON.

`avro_schema` turns a schema block of Kafka Connect into the Avro schema that a converter registers
for it, and `raw_value` a payload of JSON into the values that Avro writes. What the recordings have
in both formats holds the two together.
"""

import base64
from typing import Any

from tests.unit.messages import CONNECT_DECIMAL, PRECISION, Block

KINDS = {
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
WIDEST = 64  # the precision that converters give a decimal whose schema names none


def avro_schema(block: Block) -> Any:
    """Give the Avro schema of the messages that a schema block describes."""
    return _schema(block, set())


def raw_value(parts: Block) -> Any:
    """Give a payload with its bytes as bytes."""
    return _value(parts["payload"], parts["schema"])


def _value(payload: Any, block: Block) -> Any:
    kind = block["type"]
    if payload is None:
        return None
    if kind == "bytes":
        return base64.b64decode(payload)
    if kind == "array":
        return [_value(item, block["items"]) for item in payload]
    if kind == "struct":
        members = {field["field"]: field for field in block["fields"]}
        return {name: _value(value, members[name]) for name, value in payload.items()}
    return payload


def _schema(block: Block, named: set[str]) -> Any:
    schema = _annotated(block, named)
    if not block.get("optional"):
        return schema
    return [schema, "null"] if block.get("default") is not None else ["null", schema]


def _annotated(block: Block, named: set[str]) -> Any:
    kind, name = block["type"], block.get("name")
    if kind == "struct" and name in named:
        return name
    schema: Block = {"type": KINDS.get(kind, kind)}
    if kind == "array":
        schema = {"type": "array", "items": _schema(block["items"], named)}
    if kind == "struct":
        named.add(str(name))
        space, _, short = str(name).rpartition(".")
        fields = [_field(field, named) for field in block["fields"]]
        schema = {"type": "record", "name": short, "namespace": space, "fields": fields}
    if name == CONNECT_DECIMAL:
        parameters = block["parameters"]
        schema |= {
            "scale": int(parameters["scale"]),
            "precision": int(parameters.get(PRECISION, WIDEST)),
        }
    if "doc" in block:
        schema["connect.doc"] = block["doc"]
    if "version" in block:
        schema["connect.version"] = block["version"]
    if "parameters" in block:
        schema["connect.parameters"] = block["parameters"]
    if "default" in block:
        schema["connect.default"] = _default(block)
    if kind in ("int8", "int16"):
        schema["connect.type"] = kind
    if name is not None:
        schema["connect.name"] = name
    if name == CONNECT_DECIMAL:
        schema["logicalType"] = "decimal"
    return schema["type"] if list(schema) == ["type"] else schema


def _field(block: Block, named: set[str]) -> Block:
    field = {"name": block["field"], "type": _schema(block, named)}
    if "default" in block:
        field["default"] = _default(block)
    elif block.get("optional"):
        field["default"] = None
    return field


def _default(block: Block) -> Any:
    """Write a default as Avro does: bytes as the characters of their numbers."""
    if block["type"] == "bytes":
        return base64.b64decode(block["default"]).decode("latin-1")
    return block["default"]
