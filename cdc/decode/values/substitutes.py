"""What stands in for values that do not fit their column, where the config asks for it."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.config.type_choices import Otherwise
from cdc.decode.values.moments import (
    INFINITE_DAYS,
    INFINITE_NANOS,
    INFINITY,
    MINUS_INFINITY,
    UNITS,
)
from cdc.decode.values.proleptic import DAY, days_of, parse_date, parse_moment
from cdc.model import SourceType
from cdc.model.logical import CONNECT_DATE, DATE, NANO_TIMESTAMP, ZONED_TIMESTAMP, meaning

FIRST_DAY: Final = days_of(1, 1, 1)
LAST_DAY: Final = days_of(9999, 12, 31)
FIRST_MICRO: Final = FIRST_DAY * DAY // 1_000
LAST_MICRO: Final = (LAST_DAY + 1) * DAY // 1_000 - 1


def fallback(
    raw: pa.Array, source: SourceType, target: pa.DataType, otherwise: Otherwise
) -> pa.Array:
    """Give the column that stands in for values which `convert` refused.

    Args:
        raw: The refused values alone.
        source: What the messages say of them.
        target: The type of the table's column.
        otherwise: What the config asks for; the nearest value lies in the years 1 to 9999.

    Raises:
        pa.ArrowInvalid: Nothing stands in for these values: they are to be rejected.
    """
    if otherwise is Otherwise.NULL:
        return pa.nulls(len(raw), target)
    if otherwise is Otherwise.REJECT:
        raise pa.ArrowInvalid(f"a value that does not fit {target}")
    values = raw.to_pylist()
    if pa.types.is_date(target):
        return pa.array([_nearest_day(value) for value in values], pa.int32()).cast(target)
    if pa.types.is_timestamp(target):
        name = meaning(source) or ""
        return pa.array([_nearest_micro(value, name) for value in values], pa.int64()).cast(target)
    raise pa.ArrowInvalid(f"a value that does not fit {target}, which has no nearest value")


def surely_unfit(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Mark values that `convert` would refuse, as far as that is known without trying.

    Where something stands for them there may be many, such as the infinite end of a validity.
    """
    name = meaning(source)
    infinite: list[Any] = []
    if pa.types.is_date(target) and name in (DATE, CONNECT_DATE):
        infinite = [days for days in INFINITE_DAYS if abs(days) < 2**31]
    elif pa.types.is_timestamp(target) and name == ZONED_TIMESTAMP:
        odd = pc.match_substring_regex(raw, r"\.\d{6}\d*[1-9]\d*[^\d]|infinity")
        return pc.fill_null(odd, False)
    elif pa.types.is_timestamp(target) and name == NANO_TIMESTAMP:
        nanos = pc.fill_null(raw, 0).to_numpy(zero_copy_only=False)
        return pa.array(nanos % 1_000 != 0)
    elif pa.types.is_timestamp(target) and name in UNITS:
        step = UNITS[name]
        infinite = [nanos // step for nanos in INFINITE_NANOS if nanos % step == 0]
    else:
        return pa.array(np.zeros(len(raw), np.bool_))
    return pc.is_in(raw, pa.array(infinite, raw.type))


def _nearest_day(value: Any) -> int | None:
    if value is None:
        return None
    days = parse_date(value) if isinstance(value, str) else value
    infinite = INFINITE_DAYS.get(days)
    if infinite is not None:
        return FIRST_DAY if infinite == MINUS_INFINITY else LAST_DAY
    return min(max(days, FIRST_DAY), LAST_DAY)


def _nearest_micro(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if value in (INFINITY, MINUS_INFINITY):
        return FIRST_MICRO if value == MINUS_INFINITY else LAST_MICRO
    nanos = parse_moment(value) if isinstance(value, str) else value * UNITS[name]
    infinite = INFINITE_NANOS.get(nanos)
    if infinite is not None:
        return FIRST_MICRO if infinite == MINUS_INFINITY else LAST_MICRO
    return min(max((nanos + 500) // 1_000, FIRST_MICRO), LAST_MICRO)
