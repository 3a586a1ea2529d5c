"""The key that a row had before its key changed, from a header of the record that creates it anew.

Debezium sends such a change as a delete of the old key and an insert of the new one, and names the
old key in the insert's header `__debezium.oldkey`. What an insert leaves out, such as unchanged
TOAST, can only be found under that key.
"""

import base64
import json
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import numpy as np
import pyarrow as pa

from cdc.config import RecordFormat
from cdc.decode.decode_plan import DecodePlan
from cdc.decode.json_payloads import Number
from cdc.decode.messages import BadRecords
from cdc.decode.record_keys import RecordKeys
from cdc.decode.wire import NoRegistryError
from cdc.model import SourceColumn, SourceType, logical

OLD_KEY_HEADER: Final = "__debezium.oldkey"


def old_key(header: bytes, plan: DecodePlan) -> dict[str, Any] | None:
    """Read the header's key as the table has it; None where it cannot be told.

    The worker's header converter decides how it is written. The usual one writes the values alone,
    whatever the format of keys and values; others write like those.

    Args:
        header: The header's bytes.
        plan: What is known of the topic; the table has a schema and a key.
    """
    table = plan.table
    if table is None or not table.key:
        return None
    # The converter of headers need not be that of keys.
    plan = replace(plan, wire=replace(plan.wire, format=RecordFormat.AUTO))
    columns = max((schema.columns for schema in table.known), key=len, default=())
    message = _with_decimals(header, columns)
    bad_records, values = BadRecords(), {}
    keys = RecordKeys(pa.array([message], pa.binary()), plan, bad_records)
    try:
        parts = keys.columns(np.zeros(1, np.int64), columns)
    except NoRegistryError:
        return None
    for name in table.key:
        if name not in parts or not parts[name].pieces:
            return None
        values[name] = keys.values(parts[name], table.schema.field(name))[0].as_py()
    return None if bad_records.rows else values


def _with_decimals(header: bytes, columns: tuple[SourceColumn, ...]) -> bytes:
    """Write decimals as messages have them: the usual converter writes them as plain numbers."""
    try:
        parsed = json.loads(header, parse_float=Number, strict=False)
    except (ValueError, RecursionError):
        return header
    if not isinstance(parsed, dict) or "payload" in parsed:
        return header
    types = {column.name: column.type for column in columns}
    for name, value in parsed.items():
        if name in types and type(value) in (int, Number):
            parsed[name] = _unscaled(value, types[name])
    return json.dumps(parsed, separators=(",", ":")).encode()


def _unscaled(value: int | Number, kind: SourceType) -> Any:
    scale = logical.decimal_scale(kind) if logical.meaning(kind) == logical.DECIMAL else None
    if scale is None:
        return float(value) if isinstance(value, Number) else value
    try:
        exact = Decimal(str(value)).scaleb(scale)
        number = int(exact)
    except (InvalidOperation, OverflowError, ValueError):
        return value
    if number != exact:
        return value
    width = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(width, "big", signed=True)).decode()
