"""Days, dates and moments of any year, one at a time: for what Arrow and Python's dates lack.

Years are those of ISO 8601: Gregorian throughout, 0 before 1.
"""

import re
from typing import Final

import pyarrow as pa

SECOND: Final = 1_000_000_000  # nanoseconds
DAY: Final = 86_400 * SECOND
NO_DATE: Final = "a text that is no date"
NO_MOMENT: Final = "a text that is no timestamp"
_ERA_DAYS: Final = 146_097  # of 400 years
_EPOCH: Final = 719_468  # days from 0000-03-01 to 1970-01-01
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MOST_DIGITS: Final = 9
_DATE: Final = r"([+-]?\d{4,9})-(\d\d)-(\d\d)"
_OFFSET: Final = r"(?:Z|([+-])(\d\d):(\d\d)(?::(\d\d))?)"
_ISO_DATE: Final = re.compile(f"{_DATE}{_OFFSET}", re.ASCII)
_ISO_MOMENT: Final = re.compile(
    rf"{_DATE}T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{{1,9}}))?)?{_OFFSET}", re.ASCII
)


def days_of(year: int, month: int, day: int) -> int:
    """Count the days from 1970-01-01 to a date that exists."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (9 if month <= 2 else -3)) + 2) // 5 + day - 1
    return era * _ERA_DAYS + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _EPOCH


def date_of(days: int) -> tuple[int, int, int]:
    """Give year, month and day of the day that is so many after 1970-01-01."""
    era, of_era = divmod(days + _EPOCH, _ERA_DAYS)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return era * 400 + year + (month <= 2), month, day


def date_text(days: int) -> str:
    """Write a date as ISO 8601 does, with a sign before a year of more or less than four digits."""
    year, month, day = date_of(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def moment_text(nanos: int, digits: int) -> str:
    """Write nanoseconds since 1970 as date and time with so many digits after the second."""
    days, of_day = divmod(nanos, DAY)
    seconds, fraction = divmod(of_day, SECOND)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    shown = f"{fraction:09}"[:digits]
    return f"{date_text(days)} {hours:02}:{minutes:02}:{seconds:02}.{shown}"


def parse_date(text: str) -> int:
    """Read a date such as 2024-02-29Z as days since 1970.

    Raises:
        pa.ArrowInvalid: It is none, or not one of UTC.
    """
    found = _ISO_DATE.fullmatch(text)
    if found is None or found[4] is not None:
        raise pa.ArrowInvalid(NO_DATE)
    return _days(found)


def parse_moment(text: str) -> int:
    """Read a moment such as 2024-02-29T12:34:56.789+01:00 as nanoseconds since 1970.

    Raises:
        pa.ArrowInvalid: It is none.
    """
    found = _ISO_MOMENT.fullmatch(text)
    if found is None:
        raise pa.ArrowInvalid(NO_MOMENT)
    hour, minute, second = int(found[4]), int(found[5]), int(found[6] or 0)
    shift = [int(part or 0) for part in found.group(9, 10, 11)]
    if hour > 23 or max(minute, second, shift[1], shift[2]) > 59 or shift[0] > 18:
        raise pa.ArrowInvalid(NO_MOMENT)
    offset = (shift[0] * 60 + shift[1]) * 60 + shift[2]
    seconds = (hour * 60 + minute) * 60 + second + (offset if found[8] == "-" else -offset)
    fraction = int((found[7] or "").ljust(_MOST_DIGITS, "0"))
    return _days(found) * DAY + seconds * SECOND + fraction


def _days(found: re.Match[str]) -> int:
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _MONTH_DAYS[month - 1] + leap:
        raise pa.ArrowInvalid(NO_DATE)
    return days_of(year, month, day)
