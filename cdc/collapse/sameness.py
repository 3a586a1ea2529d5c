"""Whether two rows have the same values."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse.keys import Mask, Numbers, mask

BITS = {pa.float16(): pa.uint16(), pa.float32(): pa.uint32(), pa.float64(): pa.uint64()}


def same_values(rows: pa.Table, left: Numbers, right: Numbers) -> Mask:
    """Tell for each pair of rows whether all columns have the same values; null is a value.

    Args:
        rows: The rows; no column in several chunks.
        left: The first rows of the pairs.
        right: The second ones.
    """
    alike = np.arange(len(left))  # the pairs without a difference so far
    for column in rows.columns:
        if not len(alike):
            break
        values = column.combine_chunks()
        first = values.take(pa.array(left[alike]))
        second = values.take(pa.array(right[alike]))
        alike = alike[_equal(first, second)]
    same = np.zeros(len(left), bool)
    same[alike] = True
    return same


def _equal(left: pa.Array, right: pa.Array) -> Mask:
    if pa.types.is_nested(left.type):
        # Arrow compares no nested values; as text, not-a-number is equal to itself.
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.array([repr(one) == repr(other) for one, other in pairs], bool)
    if left.type in BITS:  # by their bits not-a-number is equal to itself, and -0.0 is not 0.0
        left, right = left.view(BITS[left.type]), right.view(BITS[right.type])
    both_null = mask(pc.and_(pc.is_null(left), pc.is_null(right)))
    return mask(pc.equal(left, right)) | both_null
