"""Dates and timestamps: counts of days, milli-, micro- and nanoseconds, and ISO 8601 texts.

PostgreSQL's infinity and -infinity have no number of their own. Debezium sends numbers in their
place that no date or timestamp of any database has, and they are told apart here.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.values.proleptic import (
    DAY,
    NO_DATE,
    NO_MOMENT,
    date_text,
    days_of,
    moment_text,
    parse_date,
    parse_moment,
)
from cdc.model import SourceType
from cdc.model.logical import (
    CONNECT_TIMESTAMP,
    ISO_DATE,
    ISO_TIMESTAMP,
    MICRO_TIMESTAMP,
    NANO_TIMESTAMP,
    TIMESTAMP,
    ZONED_TIMESTAMP,
    meaning,
)

INFINITY: Final = "infinity"
MINUS_INFINITY: Final = "-infinity"
TEXTS: Final = (ISO_TIMESTAMP, ZONED_TIMESTAMP)
# Nanoseconds in the unit of each number.
UNITS: Final = {
    TIMESTAMP: 1_000_000,
    CONNECT_TIMESTAMP: 1_000_000,
    MICRO_TIMESTAMP: 1_000,
    NANO_TIMESTAMP: 1,
}
# No database has an earlier date: PostgreSQL begins with day 0 of the Julian count, Oracle later.
FIRST_DAY: Final = days_of(-4713, 11, 24)
# What stands for infinite dates: days that overflowed while they were streamed; and what a snapshot
# makes of the driver's infinite milliseconds, as days, cut to 32 bits or not, east or west of UTC.
INFINITE_DAYS: Final = {
    **dict.fromkeys((-2147472692, -622191234, -622191233, 106751991166, 106751991167), INFINITY),
    **dict.fromkeys(
        (-2147472691, -625821272, -625821271, 106748361128, 106748361129), MINUS_INFINITY
    ),
}
# What stands for infinite timestamps: the driver's infinite microseconds; and, where nanoseconds
# are sent, the ends of the number, which no other unit reaches.
INFINITE_MICROS: Final = {9223372036825200000: INFINITY, -9223372036832400000: MINUS_INFINITY}
INFINITE_NANOS: Final = {
    **{micros * 1_000: name for micros, name in INFINITE_MICROS.items()},
    2**63 - 1: INFINITY,
    -(2**63): MINUS_INFINITY,
}
USABLE_MICROS: Final = (FIRST_DAY * DAY // 1_000, 9223372036825200000 - 1)
USUAL_TEXT: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$"
# The years 1 to 9999, which Arrow writes as text.
USUAL_DAYS: Final = (days_of(1, 1, 1), days_of(9999, 12, 31))


def dates(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert dates."""
    days = _days(raw) if meaning(source) == ISO_DATE else raw.cast(pa.int64())
    if pa.types.is_string(target):
        return _texts(days, pa.date32(), USUAL_DAYS, _date_text)
    if pa.types.is_date(target):
        _refuse_infinite(days, FIRST_DAY, 2**31 - 1, INFINITE_DAYS, "date")
        return days.cast(pa.int32()).cast(target)
    return days.cast(target)


