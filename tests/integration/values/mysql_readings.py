"""How MySQL and MariaDB tell what the mirror should hold, per type and handling mode."""

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.integration.values.cells import FIRST_STREAMED, Format, Loss, Mode, Reading, Setup

Read = Callable[[Setup], Reading]

POINT = "struct<x:double,y:double,wkb:binary,srid:int>"
SNAPSHOT = f"id < {FIRST_STREAMED}"
# Without what is smaller than a millisecond.
CUT = "({v} - INTERVAL MICROSECOND({v}) MOD 1000 MICROSECOND)"
# Java's old timestamps leave out the ten days between the calendars.
BETWEEN = f"{SNAPSHOT} AND {{v}} BETWEEN '1582-10-05' AND '1582-10-14 23:59:59.999999'"
NANOSECONDS_REACH = "'1677-09-21 00:12:44' AND '2262-04-11 23:47:16'"
GEOMETRY = "struct<wkb:binary,srid:int>"


def plain(sql: str, kind: str) -> Read:
    """Read a type that looks the same in every mode."""
    return lambda setup: Reading(sql, kind)


text = plain("{v}", "string")


def json_text(setup: Setup) -> Reading:
    """Read JSON that the server keeps in a form of its own."""
    tight = "REPLACE(REPLACE({v}, ': ', ':'), ', ', ',')"
    changed = f"NOT {SNAPSHOT} AND {tight} <> CAST({{v}} AS CHAR)"
    return Reading("{v}", "string", (Loss("changes hold JSON without its blanks", changed, tight),))


def defaulted(sql: str, kind: str, default: str) -> Read:
    """Read a column that has a default."""

    def read(setup: Setup) -> Reading:
        loss = Loss("the Avro converter sends a column's default for null", "{v} IS NULL", default)
        return Reading(sql, kind, (loss,) if setup.format is Format.AVRO else ())

    return read


def decimal(precise: str) -> Read:
    """Read a number whose mirror has the type `precise` unless the mode says otherwise."""

    def read(setup: Setup) -> Reading:
        mode = setup.modes[Mode.DECIMAL]
        if mode == "double":
            return Reading("{v} + 0e0", "double")
        return Reading("CAST({v} AS CHAR)", "string" if mode == "string" else precise)

    return read


def octets(setup: Setup) -> Reading:
    """Read bytes, which come as they are or as text."""
    base64 = "REPLACE(TO_BASE64({v}), '\\n', '')"
    forms = {
        "bytes": Reading("{v}", "binary"),
        "base64": Reading(base64, "string"),
        "base64-url-safe": Reading(f"REPLACE(REPLACE({base64}, '+', '-'), '/', '_')", "string"),
        "hex": Reading("LOWER(HEX({v}))", "string"),
    }
    return forms[setup.modes[Mode.BINARY]]


def date(setup: Setup) -> Reading:
    """Read a date as days since 1970."""
    zero = Loss("a date with a zero in it is sent as null", "DAYOFMONTH({v}) = 0")
    return Reading("TO_DAYS({v}) - 719528", "date", (zero,))


def datetime(*, overflows: bool) -> Read:
    """Read a timestamp without zone as microseconds since 1970.

    Args:
        overflows: Whether the connector lets nanoseconds overflow: what comes then is no whole
            number of microseconds, and is refused. Else it sends null.
    """

    def read(setup: Setup) -> Reading:
        mode = setup.modes[Mode.TIME]
        far = f"{{v}} NOT BETWEEN {NANOSECONDS_REACH} AND DAYOFMONTH({{v}}) > 0"
        later, cut = _micros("({v} + INTERVAL 10 DAY)"), _micros(CUT)
        losses = [Loss("a date with a zero in it is sent as null", "DAYOFMONTH({v}) = 0")]
        if mode == "nanoseconds" and not overflows:
            losses.append(
                Loss("nanoseconds reach from 1677 to 2262, all else is sent as null", far)
            )
        losses.append(Loss("a day between the calendars is sent ten days later", BETWEEN, later))
        if mode == "connect":
            losses.append(Loss("connect mode cuts to milliseconds", f"{CUT} <> {{v}}", cut))
        rejected = far if mode == "nanoseconds" and overflows else None
        return Reading(_micros("{v}"), "timestamp_ntz", tuple(losses), rejected=rejected)

    return read


