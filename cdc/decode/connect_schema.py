"""The schema block of a JSON message: Kafka Connect's own description of key and value."""

from collections.abc import Mapping
from typing import Any

from cdc.model import SourceColumn, SourceType

PRIMITIVES = frozenset(
    ["int8", "int16", "int32", "int64", "float", "double", "boolean", "string", "bytes"]
)  # `float` is 32 bits wide


class SchemaBlockError(ValueError):
    """A schema block that is not one of Kafka Connect's."""


def source_type(block: Mapping[str, Any]) -> SourceType:
    """Turn one schema block into the type it describes."""
    if not isinstance(block, Mapping):
        raise SchemaBlockError(f"schema block that is no object: {str(block)[:200]}")
    kind = block.get("type")
    logical = block.get("name")
    parameters = block.get("parameters") or {}
    if not isinstance(kind, str) or not isinstance(parameters, Mapping):
        raise SchemaBlockError(f"schema block without a type: {str(block)[:200]}")
    if logical is not None and not isinstance(logical, str):
        raise SchemaBlockError(f"schema block with a name that is no text: {str(block)[:200]}")
    pairs = tuple(sorted((str(name), str(value)) for name, value in parameters.items()))
    if kind == "array":
        return SourceType(kind, logical, pairs, element=source_type(_part(block, "items")))
    if kind == "map":
        pair = (
            SourceColumn("key", source_type(_part(block, "keys"))),
            SourceColumn("value", source_type(_part(block, "values"))),
        )
        return SourceType(kind, logical, pairs, fields=pair)
    if kind == "struct":
        return SourceType(kind, logical, pairs, fields=columns_of(block))
    if kind not in PRIMITIVES:
        raise SchemaBlockError(f"schema block with the unknown type {kind!r}")
    return SourceType(kind, logical, pairs)


def columns_of(block: Mapping[str, Any]) -> tuple[SourceColumn, ...]:
    """List the fields of a struct's schema block in their order."""
    fields = block.get("fields") if isinstance(block, Mapping) else None
    if not isinstance(fields, list) or block.get("type") != "struct":
        raise SchemaBlockError(f"schema block that is no struct: {str(block)[:200]}")
    columns = []
    for part in fields:
        if not isinstance(part, Mapping) or not isinstance(part.get("field"), str):
            raise SchemaBlockError(f"struct field without a name: {str(part)[:200]}")
        try:
            part["field"].encode()
        except UnicodeEncodeError as error:
            raise SchemaBlockError("struct field with a name that is no text") from error
        # What Connect's own reader takes for granted, too.
        optional = part.get("optional") is True
        columns.append(
            SourceColumn(part["field"], source_type(part), optional, part.get("default"))
        )
    return tuple(columns)


def _part(block: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = block.get(name)
    if not isinstance(part, Mapping):
        raise SchemaBlockError(f"{block.get('type')} schema block without {name}")
    return part