def timestamps(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert timestamps, those of a time zone too."""
    name = meaning(source) or ""
    if pa.types.is_string(target):
        return _timestamp_texts(raw, name)
    if name == NANO_TIMESTAMP and pa.types.is_int64(target):
        return raw
    kind = "timestamptz" if name == ZONED_TIMESTAMP else "timestamp"
    micros = _micros(raw, name, kind)
    if pa.types.is_timestamp(target):
        _refuse_infinite(micros, *USABLE_MICROS, INFINITE_MICROS, kind)
    return micros.cast(target)


def _days(texts: pa.Array) -> pa.Array:
    usual = pc.match_substring_regex(texts, r"^\d{4}-\d\d-\d\dZ$")
    plain = pc.utf8_slice_codeunits(pc.if_else(usual, texts, None), 0, -1)
    try:
        days = plain.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise pa.ArrowInvalid(NO_DATE) from error
    return _with_odd(days, texts, usual, parse_date)


def _micros(raw: pa.Array, name: str, kind: str) -> pa.Array:
    if name in TEXTS:
        return _micros_of_texts(raw, kind)
    if name == NANO_TIMESTAMP:
        nanos = pc.fill_null(raw, 0).to_numpy(zero_copy_only=False)
        if (nanos % 1_000).any():
            _refuse_infinite(raw, -(2**63) + 1, 2**63 - 2, INFINITE_NANOS, kind)
            raise pa.ArrowInvalid(
                'a timestamp of nanoseconds; types = "string" or "long" keeps them all'
            )
        return pa.array(nanos // 1_000, mask=raw.is_null().to_numpy(zero_copy_only=False))
    return pc.multiply_checked(raw, UNITS[name] // 1_000)


def _micros_of_texts(texts: pa.Array, kind: str) -> pa.Array:
    moment = pa.timestamp("us", "UTC")
    try:
        return texts.cast(moment).cast(pa.int64())
    except pa.ArrowInvalid:
        usual = pc.match_substring_regex(texts, USUAL_TEXT)
    try:
        micros = pc.if_else(usual, texts, None).cast(moment).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise pa.ArrowInvalid(NO_MOMENT) from error
    return _with_odd(micros, texts, usual, lambda text: _odd_micros(text, kind))


def _odd_micros(text: str, kind: str) -> int:
    if text in (INFINITY, MINUS_INFINITY):
        raise pa.ArrowInvalid(_advice(text, kind))
    micros, rest = divmod(parse_moment(text), 1_000)
    if rest:
        raise pa.ArrowInvalid('a timestamp of nanoseconds; types = "string" keeps them all')
    if not -(2**63) <= micros < 2**63:
        raise pa.ArrowInvalid('a timestamp beyond 292,277 years; types = "string" keeps it')
    return micros


def _with_odd(
    found: pa.Array, texts: pa.Array, usual: pa.Array, read: Callable[[str], int]
) -> pa.Array:
    """Put the numbers of unusual texts into their places."""
    odd = pc.fill_null(pc.invert(usual), False)
    if not pc.any(odd).as_py():
        return found
    numbers = [read(text) for text in texts.filter(odd).to_pylist()]
    return pc.replace_with_mask(found, odd, pa.array(numbers, pa.int64()))


def _timestamp_texts(raw: pa.Array, name: str) -> pa.Array:
    if name == ZONED_TIMESTAMP:
        return raw
    if name == ISO_TIMESTAMP:
        try:
            raw, name = _micros_of_texts(raw, "timestamp"), MICRO_TIMESTAMP
        except pa.ArrowInvalid:
            return pa.array([_iso_text(text) for text in raw.to_pylist()], pa.string())
    elif name != NANO_TIMESTAMP:
        raw, name = pc.multiply_checked(raw, UNITS[name] // 1_000), MICRO_TIMESTAMP
    unit, count = ("ns", 9) if name == NANO_TIMESTAMP else ("us", 6)
    step = UNITS[name]
    # The nanoseconds of a 64-bit number all lie in years that Arrow writes.
    first, last = (-(2**63) + 1, 2**63 - 2)
    if name != NANO_TIMESTAMP:
        first, last = USUAL_DAYS[0] * DAY // step, (USUAL_DAYS[1] + 1) * DAY // step - 1

    def text(value: int) -> str:
        return INFINITE_NANOS.get(value * step) or moment_text(value * step, count)

    return _texts(raw, pa.timestamp(unit), (first, last), text)


def _iso_text(text: str | None) -> str | None:
    if text is None:
        return None
    nanos = parse_moment(text)
    return INFINITE_NANOS.get(nanos) or moment_text(nanos, 9 if nanos % 1_000 else 6)


def _date_text(days: int) -> str:
    return INFINITE_DAYS.get(days) or date_text(days)


def _texts(
    numbers: pa.Array, kind: pa.DataType, usual: tuple[int, int], text: Callable[[int], str]
) -> pa.Array:
    """Write usual numbers by way of an Arrow type, and the others one by one."""
    inside = pc.and_(pc.greater_equal(numbers, usual[0]), pc.less_equal(numbers, usual[1]))
    plain = pc.if_else(inside, numbers, None)
    if pa.types.is_date32(kind):
        plain = plain.cast(pa.int32())
    texts = plain.cast(kind).cast(pa.string())
    odd = pc.fill_null(pc.invert(inside), False)
    if not pc.any(odd).as_py():
        return texts
    others = [text(number) for number in numbers.filter(odd).to_pylist()]
    return pc.replace_with_mask(texts, odd, pa.array(others, pa.string()))


def _refuse_infinite(
    numbers: pa.Array, least: int, most: int, names: dict[int, str], kind: str
) -> None:
    """Refuse numbers beyond what any database has, and say so if they stand for infinity."""
    bounds = pc.min_max(numbers)
    found = [bound.as_py() for bound in (bounds["min"], bounds["max"])]
    if found[0] is None or (least <= found[0] and found[1] <= most):
        return
    values = pc.fill_null(numbers, least).to_numpy(zero_copy_only=False)
    odd = np.unique(values[(values < least) | (values > most)]).tolist()
    name = next((names[value] for value in odd if value in names), None)
    if name is not None:
        raise pa.ArrowInvalid(_advice(name, kind))
    raise pa.ArrowInvalid(f'a {kind} that no database has; types = "string" keeps it')


def _advice(name: str, kind: str) -> str:
    return (
        f'{name} is no {kind}; types = "string" keeps it, '
        f'"{kind} or nearest" or "{kind} or null" replaces it'
    )
