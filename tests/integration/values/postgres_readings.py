"""How PostgreSQL itself tells what the mirror should hold, per type and handling mode."""

import json
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.integration.values.cells import (
    ABSENT,
    FIRST_STREAMED,
    Format,
    Loss,
    Mode,
    Reading,
    Setup,
)

Read = Callable[[Setup], Reading]

# The type's own way of writing itself; a cast to text cuts the blanks of char(n).
WRITTEN = "CASE WHEN {v} IS NULL THEN NULL ELSE format('%s', {v}) END"
# Debezium takes a number of any scale without the zeros that end it.
SHORTEST = "trim_scale({v})::text"
UTC_CLOCK = "replace(timezone('UTC', {v})::text, '+00', 'Z')"
POINT = "struct<x:double,y:double,wkb:binary,srid:int>"

WIDEST_12 = "lpad({v}::text, 16, '0')"
ZEROS = Loss(
    "a negative scale is sent as 2046 zeros after the point",
    "{v} IS NOT NULL",
    "{v}::text || '.' || repeat('0', 2046)",
)
SNAPSHOT = f"id < {FIRST_STREAMED}"
# Java's old dates have no year before 1, and leave out the ten days between the two calendars.
BETWEEN = "{v} >= '1582-10-05' AND {v} < '1582-10-15'"
BEFORE = "isfinite({v}) AND {v} < '0001-01-01'"
INFINITE = "NOT isfinite({v})"
NULL_IS_DEFAULT = "the Avro converter sends a column's default for null"
CUT = "date_trunc('milliseconds', {v})"
START, END_OF_DAY = "time '00:00'", "{v} = '24:00'"
FAR = "isfinite({v}) AND ({v} < '1677-09-21 00:12:43.145225' OR {v} > '2262-04-11 23:47:16.854775')"


def plain(sql: str, kind: str) -> Read:
    """Read a type that looks the same in every mode."""
    return lambda setup: Reading(sql, kind)


def text(setup: Setup) -> Reading:
    """Read what comes as PostgreSQL writes it."""
    return Reading(WRITTEN, "string")


def defaulted(sql: str, kind: str, default: str) -> Read:
    """Read a column that has a default."""

    def read(setup: Setup) -> Reading:
        loss = Loss(NULL_IS_DEFAULT, "{v} IS NULL", default)
        return Reading(sql, kind, (loss,) if setup.format is Format.AVRO else ())

    return read


def numeric(precise: str, sql: str = "{v}::text", *more: Loss) -> Read:
    """Read a number whose mirror has the type `precise` unless the mode says otherwise.

    Args:
        precise: The type in precise mode.
        sql: The number's digits in precise mode.
        more: What string mode does to them beyond what it does to all.
    """
    special = "{v}::numeric IN ('NaN', 'Infinity', '-Infinity')"
    words = (
        "CASE {v}::numeric WHEN 'NaN' THEN 'NAN' WHEN 'Infinity' THEN 'POSITIVE_INFINITY' "
        "ELSE 'NEGATIVE_INFINITY' END"
    )

    def read(setup: Setup) -> Reading:
        mode = setup.modes[Mode.DECIMAL]
        if mode == "double":
            return Reading("{v}::numeric::float8", "double")
        if mode == "string":
            spelled = Loss("NaN and infinity are sent as words of Java", special, words)
            return Reading("{v}::numeric::text", "string", (spelled, *more))
        return Reading(
            sql, precise, (Loss("precise mode sends NaN and infinity as null", special),)
        )

    return read


def octets(sql: str) -> Read:
    """Read bytes, which come as they are or as text."""

    def read(setup: Setup) -> Reading:
        base64 = f"replace(encode({sql}, 'base64'), E'\\n', '')"
        forms = {
            "bytes": Reading(sql, "binary"),
            "base64": Reading(base64, "string"),
            "base64-url-safe": Reading(f"translate({base64}, '+/', '-_')", "string"),
            "hex": Reading(f"encode({sql}, 'hex')", "string"),
        }
        return forms[setup.modes[Mode.BINARY]]

    return read


UNKNOWN = octets(f"convert_to({WRITTEN}, 'UTF8')")
# Shapes are written by Java, which puts a point into every number.
SHAPE = octets(
    f"convert_to(regexp_replace({WRITTEN}, '(?<![.\\d])\\d+(?![.\\d])', '\\&.0', 'g'), 'UTF8')"
)


def days(sql: str) -> str:
    return f"({sql} - date 'epoch')"


