"""Base64 text columns to bytes and decimals, without a Python call per row."""

import binascii
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

# Longer texts are decoded one by one: gathering them would take eight times their memory.
LONGEST_GATHERED = 4096

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Rows = np.ndarray[Any, np.dtype[np.int64]]

ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
NO_DIGIT = 255
PADDING = ord("=")
DECIMAL_WIDTH = 16

_SIX_BITS = np.full(256, NO_DIGIT, np.uint8)
_SIX_BITS[np.frombuffer(ALPHABET, np.uint8)] = np.arange(64, dtype=np.uint8)


def decode_base64(texts: pa.Array) -> pa.Array:
    """Decode a column of base64 texts into a column of bytes."""
    lengths = np.zeros(len(texts), np.int64)
    groups = list(_decoded_by_length(texts))
    for rows, decoded in groups:
        lengths[rows] = decoded.shape[1]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    if offsets[-1] > np.iinfo(np.int32).max:
        raise pa.ArrowInvalid("more than 2 GB of bytes in one column of one chunk")
    data = np.empty(offsets[-1], np.uint8)
    for rows, decoded in groups:
        places = offsets[rows][:, None] + np.arange(decoded.shape[1])
        data[places] = decoded
    buffers = [_validity(texts), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(texts), buffers, texts.null_count)


def decode_base64_decimals(texts: pa.Array, target: pa.Decimal128Type) -> pa.Array:
    """Decode base64 of big-endian two's complement numbers, the unscaled values of decimals.

    Raises:
        pa.ArrowInvalid: A number has more digits than the type's precision.
    """
    values = np.zeros((len(texts), DECIMAL_WIDTH), np.uint8)
    for rows, decoded in _decoded_by_length(texts):
        width = decoded.shape[1]
        if width == 0:
            raise pa.ArrowInvalid("a decimal without a digit")
        negative = decoded[:, :1] >= 0x80
        if width > DECIMAL_WIDTH:
            surplus = decoded[:, : width - DECIMAL_WIDTH]
            kept = decoded[:, width - DECIMAL_WIDTH :]
            sign = np.where(negative, 0xFF, 0).astype(np.uint8)
            if (surplus != sign).any() or ((kept[:, :1] >= 0x80) != negative).any():
                raise pa.ArrowInvalid(f"a decimal does not fit {target}")
            decoded, width = kept, DECIMAL_WIDTH
        # Arrow keeps the number in 16 bytes, least first, the sign filling what is above.
        values[rows] = np.where(negative, 0xFF, 0)
        values[rows[:, None], np.arange(width)] = decoded[:, ::-1]
    buffers = [_validity(texts), pa.py_buffer(values)]
    widest = pa.decimal128(38, target.scale)
    decimals = pa.Array.from_buffers(widest, len(texts), buffers, texts.null_count)
    # Sixteen bytes hold some numbers of 39 digits; only the way over the wider type notices them.
    return decimals.cast(pa.decimal256(76, target.scale)).cast(target)


def _decoded_by_length(texts: pa.Array) -> Iterator[tuple[Rows, Bytes]]:
    """Decode texts of equal length and padding together: rows, and one line of bytes per row."""
    present = np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False))
    if not len(present):
        return
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    source = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    starts = offsets[:-1][present].astype(np.int64)
    sizes = (offsets[1:][present] - offsets[:-1][present]).astype(np.int64)
    for size in np.unique(sizes).tolist():
        if size % 4:
            raise pa.ArrowInvalid("a text that is not base64")
        members = sizes == size
        rows = present[members]
        if size == 0:
            yield rows, np.empty((len(rows), 0), np.uint8)
            continue
        if size > LONGEST_GATHERED:
            yield from _decoded_singly(rows, source, starts[members], size)
            continue
        letters = source[starts[members][:, None] + np.arange(size)]
        padding = (letters[:, -1] == PADDING).astype(np.int64) + (letters[:, -2] == PADDING)
        for pad in np.unique(padding).tolist():
            chosen = padding == pad
            yield rows[chosen], _decode_lines(letters[chosen], pad)


def _decoded_singly(
    rows: Rows, source: Bytes, starts: Rows, size: int
) -> Iterator[tuple[Rows, Bytes]]:
    for place, start in enumerate(starts.tolist()):
        try:
            decoded = binascii.a2b_base64(source[start : start + size].tobytes(), strict_mode=True)
        except binascii.Error as error:
            raise pa.ArrowInvalid("a text that is not base64") from error
        yield rows[place : place + 1], np.frombuffer(decoded, np.uint8)[None, :]


def _decode_lines(letters: Bytes, padding: int) -> Bytes:
    digits = _SIX_BITS[letters]
    if padding:
        digits[:, -padding:] = 0
    if (digits == NO_DIGIT).any():
        raise pa.ArrowInvalid("a text that is not base64")
    quads = digits.reshape(len(letters), -1, 4).astype(np.uint32)
    words = quads[..., 0] << 18 | quads[..., 1] << 12 | quads[..., 2] << 6 | quads[..., 3]
    triples = np.stack((words >> 16 & 0xFF, words >> 8 & 0xFF, words & 0xFF), axis=-1)
    decoded = triples.astype(np.uint8).reshape(len(letters), -1)
    return decoded[:, : decoded.shape[1] - padding]


def _validity(texts: pa.Array) -> pa.Buffer | None:
    if not texts.null_count:
        return None
    bits = np.packbits(texts.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
    return pa.py_buffer(bits)
