"""Raw columns for tests, as each wire format hands them over.

Values are given as a message means them, bytes as bytes: `raw_column` writes those as base64 text
for JSON and leaves them for Avro. `table_type` is the Arrow type that the mapping gives a column.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from cdc.config import ResolvedRule
from cdc.decode.json_payloads import json_type
from cdc.decode.values import convert
from cdc.dialect import Dialect
from cdc.model import SourceColumn, SourceSchema, SourceType
from cdc.schema import arrow_schema, iceberg_schema, mirror_columns
from connectors import DIALECTS

WIRES = ("json", "avro")
every_wire = pytest.mark.parametrize("wire", WIRES)
INT = SourceType("int32")


def typed(kind: str, logical: str | None = None, **parameters: Any) -> SourceType:
    """Describe a type with its parameters; `precision` is short for Connect's long name."""
    if "precision" in parameters:
        parameters["connect.decimal.precision"] = parameters.pop("precision")
    return SourceType(kind, logical, tuple(sorted((k, str(v)) for k, v in parameters.items())))


def array_of(element: SourceType) -> SourceType:
    """Describe an array."""
    return SourceType("array", element=element)


def struct_of(logical: str | None = None, **fields: SourceType) -> SourceType:
    """Describe a struct."""
    columns = tuple(SourceColumn(name, kind) for name, kind in fields.items())
    return SourceType("struct", logical, fields=columns)


def map_of(key: SourceType, value: SourceType) -> SourceType:
    """Describe a map."""
    return SourceType("map", fields=(SourceColumn("key", key), SourceColumn("value", value)))


def raw_type(source: SourceType, wire: str) -> pa.DataType:
    """Give the Arrow type in which a wire format hands over a column."""
    if wire == "json":
        return json_type(source)
    if source.element is not None:
        return pa.list_(raw_type(source.element, wire))
    if source.kind == "map":
        return pa.map_(*(raw_type(field.type, wire) for field in source.fields))
    if source.kind == "struct":
        return pa.struct([(f.name, raw_type(f.type, wire)) for f in source.fields])
    return pa.binary() if source.kind == "bytes" else json_type(source)


def raw_column(values: Sequence[Any], source: SourceType, wire: str) -> pa.Array:
    """Make the column that a wire format would hand over."""
    written = [_written(value, source, wire) for value in values]
    return pa.array(written, raw_type(source, wire))


def _written(value: Any, source: SourceType, wire: str) -> Any:
    if value is None:
        return None
    if source.element is not None:
        return [_written(item, source.element, wire) for item in value]
    if source.kind == "map":
        key, item = (field.type for field in source.fields)
        return [(_written(k, key, wire), _written(v, item, wire)) for k, v in value]
    if source.kind == "struct":
        return {f.name: _written(value.get(f.name), f.type, wire) for f in source.fields}
    if source.kind == "bytes" and wire == "json":
        return b64encode(value).decode()
    return value


def table_type(
    source: SourceType, choice: str | None = None, dialect: Dialect | None = None
) -> pa.DataType:
    """Give the type of a table's column, the mapping's own or a chosen one."""
    schema = SourceSchema((SourceColumn("k", INT), SourceColumn("v", source)), ("k",))
    types = {} if choice is None else {"v": choice}
    columns = mirror_columns(
        schema, "t", dialect or DIALECTS["postgres"], ResolvedRule(types=types or {})
    )
    return arrow_schema(iceberg_schema(columns), "t").field("v").type


def converted(
    values: Sequence[Any], source: SourceType, wire: str, choice: str | None = None
) -> pa.Array:
    """Convert values whole and as a slice of a longer column, which must be the same."""
    target = table_type(source, choice)
    raw = raw_column(values, source, wire)
    column = convert(raw, source, target)
    column.validate(full=True)
    assert column.type == target
    longer = pa.concat_arrays([raw, raw, raw]).slice(len(raw), len(raw))
    sliced = convert(longer, source, target)
    sliced.validate(full=True)
    # NaN is no equal of itself.
    assert sliced.equals(column) or repr(sliced.to_pylist()) == repr(column.to_pylist())
    return column


def refusal(value: Any, source: SourceType, wire: str = "json", choice: str | None = None) -> str:
    """Convert a value that does not fit, and give the reason for which it was refused."""
    target = table_type(source, choice)
    with pytest.raises(pa.ArrowInvalid) as raised:
        convert(raw_column([None, value], source, wire), source, target)
    return str(raised.value)