def old_dates(also: str = "true") -> tuple[Loss, ...]:
    moved = days("({v} + 10)")
    same_year = (
        "make_date(-extract(year FROM {v})::int, extract(month FROM {v})::int, "
        "extract(day FROM {v})::int)"
    )
    return (
        Loss("a day between the calendars is sent ten days later", f"{also} AND {BETWEEN}", moved),
        Loss("a year before 1 is sent as one after", f"{also} AND {BEFORE}", days(same_year)),
    )


def date(setup: Setup) -> Reading:
    """Read a date as days since 1970: Python's own dates end with the year 9999."""
    return Reading(days("{v}"), "date", old_dates(also=SNAPSHOT))


def time(setup: Setup) -> Reading:
    """Read a time of day as the text that the mirror has for it."""
    mode = setup.modes[Mode.TIME]
    losses = []
    if mode == "connect":
        losses.append(
            Loss("connect mode cuts to milliseconds", f"{CUT} <> {{v}}", clock(CUT, mode))
        )
    if mode == "isostring":
        losses.append(Loss("isostring mode sends 24:00 as 00:00", END_OF_DAY, clock(START, mode)))
    return Reading(clock("{v}", mode), "string", tuple(losses))


def clock(sql: str, mode: str) -> str:
    digits = "HH24:MI:SS.US000" if mode == "nanoseconds" else "HH24:MI:SS.US"
    return f"to_char({sql}, '{digits}')"


def timestamp(setup: Setup) -> Reading:
    """Read a timestamp as microseconds since 1970."""
    losses = {
        "connect": Loss("connect mode cuts to milliseconds", f"{CUT} <> {{v}}", micros(CUT)),
        "nanoseconds": Loss("nanoseconds reach from 1677 to 2262, all else is sent as null", FAR),
    }
    mode = setup.modes[Mode.TIME]
    return Reading(micros("{v}"), "timestamp_ntz", (losses[mode],) if mode in losses else ())


def timestamptz(setup: Setup) -> Reading:
    """Read a moment as microseconds since 1970."""
    return Reading(micros("{v}"), "timestamp")


def micros(sql: str) -> str:
    return f"(extract(epoch FROM {sql}) * 1000000)::int8"


def rejecting(read: Read) -> Read:
    """Read what is not applied where a value fits no type."""

    def rejected(setup: Setup) -> Reading:
        reading = read(setup)
        beyond = INFINITE if reading.type == "date" else f"{INFINITE} OR {{v}} > '294247-01-10'"
        # What is sent as null is not refused.
        nulls = [loss for loss in reading.losses if loss.becomes == "NULL"]
        sent = "".join(f" AND NOT ({loss.when})" for loss in nulls)
        return replace(reading, rejected=f"({beyond}){sent}")

    return rejected


def or_null(read: Read) -> Read:
    """Read what the config replaces by null where it does not fit."""

    def replaced(setup: Setup) -> Reading:
        reading = read(setup)
        return replace(reading, sql=f"CASE WHEN {INFINITE} THEN NULL ELSE {reading.sql} END")

    return replaced


def or_nearest(read: Read, first: str, last: str) -> Read:
    """Read what the config replaces by the first or the last value where it does not fit."""

    def replaced(setup: Setup) -> Reading:
        reading = read(setup)
        before, after = (reading.sql.replace("{v}", nearest) for nearest in (first, last))
        cases = f"WHEN {{v}} = '-infinity' THEN {before} WHEN {{v}} = 'infinity' THEN {after}"
        return replace(reading, sql=f"CASE {cases} ELSE {reading.sql} END")

    return replaced


def written(form: str) -> Read:
    """Read a moment as the text that the config chooses for it."""

    def read(setup: Setup) -> Reading:
        nanos = form.endswith("US") and setup.modes[Mode.TIME] == "nanoseconds"
        shown = f"to_char({{v}}, '{form}{'000' if nanos else ''}')"
        return Reading(f"CASE WHEN {INFINITE} THEN {{v}}::text ELSE {shown} END", "string")

    return read


