"""Times of day: counts since midnight, and ISO 8601 texts.

They become text, since Spark reads no table that has Iceberg's time type, and since 24:00:00 and
MySQL's times beyond a day fit none.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from cdc.model import SourceType
from cdc.model.logical import CONNECT_TIME, ISO_TIME, MICRO_TIME, NANO_TIME, TIME, meaning

DAY_MICROS: Final = 86_400_000_000
# Microseconds in the unit of each number.
UNITS: Final = {TIME: 1_000, CONNECT_TIME: 1_000, MICRO_TIME: 1}
ISO: Final = r"^(?P<h>[01]\d|2[0-3]):(?P<m>[0-5]\d):(?P<s>[0-5]\d)(?:\.(?P<f>\d{1,9}))?Z$"


def times_of_day(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert times of day."""
    name = meaning(source) or ""
    if name == ISO_TIME:
        return _iso_times(raw, target)
    if name == NANO_TIME:
        return _nanos(raw, target)
    return _micros(pc.multiply_checked(raw.cast(pa.int64()), UNITS[name]), target)


def _micros(micros: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_int64(target):
        return micros
    if pa.types.is_time(target):
        return _within_a_day(micros, DAY_MICROS).cast(target)
    return _texts(micros, "us", 6)


def _nanos(nanos: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_int64(target):
        return nanos
    if pa.types.is_time(target):
        # The cast refuses what is no whole microsecond.
        return _within_a_day(nanos, DAY_MICROS * 1_000).cast(pa.time64("ns")).cast(target)
    return _texts(nanos, "ns", 9)


def _within_a_day(numbers: pa.Array, day: int) -> pa.Array:
    inside = pc.and_(pc.greater_equal(numbers, 0), pc.less(numbers, day))
    if not pc.all(inside, min_count=0).as_py():
        raise pa.ArrowInvalid('a time beyond a day; types = "string" or "long" keeps it')
    return numbers


def _texts(numbers: pa.Array, unit: str, digits: int) -> pa.Array:
    day = 86_400 * 10**digits
    inside = pc.and_(pc.greater_equal(numbers, 0), pc.less(numbers, day))
    usual = pc.if_else(inside, numbers, None).cast(pa.time64(unit)).cast(pa.string())
    odd = pc.fill_null(pc.invert(inside), False)
    if not pc.any(odd).as_py():
        return usual
    beyond = [_text(number, digits) for number in numbers.filter(odd).to_pylist()]
    return pc.replace_with_mask(usual, odd, pa.array(beyond, pa.string()))


def _text(number: int, digits: int) -> str:
    seconds, fraction = divmod(abs(number), 10**digits)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    sign = "-" if number < 0 else ""
    return f"{sign}{hours:02}:{minutes:02}:{seconds:02}.{fraction:0{digits}}"


def _iso_times(raw: pa.Array, target: pa.DataType) -> pa.Array:
    parts = pc.extract_regex(raw, ISO)
    if parts.null_count != raw.null_count:
        raise pa.ArrowInvalid("a text that is no time of day")
    hour, minute, second, fraction = (pc.struct_field(parts, name) for name in "hmsf")
    nine = pc.utf8_rpad(fraction, 9, "0")
    six, rest = pc.utf8_slice_codeunits(nine, 0, 6), pc.utf8_slice_codeunits(nine, 6)
    # Six digits as in every other time, nine where six would cut.
    whole = pc.equal(rest, "000")
    if pa.types.is_string(target):
        clock = pc.utf8_slice_codeunits(raw, 0, 8)
        return pc.binary_join_element_wise(clock, pc.if_else(whole, six, nine), ".")
    if not pc.all(whole, min_count=0).as_py():
        raise pa.ArrowInvalid('a time of nanoseconds; types = "string" keeps them all')
    micros = six.cast(pa.int64())
    for part, unit in ((hour, 3600), (minute, 60), (second, 1)):
        micros = pc.add(micros, pc.multiply(part.cast(pa.int64()), unit * 1_000_000))
    return _micros(micros, target)
