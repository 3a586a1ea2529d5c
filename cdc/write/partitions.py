"""Which rows belong to which partition."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cdc.model import PartitionField
from cdc.write.transforms import transformed

FEW: Final = 2**16  # numpy sorts so few codes by radix, several times faster


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """The rows of one partition."""

    values: tuple[Any, ...]  # one for each field, as Iceberg keeps them
    # Where the rows stand, in ascending order; None where they are all that there are.
    rows: npt.NDArray[np.int64] | None


def split(fields: Sequence[PartitionField], table: pa.Table) -> tuple[PartitionRows, ...]:
    """Sort the rows of a table by partition; within one they keep their order."""
    if not len(table):
        return ()
    codes = np.zeros(len(table), np.int64)
    partitions: list[tuple[Any, ...]] = [()]
    for field in fields:
        # The codes are made dense again for every field, so that no product of them overflows.
        column = table[field.column].combine_chunks()
        own, values = _coded(transformed(field, column))
        joint, distinct = _coded(pa.array(codes * len(values) + own))
        codes = joint
        partitions = [
            (*partitions[code // len(values)], values[code % len(values)]) for code in distinct
        ]
    if len(partitions) == 1:
        return (PartitionRows(partitions[0], None),)
    narrow = codes.astype(np.uint16) if len(partitions) <= FEW else codes
    order = np.argsort(narrow, kind="stable").astype(np.int64)
    ends = np.cumsum(np.bincount(codes, minlength=len(partitions)))
    parts = np.split(order, ends[:-1])
    return tuple(PartitionRows(*both) for both in zip(partitions, parts, strict=True))


def _coded(column: pa.Array) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Number the distinct values of a column, null being one of them."""
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    codes = encoded.indices
    if column.null_count:
        codes = pc.fill_null(codes, len(values))
        values.append(None)
    return codes.to_numpy().astype(np.int64), values
