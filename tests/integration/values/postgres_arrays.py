"""How PostgreSQL tells what the mirror should hold of its arrays, whose elements lose more."""

from dataclasses import replace

from tests.integration.values.cells import Loss, Mode, Reading, Setup
from tests.integration.values.postgres_readings import (
    BEFORE,
    BETWEEN,
    CUT,
    END_OF_DAY,
    START,
    UTC_CLOCK,
    Read,
    clock,
    days,
    micros,
    old_dates,
    timestamp,
    timestamptz,
)


def date_element(setup: Setup) -> Reading:
    """Read a date in an array."""
    return Reading(days("{v}"), "date", old_dates())


def time_element(setup: Setup) -> Reading:
    """Read a time of day in an array."""
    mode = setup.modes[Mode.TIME]
    losses = (
        Loss("24:00 in an array is sent as 00:00", END_OF_DAY, clock(START, mode)),
        Loss("times in an array are cut to milliseconds", f"{CUT} <> {{v}}", clock(CUT, mode)),
    )
    return Reading(clock("{v}", mode), "string", losses)


def timetz_element(setup: Setup) -> Reading:
    """Read a time with a zone in an array."""
    seconds = "to_char(timezone('UTC', {v})::time, 'HH24:MI:SS\"Z\"')"
    fraction = "extract(microseconds FROM {v})::int % 1000000 <> 0"
    losses = (
        Loss("24:00 in an array is sent as 00:00", "{v}::time = '24:00'", "'00:00:00Z'"),
        Loss("times with a zone in an array are cut to seconds", fraction, seconds),
    )
    return Reading(UTC_CLOCK, "string", losses)


def timestamp_element(setup: Setup) -> Reading:
    """Read a timestamp in an array."""
    reading = timestamp(setup)
    year = "(extract(year FROM {v}) - CASE WHEN extract(month FROM {v}) < 3 THEN 1 ELSE 0 END)"
    days = f"(floor({year} / 100) - floor({year} / 400) - 2)"
    shifted = f"({{v}} + {days} * interval '1 day')"
    if setup.modes[Mode.TIME] == "connect":
        shifted = CUT.replace("{v}", shifted)
    old = Loss(
        "timestamps before 1582 in an array are taken for Julian",
        "{v} < '1582-10-15'",
        micros(shifted),
    )
    return replace(reading, losses=(*reading.losses, old))


def timestamptz_element(setup: Setup) -> Reading:
    """Read a moment in an array."""
    same_year = "({v} + (-2 * extract(year FROM {v}) - 1) * interval '1 year')"
    losses = (
        Loss(
            "a day between the calendars in an array is sent ten days later",
            BETWEEN,
            micros("({v} + interval '10 days')"),
        ),
        Loss("a year before 1 in an array is sent as one after", BEFORE, micros(same_year)),
    )
    return replace(timestamptz(setup), losses=losses)


def each(element: Read) -> Read:
    """Read an array element by element, with its nulls and in its order."""

    def read(setup: Setup) -> Reading:
        one = element(setup)
        item = one.expected_sql("item")
        sql = (
            "CASE WHEN {v} IS NULL THEN NULL ELSE ARRAY("
            f"SELECT {item} FROM unnest({{v}}) WITH ORDINALITY AS items (item, place) "
            "ORDER BY place) END"
        )
        # Counted as lost where any element is.
        losses = tuple(
            Loss(
                loss.why,
                f"EXISTS (SELECT FROM unnest({{v}}) AS item WHERE "
                f"{loss.when.replace('{v}', 'item')})",
                sql,
            )
            for loss in one.losses
        )
        return Reading(sql, f"array<{one.type}>", losses)

    return read


def without_nulls(element: Read) -> Read:
    """Read an array of a type that Debezium takes to have no nulls in it."""

    def read(setup: Setup) -> Reading:
        loss = Loss(
            "such an array with a null in it is sent as null",
            "EXISTS (SELECT FROM unnest({v}) AS item WHERE item IS NULL)",
        )
        return replace(each(element)(setup), losses=(loss,))

    return read


def matrix(setup: Setup) -> Reading:
    """Read an array of two dimensions."""
    loss = Loss(
        "a second dimension is sent as nulls", "array_ndims({v}) = 2", "'{NULL,NULL}'::int[]"
    )
    return Reading("{v}", "array<int>", (loss,))


def rejecting_elements(element: Read) -> Read:
    """Read an array that is not applied where an element fits no type."""
    refused = "EXISTS (SELECT FROM unnest({v}) AS item WHERE NOT isfinite(item))"
    return lambda setup: replace(each(element)(setup), rejected=refused)
