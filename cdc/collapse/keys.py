"""Which changes have the same key."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.model import OFFSET, RESERVED, Op

ROW = RESERVED + "row"
# Changes after which a row is gone; a truncate stands for one delete of each key that it hits.
ENDS = pa.array([Op.DELETE, Op.TRUNCATE], pa.string())
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


def in_offset_order(changes: pa.Table) -> pa.Table:
    """Sort changes by Kafka offset; those of one offset keep their order."""
    offsets = changes[OFFSET].to_numpy()
    if len(offsets) < 2 or not (np.diff(offsets) < 0).any():
        return changes
    return changes.take(pa.array(np.argsort(offsets, kind="stable")))


def first_and_last(changes: pa.Table, key: Sequence[str]) -> tuple[pa.Array, pa.Array]:
    """Give the row numbers of each key's first and last change; nulls in a key are equal."""
    numbered = changes.select(list(key)).append_column(ROW, pa.array(np.arange(len(changes))))
    # One hash table over all key columns: as fast as sorting whole numbers, and good for any type.
    ranges = numbered.group_by(list(key), use_threads=False).aggregate([(ROW, "min"), (ROW, "max")])
    return ranges[f"{ROW}_min"].combine_chunks(), ranges[f"{ROW}_max"].combine_chunks()


def by_key(changes: pa.Table, key: Sequence[str]) -> tuple[Numbers, Numbers]:
    """Give the row numbers sorted by key, and the number of the key of each of them.

    The rows of one key keep their order; nulls in a key are equal.
    """
    rows = changes.select(list(key)).append_column(ROW, pa.array(np.arange(len(changes))))
    groups = rows.group_by(list(key), use_threads=False).aggregate([(ROW, "list")])
    lists = groups[f"{ROW}_list"].combine_chunks()
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    return lists.flatten().to_numpy(), np.repeat(np.arange(len(lists)), lengths)


def key_numbers(changes: pa.Table, key: Sequence[str]) -> Numbers:
    """Number the rows so that those of one key have the same number; nulls in a key are equal."""
    order, sorted_keys = by_key(changes, key)
    numbers = np.empty(len(changes), np.int64)
    numbers[order] = sorted_keys
    return numbers


def touched_keys(changes: pa.Table, key: Sequence[str]) -> pa.Table:
    """Give every key that has a change, once."""
    first, _ = first_and_last(changes, key)
    return changes.select(list(key)).take(first)


def of_touched_keys(rows: pa.Table, changes: pa.Table, key: Sequence[str]) -> pa.Table:
    """Keep the rows whose key has a change."""
    names = list(key)
    touched = changes.select(names)
    keys = pa.concat_tables([touched, rows.select(names).cast(touched.schema)])
    numbers = key_numbers(keys, key)
    return rows.filter(pa.array(np.isin(numbers[len(touched) :], numbers[: len(touched)])))


def mask(column: pa.ChunkedArray | pa.Array) -> Mask:
    """Make a column of yes and no an array; null is no."""
    found: Mask = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return found.astype(bool, copy=False)
