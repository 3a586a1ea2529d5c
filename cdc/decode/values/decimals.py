"""Decimals: unscaled big-endian numbers, numbers that bring their scale, and numbers as text.

Up to 76 digits whole columns are converted by Arrow; longer numbers, which no type holds, one by
one.
"""

from decimal import Decimal, InvalidOperation
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.byte_columns import ByteRows, Numbers, byte_rows
from cdc.model import SourceType
from cdc.model.logical import decimal_scale

# The most bytes that never exceed the digits of Arrow's 128-bit and 256-bit decimals.
NARROW: Final = 15
WIDE: Final = 31
NARROW_DIGITS: Final = 38
WIDE_DIGITS: Final = 76
# PostgreSQL's scales end at 1000. Debezium reads the eleven bits of a negative one without their
# sign, so that numeric(5,-2) has scale 2046 and its numbers 2046 zeros after the point.
GREATEST_SCALE: Final = 1000
SCALE_BITS: Final = 1 << 11
# More digits than any database has; a number beyond them is garbage that would fill the memory.
MOST_DIGITS: Final = 200_000

SPECIAL: Final = {
    "NAN": "nan",
    "NaN": "nan",
    "POSITIVE_INFINITY": "inf",
    "Infinity": "inf",
    "NEGATIVE_INFINITY": "-inf",
    "-Infinity": "-inf",
}


def decimals(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert the bytes of unscaled numbers that share the scale of their schema."""
    scale = decimal_scale(source)
    assert scale is not None
    return _scaled(raw, scale, target)


def variable_scale_decimals(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert pairs of scale and unscaled number."""
    scales = pc.struct_field(raw, "scale")
    values = pc.struct_field(raw, "value")
    if scales.null_count != raw.null_count or values.null_count != raw.null_count:
        raise pa.ArrowInvalid("a decimal without its scale or its digits")
    present = np.flatnonzero(raw.is_valid().to_numpy(zero_copy_only=False))
    own = scales.drop_null().to_numpy(zero_copy_only=False)
    parts = [pa.nulls(len(raw) - len(present), target)]
    order = [np.flatnonzero(raw.is_null().to_numpy(zero_copy_only=False))]
    for scale in np.unique(own).tolist():
        members = present[own == scale]
        parts.append(_scaled(values.take(pa.array(members)), scale, target))
        order.append(members)
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(order))))


