"""Iceberg's partition transforms on whole columns.

Values are as Iceberg keeps them: a date is its day, a timestamp its microsecond, counted from 1970.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.model import PartitionField

MICROSECONDS: Final = {"hour": 3_600_000_000, "day": 86_400_000_000}
CALENDAR: Final = {"year": "datetime64[Y]", "month": "datetime64[M]"}


def transformed(field: PartitionField, column: pa.Array) -> pa.Array:
    """Apply a field's transform to the values of its column; null stays null."""
    if field.transform == "identity":
        return _internal(column)
    if field.transform in ("bucket", "truncate"):
        from pyiceberg_core import transform  # loaded only where a table needs it

        apply = transform.bucket if field.transform == "bucket" else transform.truncate
        return apply(column, field.argument)
    return _time(column, field.transform)


def _internal(column: pa.Array) -> pa.Array:
    if pa.types.is_date32(column.type):
        return column.view(pa.int32())
    if pa.types.is_timestamp(column.type) or pa.types.is_time64(column.type):
        return column.view(pa.int64())
    return column


def _time(column: pa.Array, unit: str) -> pa.Array:
    """Count years, months, days or hours.

    Arrow's and Rust's calendars end before Iceberg's do; numpy's has every day that can occur, but
    its own rounding of the earliest microseconds is wrong, so it is given days.
    """
    counts = pc.fill_null(_internal(column), 0).to_numpy().astype(np.int64)
    if not pa.types.is_date32(column.type):
        counts = np.floor_divide(counts, MICROSECONDS["hour" if unit == "hour" else "day"])
    if unit in CALENDAR:
        counts = counts.view("datetime64[D]").astype(CALENDAR[unit]).astype(np.int64)
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(counts.astype(np.int32), mask=nulls)
