"""Dates, timestamps and times of day, held to Python's and numpy's own."""

import random
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest

from cdc.decode.values.proleptic import date_of, date_text, days_of, parse_date, parse_moment
from cdc.model import SourceType, logical
from tests.unit.raw_columns import converted, refusal

DAY = 86_400_000_000
EPOCH = datetime(1970, 1, 1)
DATE = SourceType("int32", logical.DATE)
CONNECT_DATE = SourceType("int32", logical.CONNECT_DATE)
ISO_DATE = SourceType("string", logical.ISO_DATE)
MILLIS = SourceType("int64", logical.TIMESTAMP)
CONNECT_MILLIS = SourceType("int64", logical.CONNECT_TIMESTAMP)
MICROS = SourceType("int64", logical.MICRO_TIMESTAMP)
NANOS = SourceType("int64", logical.NANO_TIMESTAMP)
ISO = SourceType("string", logical.ISO_TIMESTAMP)
ZONED = SourceType("string", logical.ZONED_TIMESTAMP)
TIME = SourceType("int32", logical.TIME)
MICRO_TIME = SourceType("int64", logical.MICRO_TIME)
NANO_TIME = SourceType("int64", logical.NANO_TIME)
ISO_TIME = SourceType("string", logical.ISO_TIME)
FIRST_DAY, LAST_DAY = -2440588, 2145042905  # of PostgreSQL
FIRST_MICRO, LAST_MICRO = FIRST_DAY * DAY, 9223372036825200000 - 1


def numbers(column: pa.Array) -> list[int | None]:
    """Give the numbers that a column of dates or timestamps holds, also those beyond Python's."""
    whole = pa.int32() if pa.types.is_date(column.type) else pa.int64()
    return list(column.cast(whole).to_pylist())


def iso_of(value: int, unit: Literal["D", "us", "ns"]) -> str:
    """Write a date or timestamp by way of numpy, which knows all years."""
    text = str(np.array(value, f"datetime64[{unit}]"))
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    year, rest = text.split("-", 1)
    return f"{sign or ('+' if len(year) > 4 else '')}{year:0>4}-{rest}"


def spread(random_: random.Random, first: int, last: int, count: int = 300) -> list[int | None]:
    """Choose numbers of all sizes between two ends, and the ends, and nulls."""
    found: list[int | None] = [first, last, 0, 1, -1, None]
    for _ in range(count):
        size = random_.randrange(1, max(abs(first), abs(last)).bit_length() + 1)
        number = random_.randrange(1 << size) * random_.choice([1, -1])
        found.append(min(max(number, first), last) if random_.random() < 0.9 else None)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_days_and_dates_of_any_year_fit_together(seed: int) -> None:
    for days in spread(random.Random(seed), -(2**31), 2**31 - 1):
        if days is not None:
            assert days_of(*date_of(days)) == days
            assert date_text(days) == iso_of(days, "D")
            assert parse_date(f"{date_text(days)}Z") == days


@pytest.mark.parametrize("source", [DATE, CONNECT_DATE], ids=str)
def test_days_stay_the_same_day(source: SourceType) -> None:
    days = spread(random.Random(1), FIRST_DAY, LAST_DAY)

    assert numbers(converted(days, source, "json")) == days
    assert converted(days, source, "json", "int").to_pylist() == days
    assert converted(days, source, "json", "string").to_pylist() == [
        None if day is None else iso_of(day, "D") for day in days
    ]


def test_dates_as_text_stay_the_same_day() -> None:
    days = spread(random.Random(2), FIRST_DAY, LAST_DAY)
    texts = [None if day is None else iso_of(day, "D") + "Z" for day in days]

    assert numbers(converted(texts, ISO_DATE, "json")) == days
    assert converted(texts, ISO_DATE, "json", "int").to_pylist() == days
    assert converted(texts, ISO_DATE, "json", "string").to_pylist() == [
        None if text is None else text[:-1] for text in texts
    ]


