"""Columns of bytes, binary or base64 text, as one run of bytes with the offset of each value.

Nothing here takes a Python step per row. Base64 is decoded over all texts at once: each is a whole
number of four-letter groups, so the groups of a column lie in one row of blocks.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
PADDING: Final = ord("=")
NO_DIGIT: Final = 255
WORD: Final = 8
MOST_WORDS: Final = 4
# Room before the first value, so that the words that end with a value can be loaded everywhere.
FRONT: Final = WORD * MOST_WORDS

_SIX_BITS: Final[Bytes] = np.full(256, NO_DIGIT, np.uint8)
_SIX_BITS[np.frombuffer(ALPHABET, np.uint8)] = np.arange(64, dtype=np.uint8)
_SIX_BITS[PADDING] = 0  # where it stands is checked apart


@dataclass(frozen=True, slots=True)
class ByteRows:
    """The values of a column of bytes; a null has no bytes."""

    data: Bytes  # FRONT bytes of nothing, then the values
    starts: Numbers
    sizes: Numbers
    valid: Flags

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def longest(self) -> int:
        """The size of the longest value."""
        return int(self.sizes.max(initial=0))

    def words(self, count: int) -> Numbers:
        """Read values of at most `count` words as signed numbers, most significant byte first.

        Returns:
            One line per value, its least significant word first; the sign fills what is above.
        """
        assert count <= MOST_WORDS
        # One number for each offset at which eight bytes begin.
        at = np.ndarray((len(self.data) - WORD + 1,), ">i8", self.data.data, 0, (1,))
        ends = self.starts + self.sizes
        last = len(self.data) - 1
        sign = np.where(self.data[np.minimum(self.starts, last)] >= 0x80, -1, 0).astype(np.int64)
        sign[self.sizes == 0] = 0
        words = np.empty((len(self), count), np.int64)
        for index in range(count):
            loaded = at[ends - WORD * (index + 1)].astype(np.int64)
            held = np.clip(self.sizes - WORD * index, 0, WORD)
            foreign = np.minimum(8 * (WORD - held), 63)
            words[:, index] = np.where(held > 0, (loaded << foreign) >> foreign, sign)
        return words

    def lines(self, width: int) -> Bytes:
        """Lay values of at most `width` bytes side by side, zeros after the shorter ones."""
        columns = np.arange(width)
        indexes = np.minimum(self.starts[:, None] + columns, len(self.data) - 1)
        held = columns < self.sizes[:, None]
        return np.where(held, self.data[indexes], 0).astype(np.uint8)

    def validity(self) -> pa.Buffer | None:
        """Give the validity bits of a column of these rows."""
        if self.valid.all():
            return None
        return pa.py_buffer(np.packbits(self.valid, bitorder="little"))


def byte_rows(column: pa.Array) -> ByteRows:
    """Find the values of a column: bytes as they are, texts as base64.

    Raises:
        pa.ArrowInvalid: A text is not base64.
    """
    if pa.types.is_string(column.type):
        return _base64_rows(column)
    starts, sizes, valid, values = _spans(column.cast(pa.binary()))
    return ByteRows(_with_front(values), starts + FRONT, sizes, valid)


def to_binary(column: pa.Array) -> pa.Array:
    """Turn a column of bytes or base64 texts into a column of bytes."""
    if pa.types.is_binary(column.type):
        return column
    rows = byte_rows(column)
    offsets = np.concatenate(([0], np.cumsum(rows.sizes)))
    data = rows.data[FRONT:]
    if len(data) != offsets[-1]:
        data = data[_kept(rows, len(data))]
    buffers = [rows.validity(), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(rows), buffers, int((~rows.valid).sum()))


def _kept(rows: ByteRows, length: int) -> Flags:
    """Mark the bytes of values: a group of fewer than three has one or two after it that are none.

    The values lie in their order, each from the start of a group.
    """
    kept = np.ones(length, np.bool_)
    ends = rows.starts + rows.sizes - FRONT
    surplus = -rows.sizes % 3
    kept[ends[surplus >= 1]] = False
    kept[ends[surplus == 2] + 1] = False
    return kept


def _base64_rows(texts: pa.Array) -> ByteRows:
    starts, sizes, valid, letters = _spans(texts)
    if (sizes % 4).any():
        raise pa.ArrowInvalid("a text that is not base64")
    full = np.flatnonzero(sizes)
    ends = (starts + sizes)[full]
    one = letters[ends - 1] == PADDING
    two = one & (letters[ends - 2] == PADDING)
    digits = _SIX_BITS[letters]
    if (digits == NO_DIGIT).any() or (letters == PADDING).sum() != one.sum() + two.sum():
        raise pa.ArrowInvalid("a text that is not base64")
    first, second, third, fourth = digits.reshape(-1, 4).T
    data = np.empty(FRONT + len(digits) // 4 * 3, np.uint8)
    data[:FRONT] = 0
    data[FRONT::3] = first << 2 | second >> 4
    data[FRONT + 1 :: 3] = second << 4 | third >> 2
    data[FRONT + 2 :: 3] = third << 6 | fourth
    lengths = sizes // 4 * 3
    lengths[full] -= one.astype(np.int64) + two
    return ByteRows(data, starts // 4 * 3 + FRONT, lengths, valid)


def _spans(column: pa.Array) -> tuple[Numbers, Numbers, Flags, Bytes]:
    """Give start, size and validity of each value, and the bytes from the first start on."""
    valid: Flags = column.is_valid().to_numpy(zero_copy_only=False)
    if column.null_count:
        # A null may lie over bytes of its own; filled, it lies over none.
        column = pc.fill_null(column, pa.scalar(b"").cast(column.type))
    buffers = column.buffers()
    offsets = np.frombuffer(buffers[1], np.int32)[column.offset :][: len(column) + 1]
    if not len(column) or buffers[2] is None:
        nothing = np.zeros(len(column), np.int64)
        return nothing, nothing, valid, np.zeros(0, np.uint8)
    values = np.frombuffer(buffers[2], np.uint8)[offsets[0] : offsets[-1]]
    starts = offsets.astype(np.int64) - int(offsets[0])
    return starts[:-1], np.diff(starts), valid, values


def _with_front(values: Bytes) -> Bytes:
    return np.concatenate((np.zeros(FRONT, np.uint8), values))
