"""Bit strings, which Debezium sends least significant byte first and without leading zeros."""

from typing import Final

import numpy as np
import pyarrow as pa

from cdc.decode.byte_columns import ByteRows, Bytes, byte_rows
from cdc.model import SourceType
from cdc.model.logical import bit_length

# PostgreSQL's longest bit string. A bit varying without a length is said to have 2^31 - 1.
LONGEST: Final = 83_886_080


def bits(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert bit strings to bytes, most significant first, to 0s and 1s, or to a number."""
    rows = byte_rows(raw)
    length = bit_length(source)
    if length is None or not 0 < length <= LONGEST:
        return _of_any_length(rows, target)
    width = -(-length // 8)
    lines = rows.lines(max(width, rows.longest))
    if lines[:, width:].any() or (length % 8 and (lines[:, width - 1] >> length % 8).any()):
        raise pa.ArrowInvalid(f"a bit string of more than {length} bits")
    lines = lines[:, :width]
    if pa.types.is_binary(target):
        return _fixed(rows, lines[:, ::-1], target)
    if pa.types.is_string(target):
        digits = np.unpackbits(lines[:, ::-1], axis=1)[:, width * 8 - length :]
        return _fixed(rows, digits + ord("0"), target)
    return _numbers(rows, lines, target)


def _of_any_length(rows: ByteRows, target: pa.DataType) -> pa.Array:
    """Convert bit strings without a declared length: none takes more room than it needs."""
    if not pa.types.is_binary(target) and not pa.types.is_string(target):
        return _numbers(rows, rows.lines(rows.longest), target)
    values = [
        rows.data[start : start + size][::-1].tobytes() if valid else None
        for start, size, valid in zip(rows.starts, rows.sizes, rows.valid, strict=True)
    ]
    if pa.types.is_string(target):
        texts = [None if v is None else f"{int.from_bytes(v, 'big'):b}" for v in values]
        return pa.array(texts, target)
    return pa.array(values, target)


def _fixed(rows: ByteRows, lines: Bytes, target: pa.DataType) -> pa.Array:
    """Make a column of values that are all of one size."""
    if lines.size > np.iinfo(np.int32).max:
        raise pa.ArrowInvalid("more than 2 GB of bits in one column of one chunk")
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(lines.shape[1])
    buffers = [rows.validity(), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(lines))]
    return pa.Array.from_buffers(target, len(rows), buffers, int((~rows.valid).sum()))


def _numbers(rows: ByteRows, lines: Bytes, target: pa.DataType) -> pa.Array:
    if lines[:, 8:].any():
        raise pa.ArrowInvalid("a bit string of more than 64 bits")
    padded = np.zeros((len(rows), 8), np.uint8)
    padded[:, : min(lines.shape[1], 8)] = lines[:, :8]
    numbers = pa.array(padded.view("<u8")[:, 0], mask=~rows.valid)
    if pa.types.is_decimal(target):
        return numbers.cast(pa.decimal256(76, 0)).cast(target)
    return numbers.cast(target)
