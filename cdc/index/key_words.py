"""The values of a key column as 32-bit words, the same for all types it may be widened to."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cdc.errors import UnindexableKeyError

BYTES = "bytes"
WIDEST = 38  # digits of a decimal


def kind_of(field: pa.Field) -> str:
    """Name what a column's values are; no widening that Iceberg allows changes the name.

    Raises:
        UnindexableKeyError: The values cannot be compared as words.
    """
    found = field.type
    if pa.types.is_signed_integer(found):
        return "int"
    if pa.types.is_boolean(found):
        return "bool"
    if pa.types.is_floating(found):
        return "float"
    if pa.types.is_decimal128(found):
        return f"decimal.{found.scale}"
    if pa.types.is_date32(found):
        return "date"
    if pa.types.is_time64(found):
        return f"time.{found.unit}"
    if pa.types.is_timestamp(found):
        return f"timestamp.{found.unit}"
    if any(is_kind(found) for is_kind in _BYTES):
        return BYTES
    raise UnindexableKeyError(field.name, str(found))


_BYTES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)


def is_exact(kind: str) -> bool:
    """Tell whether a value is a whole number of 64 bits, so that it can be its own code."""
    return kind in ("int", "date") or kind.startswith("timestamp")


def whole(column: pa.ChunkedArray) -> pa.Array:
    """Give a column as one array."""
    chunks = column.combine_chunks()
    # An empty column has no chunk, and older versions of pyarrow then give none.
    return pa.concat_arrays(chunks.chunks) if isinstance(chunks, pa.ChunkedArray) else chunks


def integers(column: pa.Array) -> npt.NDArray[np.int64]:
    """Give numbers, days or moments as their 64 bits; null as 0."""
    if pa.types.is_date32(column.type):
        column = column.view(pa.int32())
    elif pa.types.is_temporal(column.type):
        column = column.view(pa.int64())
    wide = column.cast(pa.int64())
    numbers: npt.NDArray[np.int64] = (wide.fill_null(0) if wide.null_count else wide).to_numpy()
    return numbers


def truth(flags: pa.Array) -> npt.NDArray[np.bool_]:
    """Give booleans without nulls as an array."""
    found: npt.NDArray[np.bool_] = flags.to_numpy(zero_copy_only=False)
    return found


def fixed_words(kind: str, column: pa.Array) -> npt.NDArray[np.uint64]:
    """Give the words of values that all have the same number of them; any words for null."""
    if kind.startswith("decimal"):
        wide = column.cast(pa.decimal128(WIDEST, column.type.scale))
        data = wide.buffers()[1]
        quads = np.frombuffer(data, "<u4", 4 * len(wide), 16 * wide.offset)
        return quads.reshape(-1, 4).astype(np.uint64)
    if kind == "bool":
        return truth(column.fill_null(False)).astype(np.uint64).reshape(-1, 1)
    if kind == "float":
        bits = _one_zero_one_nan(column.cast(pa.float64()).fill_null(0.0).to_numpy()).view("<u4")
    else:
        bits = np.ascontiguousarray(integers(column)).view("<u4")
    words: npt.NDArray[np.uint64] = bits.reshape(-1, 2).astype(np.uint64)
    return words


def _one_zero_one_nan(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Give the bits of numbers, the same for what is one key: 0 and -0, and all that is no number.

    Bits alone are looked at: arithmetic with a signalling NaN is an error.
    """
    bits = numbers.view(np.uint64).copy()
    unsigned = bits & np.uint64(0x7FFFFFFFFFFFFFFF)
    bits[unsigned == 0] = 0
    bits[unsigned > np.uint64(0x7FF0000000000000)] = np.uint64(0x7FF8000000000000)
    return bits


def as_bytes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give texts or bytes of any length as bytes with 64-bit offsets."""
    if pa.types.is_fixed_size_binary(column.type):
        column = column.cast(pa.binary())
    return pc.cast(column, pa.large_binary())


def words_at(
    data: pa.Buffer, offsets: npt.NDArray[np.int64], at: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:
    """Read the words that begin at some bytes; the last may go beyond the end."""
    least, greatest = int(offsets[0]), int(offsets[-1])
    padded = np.zeros(greatest - least + 4, np.uint8)
    padded[:-4] = np.frombuffer(data, np.uint8, greatest - least, least)
    every: npt.NDArray[np.uint32] = np.ndarray((greatest - least + 1,), "<u4", padded, strides=(1,))
    return every[at - least].astype(np.uint64)