@pytest.mark.parametrize("source", [MILLIS, CONNECT_MILLIS, MICROS], ids=str)
@pytest.mark.parametrize("choice", ["timestamp", "timestamptz", "long"])
def test_a_timestamp_stays_the_same_moment(source: SourceType, choice: str) -> None:
    step = 1 if source is MICROS else 1_000
    sent = spread(random.Random(3), -(-FIRST_MICRO // step), LAST_MICRO // step)

    found = numbers(converted(sent, source, "json", choice))

    assert found == [None if number is None else number * step for number in sent]


@pytest.mark.parametrize("source", [MILLIS, MICROS, NANOS], ids=str)
def test_a_timestamp_becomes_text_with_all_its_digits(source: SourceType) -> None:
    step = 1_000 if source is MILLIS else 1
    unit: Literal["us", "ns"] = "ns" if source is NANOS else "us"
    first, last = (1 - 2**63, 2**63 - 2) if source is NANOS else (FIRST_MICRO, LAST_MICRO)
    sent = spread(random.Random(4), -(-first // step), last // step)

    texts = converted(sent, source, "json", "string").to_pylist()

    wanted = [None if n is None else iso_of(n * step, unit).replace("T", " ") for n in sent]
    assert texts == wanted


def test_nanoseconds_become_a_timestamp_if_they_are_whole_microseconds() -> None:
    micros = spread(random.Random(5), -(2**63) // 1_000 + 1, 2**63 // 1_000)
    nanos = [None if micro is None else micro * 1_000 for micro in micros]

    assert numbers(converted(nanos, NANOS, "json")) == micros
    assert converted(nanos, NANOS, "json", "long").to_pylist() == nanos
    for odd in (1, -1, 999, 1_001, 1_700_000_000_123_456_789):
        assert "types" in refusal(odd, NANOS)
        assert converted([odd], NANOS, "json", "long").to_pylist() == [odd]


@pytest.mark.parametrize("seed", range(3))
def test_a_zoned_text_of_any_offset_and_digits_stays_the_same_moment(seed: int) -> None:
    random_ = random.Random(seed)
    texts: list[str | None] = [None]
    wanted: list[int | None] = [None]
    for micros in spread(random_, -62_135_596_800_000_000 + DAY, 253_402_300_799_999_999 - DAY):
        if micros is None:
            continue
        digits = random_.choice([0, 1, 3, 6, 7, 9])
        micros -= micros % 10 ** max(6 - digits, 0)
        offset = random_.choice([0, 0, 0, 60, -570, 845, -1])
        zone = timezone(timedelta(minutes=offset))
        moment = (EPOCH.replace(tzinfo=UTC) + timedelta(microseconds=micros)).astimezone(zone)
        fraction = f".{moment.microsecond:06}000"[: digits + 1] if digits else ""
        shift = moment.isoformat()[-6:] if offset else random_.choice(["Z", "+00:00"])
        texts.append(moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + fraction + shift)
        wanted.append(micros)

    assert numbers(converted(texts, ZONED, "json")) == wanted
    assert converted(texts, ZONED, "json", "long").to_pylist() == wanted
    assert converted(texts, ZONED, "json", "string").to_pylist() == texts


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("+10000-01-01T00:00:00Z", 253402300800000000),
        ("+294247-01-10T04:00:25.199999Z", LAST_MICRO),
        ("0000-01-01T00:00:00Z", -62167219200000000),
        ("-0043-03-15T01:02:00Z", -63517820280000000),
        ("-4713-11-24T00:00:00Z", FIRST_MICRO),
        ("2024-02-29T10:34:56+05:30:12", 1709183083000000 + 1000000),
        ("2024-02-29T10:34:56.123456000Z", 1709202896123456),
    ],
)
@pytest.mark.parametrize("source", [ZONED, ISO], ids=str)
def test_an_unusual_text_stays_the_same_moment(source: SourceType, text: str, micros: int) -> None:
    usual = "2024-02-29T10:34:56.5Z"

    found = numbers(converted([usual, text, None, usual], source, "json"))

    assert found == [1709202896500000, micros, None, 1709202896500000]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-02-29T12:34:56Z", "2024-02-29 12:34:56.000000"),
        ("2024-02-29T12:34:56.7Z", "2024-02-29 12:34:56.700000"),
        ("2024-02-29T12:34:56.1234567Z", "2024-02-29 12:34:56.123456700"),
        ("+10000-01-01T00:00:00Z", "+10000-01-01 00:00:00.000000"),
        ("+294247-01-10T04:00:25.2Z", "infinity"),
        ("-290308-12-21T19:59:27.6Z", "-infinity"),
    ],
)
def test_an_iso_timestamp_is_written_as_every_other(text: str, written: str) -> None:
    assert converted([None, text], ISO, "json", "string").to_pylist() == [None, written]


INFINITE = [
    (DATE, -2147472692, "infinity"),
    (DATE, -2147472691, "-infinity"),
    (DATE, -622191234, "infinity"),
    (DATE, -622191233, "infinity"),
    (DATE, -625821272, "-infinity"),
    (DATE, -625821271, "-infinity"),
    (CONNECT_DATE, -2147472692, "infinity"),
    (ISO_DATE, "-5877611-06-21Z", "infinity"),
    (ISO_DATE, "-5877611-06-22Z", "-infinity"),
    (ISO_DATE, "+292278994-08-16Z", "infinity"),
    (ISO_DATE, "+292269055-12-03Z", "-infinity"),
    (MILLIS, 9223372036825200, "infinity"),
    (MILLIS, -9223372036832400, "-infinity"),
    (CONNECT_MILLIS, 9223372036825200, "infinity"),
    (MICROS, 9223372036825200000, "infinity"),
    (MICROS, -9223372036832400000, "-infinity"),
    (NANOS, 2**63 - 1, "infinity"),
    (NANOS, -(2**63), "-infinity"),
    (ISO, "+294247-01-10T04:00:25.2Z", "infinity"),
    (ISO, "-290308-12-21T19:59:27.6Z", "-infinity"),
    (ZONED, "infinity", "infinity"),
    (ZONED, "-infinity", "-infinity"),
]


@pytest.mark.parametrize(("source", "value", "name"), INFINITE, ids=str)
def test_infinity_is_refused_with_advice_and_kept_as_text(
    source: SourceType, value: object, name: str
) -> None:
    reason = refusal(value, source)

    assert reason.startswith(f"{name} is no ")
    assert 'types = "string"' in reason
    assert "or nearest" in reason
    assert converted([value, None], source, "json", "string").to_pylist() == [name, None]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (DATE, FIRST_DAY - 1),
        (DATE, -(2**31)),
        (MICROS, FIRST_MICRO - 1),
        (MICROS, 2**63 - 1),
        (MILLIS, 2**63 - 1),
        (MILLIS, -(2**63)),
        (ISO_DATE, "+999999999-01-01Z"),
        (ISO, "+999999999-01-01T00:00:00Z"),
        (ZONED, "-999999999-01-01T00:00:00Z"),
    ],
    ids=str,
)
def test_what_no_database_has_is_refused(source: SourceType, value: object) -> None:
    assert refusal(value, source)


