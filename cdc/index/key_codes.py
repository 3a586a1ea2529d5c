"""Keys as numbers: the same key, the same code, whatever width its columns had when written."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cdc.index.key_words import (
    BYTES,
    as_bytes,
    fixed_words,
    integers,
    is_exact,
    kind_of,
    truth,
    whole,
    words_at,
)

FIELD_ID = b"PARQUET:field_id"
# Rows whose words are hashed at a time: few enough for all of it to stay in the CPU's cache.
CHUNK = 1 << 14
LANES = 4  # each gives 32 bits of the code

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of some keys, in their order.

    A code is its `primary` alone, or where there is a `check` both: 128 bits, equal by chance less
    often than a disk lies. Keys that the index never holds, such as null where the table has no
    null, are not `valid`.
    """

    primary: Ints
    check: Ints | None
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.primary)

    def take(self, at: npt.NDArray[np.intp]) -> "Codes":
        """Pick codes by their numbers."""
        check = None if self.check is None else self.check[at]
        return Codes(self.primary[at], check, None if self.valid is None else self.valid[at])

    @staticmethod
    def joined(parts: "Sequence[Codes]") -> "Codes":
        """Put the codes of several tables one behind the other."""
        primary = np.concatenate([np.empty(0, np.int64), *(part.primary for part in parts)])
        checks = [part.check for part in parts if part.check is not None]
        valid = None
        if any(part.valid is not None for part in parts):
            every = (np.ones(len(p), np.bool_) if p.valid is None else p.valid for p in parts)
            valid = np.concatenate(list(every))
        return Codes(primary, np.concatenate(checks) if checks else None, valid)


class KeyCoder:
    """Turns key columns into codes.

    One integer, date or timestamp that is never null is its own code. Any other key is a vector of
    32-bit words, which an almost universal hash with secret coefficients maps to 128 bits: for two
    different keys, whoever chose them, the chance of one code is 2^-128.
    """

    def __init__(self, schema: pa.Schema, secret: bytes) -> None:
        """Prepare for some key columns.

        Args:
            schema: The key columns, with their field ids in the metadata.
            secret: 16 random bytes; other bytes give other codes.

        Raises:
            UnindexableKeyError: A column has a type that has no code.
        """
        self.schema = schema
        self.kinds = [kind_of(field) for field in schema]
        self.ids = [field_id(field) for field in schema]
        self.exact = len(schema) == 1 and is_exact(self.kinds[0]) and not schema.field(0).nullable
        self._key = int.from_bytes(secret[:16], "little")
        self._coefficients: dict[int, Words] = {}
        named = ",".join(f"{i}:{kind}" for i, kind in zip(self.ids, self.kinds, strict=True))
        print_ = hashlib.blake2b(secret, digest_size=8).hexdigest()
        # What a code depends on, so that codes of another key or secret are never taken for ours.
        self.signature = f"exact {named}" if self.exact else f"hash {print_} {named}"

    def codes(self, keys: pa.Table) -> Codes:
        """Give the code of every row of a table that has the key columns, by their names."""
        columns = [keys[field.name].cast(field.type) for field in self.schema]
        columns = [
            as_bytes(column) if kind == BYTES else column
            for kind, column in zip(self.kinds, columns, strict=True)
        ]
        if self.exact:
            return self._exact(columns[0])
        code = np.empty((2, len(keys)), np.uint64)
        for start in range(0, len(keys), CHUNK):
            rows = min(CHUNK, len(keys) - start)
            sums = np.zeros((LANES, rows), np.uint64)
            for number, kind, column in zip(self.ids, self.kinds, columns, strict=True):
                self._add(sums, number, kind, whole(column.slice(start, rows)))
            high = sums >> np.uint64(32)  # the low halves are not evenly spread
            code[:, start : start + rows] = (high[::2] << np.uint64(32)) | high[1::2]
        return Codes(code[0].view(np.int64), code[1].view(np.int64))

    def _exact(self, column: pa.ChunkedArray) -> Codes:
        values = whole(column)
        if not values.null_count:
            return Codes(integers(values), None)
        return Codes(integers(values), None, truth(values.is_valid()))

    def _add(self, sums: Words, number: int, kind: str, column: pa.Array) -> None:
        """Add a column's words, each times its coefficient, to the sums of all lanes.

        The first word is 0 for null, else 1, or for bytes their number + 1: so all words together
        tell null, empty, zero and the border between two texts apart.
        """
        if kind == BYTES:
            self._add_bytes(sums, number, column)
            return
        words = fixed_words(kind, column)
        coefficients = self._words(number, words.shape[1] + 1)
        valid = truth(column.is_valid()) if column.null_count else None
        if valid is not None:
            words[~valid] = 0
        for lane in range(LANES):
            flag = coefficients[0, lane]
            sums[lane] += flag if valid is None else flag * valid.astype(np.uint64)
            for i in range(words.shape[1]):
                sums[lane] += words[:, i] * coefficients[i + 1, lane]

    def _add_bytes(self, sums: Words, number: int, column: pa.Array) -> None:
        _, bounds, data = column.buffers()
        offsets = np.frombuffer(bounds, np.int64, len(column) + 1, 8 * column.offset)
        lengths = np.diff(offsets)
        flags = lengths + 1
        if column.null_count:
            valid = truth(column.is_valid())
            lengths, flags = lengths * valid, flags * valid
        counts = (lengths + 3) >> 2
        coefficients = self._words(number, int(counts.max(initial=0)) + 1)
        for lane in range(LANES):
            sums[lane] += flags.astype(np.uint64) * coefficients[0, lane]
        filled = np.flatnonzero(counts)
        if not len(filled):
            return
        lengths, counts, begins = lengths[filled], counts[filled], offsets[filled]
        ends = np.cumsum(counts)
        starts = ends - counts
        within = np.arange(ends[-1]) - np.repeat(starts, counts)
        words = words_at(data, offsets, np.repeat(begins, counts) + 4 * within)
        spare = (8 * (4 * counts - lengths)).astype(np.uint64)  # bits of the next value
        words[ends - 1] &= np.uint64(0xFFFFFFFF) >> spare
        for lane in range(LANES):
            products = words * coefficients[1:, lane][within]
            sums[lane, filled] += np.add.reduceat(products, starts)

    def _words(self, number: int, count: int) -> Words:
        """Give the coefficients of a column's first words, one column for each lane."""
        known = self._coefficients.get(number)
        if known is None or len(known) < count:
            size = max(count, 64)
            # A block of Philox is four numbers: word i of the column has those of counter i.
            stream = np.random.Philox(key=self._key, counter=[0, number, 0, 0])
            known = stream.random_raw(LANES * size).reshape(size, LANES)
            self._coefficients[number] = known
        return known


def field_id(field: pa.Field) -> int:
    """Read the Iceberg field id from a field's metadata."""
    return int(field.metadata[FIELD_ID])
