"""What a column holds in rows from before it was there, as the source's schema says."""

import json
from datetime import datetime

import pyarrow as pa

from cdc.decode.decode_plan import DecodePlan
from cdc.decode.json_payloads import json_schema, read_payloads
from cdc.decode.table_values import table_values
from cdc.model import SourceColumn


def default_text(column: SourceColumn, target: pa.DataType, plan: DecodePlan) -> str | None:
    """Give a new column's default as text that can be cast to the table's type.

    None where there is none, and where it has no exact text: bytes, and nested values.
    """
    if column.default is None or pa.types.is_nested(target) or pa.types.is_binary(target):
        return None
    message = json.dumps({column.name: column.default}).encode()
    raw = read_payloads(pa.array([message], pa.binary()), json_schema([column]))
    if raw.bad_messages or not len(raw.indexes):
        return None
    values, bad_messages = table_values(
        raw.table[column.name].combine_chunks(), column.type, pa.field(column.name, target), plan
    )
    value = None if bad_messages else values[0].as_py()
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").replace("+00:00", "Z")
    return str(value)