@pytest.mark.parametrize("source", [ZONED, ISO], ids=str)
@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-01-01T00:00:00"),
        *("2024-01-01", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z"),
        *("2024-01-01T00:00:60Z", "2024-01-01T00:00:00.0000000001Z", "2024-1-1T00:00:00Z"),
        *("2024-01-01T00:00:00.1234567Z", "+10000-02-30T00:00:00Z", "٢٠٢٤-01-01T00:00:00Z"),
        *("2024-01-01T00:00:00+99:00", "24-01-01T00:00:00Z", " 2024-01-01T00:00:00Z"),
        *("+10000-01-01T00:00:00+19:00", "+10000-01-01T00:00:00+01:60", "+10000-13-01T00:00:00Z"),
        *("+10000-01-01T24:00:00Z", "+10000-01-01T00:60:00Z", "+10000-01-01T00:00:60Z"),
    ],
)
def test_a_text_that_is_no_timestamp_is_refused(source: SourceType, text: str) -> None:
    assert refusal(text, source)


@pytest.mark.parametrize(
    "text", ["", "2024-02-30Z", "2024-02-29", "2024-02-29+01:00", "2024-2-9Z", "+10000-02-30Z"]
)
def test_a_text_that_is_no_date_is_refused(text: str) -> None:
    assert refusal(text, ISO_DATE)


