"""Nested values as JSON text, for columns that are to be one text."""

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdc.model import SourceType, logical

NUMBERS = ("int8", "int16", "int32", "int64", "float", "double", "boolean")

Convert = Callable[[pa.Array, SourceType, pa.DataType], pa.Array]


def json_texts(raw: pa.Array, source: SourceType, convert: Convert) -> pa.Array:
    """Write each value as JSON: plain numbers as such, bytes as base64, all else as text."""
    values = _readable(raw, source, convert)
    texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    return pa.array(texts, pa.string())


def as_pairs(raw: pa.Array) -> pa.Array:
    """Give the maps of a column as lists of pairs, as which some formats hand them over."""
    if not pa.types.is_map(raw.type):
        return raw
    return raw.cast(pa.list_(pa.struct([raw.type.key_field, raw.type.item_field])))


def _readable(raw: pa.Array, source: SourceType, convert: Convert) -> list[Any]:
    if source.element is not None:
        items = iter(_readable(raw.flatten(), source.element, convert))
        lengths = pc.list_value_length(raw).to_pylist()
        return [None if n is None else [next(items) for _ in range(n)] for n in lengths]
    if source.kind == "map":
        return _maps(raw, source, convert)
    name = logical.meaning(source)
    if source.kind == "struct" and name != logical.VARIABLE_SCALE_DECIMAL:
        parts = [
            _readable(pc.struct_field(raw, [raw.type.get_field_index(f.name)]), f.type, convert)
            for f in source.fields
        ]
        names = [field.name for field in source.fields]
        rows = zip(*parts, strict=True) if parts else ((),) * len(raw)
        present = raw.is_valid().to_pylist()
        return [
            dict(zip(names, row, strict=True)) if there else None
            for row, there in zip(rows, present, strict=True)
        ]
    if name is None and source.kind in NUMBERS and not logical.is_unsigned_bigint(source):
        return [_number(value) for value in raw.to_pylist()]
    if name is None and source.kind == "bytes":
        binary = convert(raw, source, pa.binary()).to_pylist()
        return [None if value is None else b64encode(value).decode() for value in binary]
    return list(convert(raw, source, pa.string()).to_pylist())


def _maps(raw: pa.Array, source: SourceType, convert: Convert) -> list[Any]:
    """Write a map as an object if its keys are texts, else as a list of pairs."""
    key, value = (field.type for field in source.fields)
    pairs = as_pairs(raw)
    flat = pairs.flatten()
    keys = iter(_readable(pc.struct_field(flat, [0]), key, convert))
    values = iter(_readable(pc.struct_field(flat, [1]), value, convert))
    rows: list[Any] = []
    for length in pc.list_value_length(pairs).to_pylist():
        members = None if length is None else [(next(keys), next(values)) for _ in range(length)]
        if members is not None and key.kind == "string":
            rows.append(dict(members))
        else:
            rows.append(members)
    return rows


def _number(value: Any) -> Any:
    """Write what JSON has no number for as Kafka Connect does."""
    if value is None or (value == value and abs(value) != float("inf")):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
