"""Values that were not sent since the database did not log them, such as unchanged TOAST."""

import hashlib
import json
import uuid
from base64 import b64encode
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Lengths = np.ndarray[Any, np.dtype[np.int64]]

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


def unsent_values(raw: pa.Array) -> Mask | None:
    """Find the rows of a raw column that hold the placeholder in place of a value, if any do."""
    found = _placeholders(raw)
    return found if found is not None and found.any() else None


def _placeholders(raw: pa.Array) -> Mask | None:
    if pa.types.is_string(raw.type):
        return _mask(pc.is_in(raw, _TEXTS))
    if pa.types.is_binary(raw.type):
        return _mask(pc.equal(raw, _BYTES))
    if pa.types.is_map(raw.type) and pa.types.is_string(raw.type.key_type):
        return _of_parts(raw, _placeholders(raw.keys), np.diff(raw.offsets.to_numpy()))
    if pa.types.is_list(raw.type):
        if pa.types.is_integer(raw.type.value_type):
            return _numbers(raw)
        lengths = pc.fill_null(pc.list_value_length(raw), 0).to_numpy(zero_copy_only=False)
        return _of_parts(raw, _placeholders(raw.flatten()), lengths)
    return None


def _of_parts(raw: pa.Array, parts: Mask | None, lengths: Lengths) -> Mask | None:
    """Say which lists have one of the parts that were found."""
    if parts is None or not parts.any():
        return None
    owners = np.repeat(np.arange(len(raw)), lengths)
    mask = np.zeros(len(raw), bool)
    mask[owners[parts]] = True
    return mask


def _numbers(raw: pa.Array) -> Mask:
    """Look for the list of the placeholder's bytes, which stands in arrays of numbers."""
    mask = _mask(pc.equal(pc.list_value_length(raw), len(_BYTES)))
    rows = np.flatnonzero(mask)
    alike = [value == list(_BYTES) for value in raw.take(pa.array(rows)).to_pylist()]
    mask[rows] = alike
    return mask


def _mask(values: pa.Array) -> Mask:
    mask: Mask = pc.fill_null(values, False).to_numpy(zero_copy_only=False).copy()
    return mask
