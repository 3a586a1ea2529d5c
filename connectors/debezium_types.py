"""Types as Debezium's connectors write them, under the handling modes that they share.

What a connector's value converter decides for a column of the database is decided here again, so
that a message without a schema is read as the same message with one.
"""

from collections.abc import Mapping
from contextlib import suppress
from math import isfinite

from cdc.model import SourceColumn, SourceType

DECIMAL_MODE = "decimal.handling.mode"
TIME_MODE = "time.precision.mode"
BINARY_MODE = "binary.handling.mode"

BOOLEAN = SourceType("boolean")
INT16 = SourceType("int16")
INT32 = SourceType("int32")
INT64 = SourceType("int64")
FLOAT = SourceType("float")
DOUBLE = SourceType("double")
STRING = SourceType("string")
BYTES = SourceType("bytes")
JSON = SourceType("string", "io.debezium.data.Json")
UUID = SourceType("string", "io.debezium.data.Uuid")
YEAR = SourceType("int32", "io.debezium.time.Year")
ZONED_TIME = SourceType("string", "io.debezium.time.ZonedTime")
ZONED_TIMESTAMP = SourceType("string", "io.debezium.time.ZonedTimestamp")
FLOAT_VECTOR = SourceType("array", "io.debezium.data.FloatVector", element=FLOAT)
DOUBLE_VECTOR = SourceType("array", "io.debezium.data.DoubleVector", element=DOUBLE)

_SHAPE = (SourceColumn("wkb", BYTES), SourceColumn("srid", INT32))
GEOMETRY = SourceType("struct", "io.debezium.data.geometry.Geometry", fields=_SHAPE)
GEOGRAPHY = SourceType("struct", "io.debezium.data.geometry.Geography", fields=_SHAPE)
POINT = SourceType(
    "struct",
    "io.debezium.data.geometry.Point",
    fields=(SourceColumn("x", DOUBLE), SourceColumn("y", DOUBLE), *_SHAPE),
)


def _map(key: SourceType, value: SourceType) -> SourceType:
    return SourceType("map", fields=(SourceColumn("key", key), SourceColumn("value", value)))


TEXT_MAP = _map(STRING, STRING)
VARIABLE_SCALE = SourceType(
    "struct",
    "io.debezium.data.VariableScaleDecimal",
    fields=(SourceColumn("scale", INT32), SourceColumn("value", BYTES)),
)
SPARSE_VECTOR = SourceType(
    "struct",
    "io.debezium.data.SparseDoubleVector",
    fields=(SourceColumn("dimensions", INT16), SourceColumn("vector", _map(INT16, DOUBLE))),
)

_CONNECT = "org.apache.kafka.connect.data."
_DEBEZIUM = "io.debezium.time."
_DATES = {
    "connect": SourceType("int32", _CONNECT + "Date"),
    "isostring": SourceType("string", _DEBEZIUM + "IsoDate"),
}
_DATE = SourceType("int32", _DEBEZIUM + "Date")
_TIME = SourceType("int32", _DEBEZIUM + "Time")
_MICRO_TIME = SourceType("int64", _DEBEZIUM + "MicroTime")
_TIMES = {
    "adaptive_time_microseconds": _MICRO_TIME,
    "connect": SourceType("int32", _CONNECT + "Time"),
    "isostring": SourceType("string", _DEBEZIUM + "IsoTime"),
    "microseconds": _MICRO_TIME,
    "nanoseconds": SourceType("int64", _DEBEZIUM + "NanoTime"),
}
_TIMESTAMP = SourceType("int64", _DEBEZIUM + "Timestamp")
_MICRO_TIMESTAMP = SourceType("int64", _DEBEZIUM + "MicroTimestamp")
_TIMESTAMPS = {
    "connect": SourceType("int64", _CONNECT + "Timestamp"),
    "isostring": SourceType("string", _DEBEZIUM + "IsoTimestamp"),
    "microseconds": _MICRO_TIMESTAMP,
    "nanoseconds": SourceType("int64", _DEBEZIUM + "NanoTimestamp"),
}
_MILLIS = 3  # digits behind the second up to which the adaptive modes count milliseconds


def named(kind: str, logical: str | None = None, **parameters: object) -> SourceType:
    """Give the type of a schema with a name and parameters."""
    return SourceType(kind, logical, tuple(sorted((k, str(v)) for k, v in parameters.items())))


def exact_decimal(precision: int | None, scale: int) -> SourceType:
    """Give the type of a decimal number that is sent as one; it may name its scale alone."""
    digits = {} if precision is None else {"connect.decimal.precision": precision}
    return named("bytes", _CONNECT + "Decimal", scale=scale, **digits)


def decimal(modes: Mapping[str, str], precision: int | None, scale: int) -> SourceType:
    """Give the type of a decimal number."""
    if modes[DECIMAL_MODE] == "precise":
        return exact_decimal(precision, scale)
    return DOUBLE if modes[DECIMAL_MODE] == "double" else STRING


def binary(modes: Mapping[str, str]) -> SourceType:
    """Give the type of bytes: themselves, or text in one of three spellings."""
    return BYTES if modes[BINARY_MODE] == "bytes" else STRING


def date(modes: Mapping[str, str]) -> SourceType:
    """Give the type of a date."""
    return _DATES.get(modes[TIME_MODE], _DATE)


def time(modes: Mapping[str, str], digits: int) -> SourceType:
    """Give the type of a time of day with so many digits behind the second."""
    adaptive = _TIME if digits <= _MILLIS else _MICRO_TIME
    return _TIMES.get(modes[TIME_MODE], adaptive)


def timestamp(modes: Mapping[str, str], digits: int) -> SourceType:
    """Give the type of a timestamp without a zone, with so many digits behind the second."""
    adaptive = _TIMESTAMP if digits <= _MILLIS else _MICRO_TIMESTAMP
    return _TIMESTAMPS.get(modes[TIME_MODE], adaptive)


def bits(length: int) -> SourceType:
    """Give the type of a string of bits; a single one is a boolean."""
    if length <= 1:
        return BOOLEAN
    return named("bytes", "io.debezium.data.Bits", length=length)


def enum(logical: str, allowed: str) -> SourceType:
    """Give the type of a column that holds one value, or several, of a list."""
    return named("string", logical, allowed=allowed)


def plain_default(kind: SourceType, text: str | None) -> bool | int | float | str | None:
    """Give a constant as messages would write it; None for what is no plain number or text."""
    if text is None or kind.logical is not None or kind.parameters:
        return None
    if kind == STRING:
        return text
    if kind == BOOLEAN:
        return _WORDS_OF_BOOLEANS.get(text.lower())
    with suppress(ValueError):
        if kind in (INT16, INT32, INT64):
            return int(text)
        if kind in (FLOAT, DOUBLE) and isfinite(float(text)):
            return float(text)
    return None


_WORDS_OF_BOOLEANS = {
    **dict.fromkeys(("t", "true", "1", "b'1'"), True),
    **dict.fromkeys(("f", "false", "0", "b'0'"), False),
}