def numeric_texts(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert numbers written as text."""
    if pa.types.is_float64(target):
        return _doubles(raw)
    try:
        # Arrow's own way to whole numbers would take hexadecimal ones too.
        exact = raw.cast(target if pa.types.is_decimal(target) else pa.decimal128(38, 0))
    except pa.ArrowInvalid:
        numbers = [_number(text) for text in raw.to_pylist()]
        return _from_python(numbers, target)
    return exact.cast(target)


def _scaled(raw: pa.Array, scale: int, target: pa.DataType) -> pa.Array:
    rows = byte_rows(raw)
    if (rows.valid & (rows.sizes == 0)).any():
        raise pa.ArrowInvalid("a decimal without a digit")
    if pa.types.is_decimal128(target) and scale == target.scale and rows.longest <= 8:
        return _short(rows, target)
    if rows.longest > WIDE or not -NARROW_DIGITS <= scale <= WIDE_DIGITS:
        return _one_by_one(raw, rows, scale, target)
    if pa.types.is_string(target):
        return _plain_text(_unscaled(rows, 0), scale)
    if pa.types.is_float64(target):
        return _doubles(_plain_text(_unscaled(rows, 0), scale))
    return _unscaled(rows, scale).cast(target)


def _short(rows: ByteRows, target: pa.Decimal128Type) -> pa.Array:
    """Take numbers of at most eight bytes, the usual ones, without any further conversion."""
    numbers = rows.words(1)[:, 0]
    limit = 10**target.precision
    if limit <= np.iinfo(np.int64).max and len(numbers):
        least, most = int(numbers.min()), int(numbers.max())
        if least <= -limit or most >= limit:
            raise pa.ArrowInvalid(f"a decimal that has more digits than {target}")
    words = np.stack((numbers, numbers >> 63), axis=1)
    return _from_words(rows, words, target)


def _unscaled(rows: ByteRows, scale: int) -> pa.Array:
    if rows.longest <= NARROW:
        return _from_words(rows, rows.words(2), pa.decimal128(NARROW_DIGITS, scale))
    return _from_words(rows, rows.words(4), pa.decimal256(WIDE_DIGITS, scale))


def _from_words(rows: ByteRows, words: Numbers, kind: pa.DataType) -> pa.Array:
    buffers = [rows.validity(), pa.py_buffer(np.ascontiguousarray(words))]
    return pa.Array.from_buffers(kind, len(rows), buffers, int((~rows.valid).sum()))


def _plain_text(unscaled: pa.Array, scale: int) -> pa.Array:
    """Write numbers without an exponent, which Arrow uses for small ones."""
    texts = unscaled.cast(pa.string())
    if scale == 0:
        return texts
    if scale < 0:
        zeros = pc.binary_join_element_wise(texts, "0" * -scale, "")
        return pc.if_else(pc.equal(texts, "0"), texts, zeros)
    digits = pc.utf8_lpad(pc.utf8_ltrim(texts, "-"), scale + 1, "0")
    sign = pc.if_else(pc.starts_with(texts, "-"), "-", "")
    whole = pc.utf8_slice_codeunits(digits, 0, -scale)
    fraction = pc.utf8_slice_codeunits(digits, -scale)
    return pc.binary_join_element_wise(pc.binary_join_element_wise(sign, whole, ""), fraction, ".")


def _doubles(texts: pa.Array) -> pa.Array:
    """Give the nearest double of each number; the one choice that is declared to round."""
    special = pc.is_in(texts, pa.array(list(SPECIAL)))
    if pc.any(special).as_py():
        indexes = pc.index_in(texts, pa.array(list(SPECIAL)))
        texts = pc.if_else(special, pa.array(list(SPECIAL.values())).take(indexes), texts)
    doubles = texts.cast(pa.float64())
    if pc.any(pc.and_(pc.is_inf(doubles), pc.invert(special))).as_py():
        raise pa.ArrowInvalid("a number beyond the greatest double")
    return doubles


def _one_by_one(raw: pa.Array, rows: ByteRows, scale: int, target: pa.DataType) -> pa.Array:
    """Convert what Arrow's decimals cannot hold: more than 76 digits, or such a scale."""
    if rows.longest * 3 > MOST_DIGITS or abs(scale) > MOST_DIGITS:
        raise pa.ArrowInvalid("a decimal of more digits than any database has")
    negative = GREATEST_SCALE < scale < SCALE_BITS
    numbers = []
    for index, valid in enumerate(rows.valid.tolist()):
        start, size = int(rows.starts[index]), int(rows.sizes[index])
        unscaled = int.from_bytes(rows.data[start : start + size].tobytes(), "big", signed=True)
        number = _exact(unscaled, scale)
        if negative and unscaled % 10**scale == 0:
            number = _exact(unscaled // 10**scale, 0)
        numbers.append(number if valid else None)
    return _from_python(numbers, target)


def _exact(unscaled: int, scale: int) -> Decimal:
    digits = tuple(map(int, _digits(abs(unscaled))))
    return Decimal((unscaled < 0, digits, -scale))


def _digits(number: int) -> str:
    """Write a number of any length; Python's own way refuses those of some thousand digits."""
    parts = []
    step = 10**1000
    while number >= step:
        number, part = divmod(number, step)
        parts.append(f"{part:01000}")
    return str(number) + "".join(reversed(parts))


def _number(text: str | None) -> Decimal | None:
    if text is None:
        return None
    if text in SPECIAL:
        raise pa.ArrowInvalid(
            f'{text} is no number of a table; types = "string" or "double" keeps it'
        )
    try:
        number = Decimal(text) if text.isascii() and len(text) < MOST_DIGITS else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite() or "_" in text or text != text.strip():
        raise pa.ArrowInvalid("a text that is no number")
    if abs(number.adjusted()) > MOST_DIGITS:
        raise pa.ArrowInvalid("a number of more digits than any database has")
    return number


def _from_python(numbers: list[Decimal | None], target: pa.DataType) -> pa.Array:
    if pa.types.is_string(target):
        return pa.array([None if n is None else format(n, "f") for n in numbers], target)
    if pa.types.is_float64(target):
        return _doubles(pa.array([None if n is None else str(n) for n in numbers], pa.string()))
    if pa.types.is_decimal(target):
        return pa.array([_shortened(n) for n in numbers], target)
    whole = [None if n is None else int(n) for n in numbers]
    if any(n is not None and w != n for n, w in zip(numbers, whole, strict=True)):
        raise pa.ArrowInvalid("a number with a fraction")
    try:
        return pa.array(whole, target)
    except OverflowError as error:
        raise pa.ArrowInvalid(f"a number that is no {target}") from error


def _shortened(number: Decimal | None) -> Decimal | None:
    """Drop zeros at the end, with which a number may seem to have too many digits."""
    if number is None or number == 0:
        return None if number is None else Decimal(0)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    kept = len("".join(map(str, digits)).rstrip("0"))
    return Decimal((sign, digits[:kept], exponent + len(digits) - kept))