def clock(number: int, digits: int) -> str:
    seconds, fraction = divmod(abs(number), 10**digits)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:0{digits}}"
    return "-" + text if number < 0 else text


@pytest.mark.parametrize("source", [TIME, MICRO_TIME, NANO_TIME], ids=str)
def test_a_time_becomes_text_also_beyond_a_day(source: SourceType) -> None:
    step, digits = {TIME: (1_000, 6), MICRO_TIME: (1, 6), NANO_TIME: (1, 9)}[source]
    limit = 3_020_399_999_999 * 10 ** (digits - 6) // step if source is not TIME else 2**31 - 1
    sent = spread(random.Random(6), -limit, limit)
    sent += [86_400 * 10**digits // step, 86_400 * 10**digits // step - 1]

    texts = converted(sent, source, "json").to_pylist()

    assert texts == [None if number is None else clock(number * step, digits) for number in sent]
    assert converted(sent, source, "json", "long").to_pylist() == [
        None if number is None else number * step for number in sent
    ]


@pytest.mark.parametrize("source", [TIME, MICRO_TIME, NANO_TIME], ids=str)
def test_a_time_within_a_day_may_be_a_time(source: SourceType) -> None:
    step = {TIME: 1_000, MICRO_TIME: 1_000_000, NANO_TIME: 1_000_000_000}[source]
    sent = [0, 45_296 * step, 86_399 * step, None]

    found = converted(sent, source, "json", "time").cast(pa.int64()).to_pylist()

    assert found == [0, 45_296_000_000, 86_399_000_000, None]
    assert "types" in refusal(86_400 * step, source, choice="time")
    assert "types" in refusal(-1, source, choice="time")
    if source is NANO_TIME:
        assert refusal(1, source, choice="time")


@pytest.mark.parametrize(
    ("text", "written", "micros"),
    [
        ("12:34:56.789012Z", "12:34:56.789012", 45_296_789_012),
        ("12:34:56Z", "12:34:56.000000", 45_296_000_000),
        ("00:00:00.1Z", "00:00:00.100000", 100_000),
        ("23:59:59.999999Z", "23:59:59.999999", DAY - 1),
        ("12:34:56.789012000Z", "12:34:56.789012", 45_296_789_012),
        ("12:34:56.1234567Z", "12:34:56.123456700", None),
    ],
)
def test_an_iso_time_is_written_as_every_other(text: str, written: str, micros: int | None) -> None:
    assert converted([None, text], ISO_TIME, "json").to_pylist() == [None, written]
    if micros is None:
        assert refusal(text, ISO_TIME, choice="time")
        assert refusal(text, ISO_TIME, choice="long")
    else:
        times = converted([text], ISO_TIME, "json", "time")
        assert times.cast(pa.int64()).to_pylist() == [micros]
        assert converted([text], ISO_TIME, "json", "long").to_pylist() == [micros]


@pytest.mark.parametrize(
    "text", ["", "24:00:00Z", "12:60:00Z", "12:00:60Z", "12:00:00", "12:00:00+01:00", "1:00:00Z"]
)
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    assert refusal(text, ISO_TIME)


def test_a_moment_is_read_to_the_nanosecond() -> None:
    assert parse_moment("1970-01-01T00:00:00.000000001Z") == 1
    assert parse_moment("1969-12-31T23:59:59.999999999Z") == -1
    assert date(2024, 2, 29) == date(1970, 1, 1) + timedelta(days=days_of(2024, 2, 29))
