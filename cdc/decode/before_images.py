"""Rows as they were before a change: how much a message says of them."""

from collections.abc import Collection
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.messages import Mask

# What stands for zero in texts: of a decimal in base64, and of a time with its zone.
_EMPTY_TEXTS: Final = pa.array(["", "AA==", "1970-01-01T00:00:00Z"])
_EMPTY_BYTES: Final = pa.array([b"", b"\x00"])


def usable(images: pa.StructArray, key: Collection[str]) -> Mask:
    """Find the images that tell more of a row than its key.

    A database that logs only the key of what it changes makes Debezium write null for the other
    columns, and for those that cannot be null the zero of their type: no value that a row had.

    Args:
        images: The rows as they were, null where a message has none.
        key: The columns of the record's key; without any, an image is always whole.
    """
    there = _mask(images.is_valid())
    if not key or not there.any():
        return there
    filled = np.zeros(len(images), bool)
    for index, member in enumerate(images.type):
        if member.name not in key:
            filled |= ~_mask(_is_blank(pc.struct_field(images, [index])))
    return there & filled


def _is_blank(values: pa.Array) -> pa.Array:
    """Say of each value whether it is null or the zero of its type."""
    kind = values.type
    if pa.types.is_boolean(kind):
        blank = pc.invert(values)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        blank = pc.equal(values, pa.scalar(0, kind))
    elif pa.types.is_string(kind):
        blank = pc.is_in(values, _EMPTY_TEXTS)
    elif pa.types.is_binary(kind):
        blank = pc.is_in(values, _EMPTY_BYTES)
    elif pa.types.is_list(kind):
        blank = pc.equal(pc.list_value_length(values), 0)
    elif pa.types.is_struct(kind) and kind.num_fields:
        members = (pc.struct_field(values, [index]) for index in range(kind.num_fields))
        parts = [_mask(_is_blank(member)) for member in members]
        blank = pa.array(np.logical_and.reduce(parts))
    else:
        blank = values.is_null()
    return pc.or_kleene(values.is_null(), blank)


def _mask(values: pa.Array) -> Mask:
    mask: Mask = pc.fill_null(values, False).to_numpy(zero_copy_only=False).astype(bool)
    return mask