def timestamp(*, zero: str) -> Read:
    """Read a moment as microseconds since 1970; `zero` is what a change sends for a zero one."""
    losses = (
        Loss("a zero timestamp is sent as null in a snapshot", f"{SNAPSHOT} AND {{v}} = 0"),
        Loss(f"a zero timestamp is sent as {zero} in a change", "{v} = 0", zero),
    )
    return lambda setup: Reading(_micros("{v}"), "timestamp", losses)


def or_epoch(read: Read) -> Read:
    """Read a moment of a column without null."""
    why = "a date with a zero in it is sent as 1970-01-01 where null is not allowed"
    zero = Loss(why, "DAYOFMONTH({v}) = 0", "0")

    def replaced(setup: Setup) -> Reading:
        reading = read(setup)
        return replace(reading, losses=(zero, *reading.losses))

    return replaced


def _micros(sql: str) -> str:
    return f"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {sql})"


def time(setup: Setup) -> Reading:
    """Read a time, which may be negative and longer than a day, as the mirror's text."""
    mode = setup.modes[Mode.TIME]
    losses = []
    if mode in ("connect", "isostring"):
        outside = "{v} < 0 OR {v} > '24:00:00'"
        losses.append(Loss(f"{mode} mode sends times beyond a day as null", outside))
    if mode == "isostring":
        losses.append(
            Loss("isostring mode sends 24:00 as 00:00", "{v} = '24:00:00'", _clock("'0'"))
        )
    if mode == "connect":
        losses.append(Loss("connect mode cuts to milliseconds", f"{CUT} <> {{v}}", _clock(CUT)))
    clock = _clock("{v}", "000" if mode == "nanoseconds" else "")
    return Reading(clock, "string", tuple(losses))


def _clock(sql: str, more: str = "") -> str:
    return f"TIME_FORMAT({sql}, '%H:%i:%s.%f{more}')"


def single(setup: Setup) -> Reading:
    """Read a number of single precision."""
    loss = Loss(
        "the server writes six digits of a float into a snapshot",
        f"{SNAPSHOT} AND {{v}} <> CAST({{v}} AS CHAR) + 0e0",
        "CAST({v} AS CHAR)",
    )
    return Reading("CAST({v} AS DOUBLE)", "float", (loss,), finish=_single)


def _single(written: str | float | None) -> float | None:
    if written is None:
        return None
    (value,) = struct.unpack("f", struct.pack("f", float(written)))
    return float(value)


def flag(setup: Setup) -> Reading:
    """Read a single bit."""
    return Reading("{v} + 0", "boolean", finish=lambda bit: None if bit is None else bool(bit))


def year(setup: Setup) -> Reading:
    """Read a year."""
    losses = (
        Loss("year 0000 is sent as 2000 in a snapshot", f"{SNAPSHOT} AND {{v}} = 0", "2000"),
        Loss("year 0000 is sent as 1900 in a change", "{v} = 0", "1900"),
    )
    return Reading("CAST({v} AS SIGNED)", "int", losses)


def vector(setup: Setup) -> Reading:
    """Read a vector of numbers."""
    return Reading("VECTOR_TO_STRING({v})", "array<float>", finish=_vector)


def _vector(written: bytes | None) -> list[float] | None:
    return None if written is None else [float(number) for number in json.loads(written)]


def point(setup: Setup) -> Reading:
    """Read a point as its two numbers and as WKB."""
    return replace(geometry(setup), type=POINT, finish=_point)


def geometry(setup: Setup) -> Reading:
    """Read a shape as WKB, and the number of its reference system, which is null for 0."""
    return Reading("CONCAT(ST_SRID({v}), ' ', HEX(ST_AsBinary({v})))", GEOMETRY, finish=_geometry)


def _geometry(written: str | None) -> dict[str, Any] | None:
    if written is None:
        return None
    srid, wkb = written.split()
    return {"wkb": bytes.fromhex(wkb), "srid": int(srid) or None}


def _point(written: str | None) -> dict[str, Any] | None:
    shape = _geometry(written)
    if shape is None:
        return None
    x, y = struct.unpack("<dd", shape["wkb"][-16:])
    return {"x": x, "y": y, **shape}
