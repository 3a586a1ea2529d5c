"""When the source made a change, from the times that its messages may carry."""

from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from cdc.model import SourceColumn

MOMENT: Final = pa.timestamp("us", "UTC")
# The end of the year 9999, and so of what readers take for a time, in the unit that a name stands
# for; a 64-bit number of nanoseconds ends before. What says most without being cut comes first.
ENDS: Final = {
    "ts_us": 253_402_300_800_000_000,
    "ts_ns": (1 << 63) - 1,
    "ts_ms": 253_402_300_800_000,
}


def time_fields(fields: Iterable[SourceColumn]) -> tuple[str, ...]:
    """Name the times that a source block has, by its fields, the one to prefer first."""
    numbers = {field.name for field in fields if field.type.kind == "int64"}
    return tuple(name for name in ENDS if name in numbers)


def added_time_fields(fields: Iterable[SourceColumn]) -> tuple[str, ...]:
    """Name the times that were added to a flat row, the one to prefer first.

    Only those of the source block are the source's; without one, the connector's will do.
    """
    numbers = {field.name for field in fields if field.type.kind == "int64"}
    names = (f"{prefix}{name}" for prefix in ("__source_", "__") for name in ENDS)
    return tuple(name for name in names if name in numbers)


def times(fields: Mapping[str, pa.Array], count: int) -> pa.Array:
    """Give the time of each change, null where none is known.

    A database that has no time says 0, and what is out of range is no time either.

    Args:
        fields: The times that messages have, by name, the one to prefer first.
        count: The number of changes.
    """
    found = None
    for name, column in fields.items():
        moments = _moments(column, name)
        found = moments if found is None else pc.coalesce(found, moments)
        if not found.null_count:
            break
    return pa.nulls(count, MOMENT) if found is None else found


def _moments(column: pa.Array, name: str) -> pa.Array:
    unit = name[-len("ts_us") :]
    known = pc.and_(pc.greater(column, 0), pc.less(column, ENDS[unit]))
    if column.null_count or not pc.all(known, min_count=0).as_py():
        column = pc.if_else(known, column, None)
    if unit == "ts_ns":
        column = pc.divide(column, 1000)
    elif unit == "ts_ms":
        column = pc.multiply(column, 1000)
    return column.cast(MOMENT)