def interval(setup: Setup) -> Reading:
    """Read an interval as microseconds, or as ISO 8601 writes it."""
    infinite = "an infinite interval is sent as an empty one"
    if setup.modes[Mode.INTERVAL] == "string":
        parts = [
            f"extract({name} FROM {{v}})::int8 || '{letter}'"
            for name, letter in zip(
                ("year", "month", "day", "hour", "minute"), ("Y", "M", "DT", "H", "M"), strict=True
            )
        ]
        seconds = "trim_scale(extract(second FROM {v})) || 'S'"
        loss = Loss(infinite, INFINITE, "'P0Y0M0DT0H0M0S'")
        return Reading(" || ".join(["'P'", *parts, seconds]), "string", (loss,))
    months = "(extract(year FROM {v}) * 12 + extract(month FROM {v}))"
    micros = (
        "extract(day FROM {v}) * 86400000000 + extract(hour FROM {v}) * 3600000000 "
        "+ extract(minute FROM {v}) * 60000000 + extract(microseconds FROM {v})"
    )
    counted = f"({months} * 2629800000000 + {micros})"
    losses = (
        Loss(infinite, INFINITE, "0"),
        Loss(
            "an interval beyond 292,271 years is sent as the greatest number",
            f"abs({counted}) > 9223372036854775807",
            f"CASE WHEN {counted} > 0 THEN 9223372036854775807 ELSE -9223372036854775808 END",
        ),
        # Exact it cannot be: a month has no length.
        Loss("a month is sent as 30.4375 days", f"{months} <> 0", f"{counted}::int8"),
    )
    return Reading(f"({micros})::int8", "bigint", losses)


def absent(setup: Setup) -> Reading:
    """Read what is never sent."""
    return Reading("NULL", ABSENT, (Loss("columns of this type are left out", "{v} IS NOT NULL"),))


def hstore(setup: Setup) -> Reading:
    """Read an hstore from its own text."""
    if setup.modes[Mode.HSTORE] == "map":
        return Reading(WRITTEN, "map<string,string>", finish=_hstore)
    return Reading(WRITTEN, "string", finish=_hstore_json)


def _hstore_json(written: str | None) -> str | None:
    pairs = _hstore(written)
    return (
        json.dumps(pairs, ensure_ascii=False, separators=(",", ":")) if pairs is not None else None
    )


def _hstore(written: str | None) -> dict[str, str | None] | None:
    """Take `"key"=>"value", "other"=>NULL` apart."""
    if written is None:
        return None
    quoted = r'"((?:[^"\\]|\\.)*)"'
    pairs = re.findall(rf"{quoted}=>(?:{quoted}|(NULL))", written, re.DOTALL)
    return {_unescaped(key): None if null else _unescaped(text) for key, text, null in pairs}


def _unescaped(quoted: str) -> str:
    return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)


def point(setup: Setup) -> Reading:
    """Read a point as two numbers and the same as WKB, least byte first."""
    pair = "CASE WHEN {v} IS NULL THEN NULL ELSE ARRAY[{v}[0], {v}[1]] END"
    return Reading(pair, POINT, finish=_point)


def _point(pair: list[float] | None) -> dict[str, Any] | None:
    if pair is None:
        return None
    return {"x": pair[0], "y": pair[1], "wkb": struct.pack("<BIdd", 1, 1, *pair), "srid": None}


def bits(setup: Setup) -> Reading:
    """Read bits as bytes, the most significant first."""
    padded = "lpad({v}::text, (length({v}) + 7) / 8 * 8, '0')"
    return Reading(padded, "binary", finish=_bytes_of_bits)


def bit_varying_12(setup: Setup) -> Reading:
    """Read bits of a length of their own."""
    loss = Loss("the length of a bit varying is not sent", "length({v}) < 12", WIDEST_12)
    return replace(bits(setup), losses=(loss,))


def _bytes_of_bits(zeros_and_ones: str | None) -> bytes | None:
    if zeros_and_ones is None:
        return None
    return int(zeros_and_ones, 2).to_bytes(len(zeros_and_ones) // 8, "big")


def vector(element: str) -> Read:
    """Read a vector of numbers."""
    return plain("string_to_array(btrim({v}::text, '[]'), ',')::float8[]", f"array<{element}>")


def sparse_vector(setup: Setup) -> Reading:
    """Read the numbers of a vector that are not zero, by their places."""
    kind = "struct<dimensions:int,vector:map<int,double>>"
    return Reading("{v}::text", kind, finish=_sparse_vector)


def _sparse_vector(written: str | None) -> dict[str, Any] | None:
    if written is None:
        return None
    pairs, _, dimensions = written.partition("/")
    vector = {int(place): float(number) for place, number in re.findall(r"(\d+):([^,}]+)", pairs)}
    return {"dimensions": int(dimensions), "vector": vector}
