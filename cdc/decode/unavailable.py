"""Values that a change leaves out since the database did not log them, such as unchanged TOAST."""

import hashlib
import json
import uuid
from base64 import b64encode
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

PLACEHOLDER: Final = "__debezium_unavailable_value"
_BYTES: Final = PLACEHOLDER.encode()
# Debezium writes its placeholder in the type of the column: as text, bytes, UUID or a map.
_TEXTS: Final = pa.array(
    [
        PLACEHOLDER,
        b64encode(_BYTES).decode(),
        str(uuid.UUID(bytes=hashlib.md5(_BYTES).digest(), version=3)),
        json.dumps({PLACEHOLDER: PLACEHOLDER}),
        json.dumps({PLACEHOLDER: PLACEHOLDER}, separators=(",", ":")),
    ]
)


def unavailable(raw: pa.Array) -> bool:
    """Say whether a raw column holds the placeholder in place of a value."""
    if pa.types.is_string(raw.type):
        return bool(pc.any(pc.is_in(raw, _TEXTS)).as_py())
    if pa.types.is_list(raw.type):
        if pa.types.is_integer(raw.type.value_type):
            return _has_numbers(raw)
        return unavailable(raw.flatten())
    return False


def _has_numbers(raw: pa.Array) -> bool:
    """Look for the list of the placeholder's bytes, which stands in arrays of numbers."""
    as_long = raw.filter(pc.equal(pc.list_value_length(raw), len(_BYTES)))
    return list(_BYTES) in as_long.to_pylist()
