"""The logical types of Debezium and Kafka Connect: what a number, a text or bytes stand for."""

from collections.abc import Mapping
from typing import Final

from cdc.model import SourceType

_CONNECT: Final = "org.apache.kafka.connect.data."
_TIME: Final = "io.debezium.time."
_DATA: Final = "io.debezium.data."

CONNECT_DATE: Final = _CONNECT + "Date"
CONNECT_TIME: Final = _CONNECT + "Time"
CONNECT_TIMESTAMP: Final = _CONNECT + "Timestamp"
DECIMAL: Final = _CONNECT + "Decimal"

DATE: Final = _TIME + "Date"
TIME: Final = _TIME + "Time"
MICRO_TIME: Final = _TIME + "MicroTime"
NANO_TIME: Final = _TIME + "NanoTime"
TIMESTAMP: Final = _TIME + "Timestamp"
MICRO_TIMESTAMP: Final = _TIME + "MicroTimestamp"
NANO_TIMESTAMP: Final = _TIME + "NanoTimestamp"
ZONED_TIME: Final = _TIME + "ZonedTime"
ZONED_TIMESTAMP: Final = _TIME + "ZonedTimestamp"
ISO_DATE: Final = _TIME + "IsoDate"
ISO_TIME: Final = _TIME + "IsoTime"
ISO_TIMESTAMP: Final = _TIME + "IsoTimestamp"
YEAR: Final = _TIME + "Year"
INTERVAL: Final = _TIME + "Interval"
MICRO_DURATION: Final = _TIME + "MicroDuration"
NANO_DURATION: Final = _TIME + "NanoDuration"

BITS: Final = _DATA + "Bits"
ENUM: Final = _DATA + "Enum"
ENUM_SET: Final = _DATA + "EnumSet"
JSON: Final = _DATA + "Json"
XML: Final = _DATA + "Xml"
UUID: Final = _DATA + "Uuid"
LTREE: Final = _DATA + "Ltree"
TSVECTOR: Final = _DATA + "Tsvector"
VARIABLE_SCALE_DECIMAL: Final = _DATA + "VariableScaleDecimal"
DOUBLE_VECTOR: Final = _DATA + "DoubleVector"
FLOAT_VECTOR: Final = _DATA + "FloatVector"
SPARSE_VECTOR: Final = _DATA + "SparseDoubleVector"
POINT: Final = _DATA + "geometry.Point"
GEOMETRY: Final = _DATA + "geometry.Geometry"
GEOGRAPHY: Final = _DATA + "geometry.Geography"

# An enum whose messages hold a comma as `\,`: the dialect of its database says so, no message does.
ESCAPED_ENUM: Final = "_mirror.EscapedEnum"

# The physical kind in which each logical type comes. A message that gives the name to another kind
# is taken for what it physically is.
KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys((CONNECT_DATE, CONNECT_TIME, DATE, TIME, YEAR), "int32"),
    **dict.fromkeys((CONNECT_TIMESTAMP, TIMESTAMP, MICRO_TIMESTAMP, NANO_TIMESTAMP), "int64"),
    **dict.fromkeys((MICRO_TIME, NANO_TIME, MICRO_DURATION, NANO_DURATION), "int64"),
    **dict.fromkeys((ZONED_TIME, ZONED_TIMESTAMP, ISO_DATE, ISO_TIME, ISO_TIMESTAMP), "string"),
    **dict.fromkeys((INTERVAL, ENUM, ENUM_SET, JSON, XML, UUID, LTREE, TSVECTOR), "string"),
    ESCAPED_ENUM: "string",
    **dict.fromkeys((DECIMAL, BITS), "bytes"),
    **dict.fromkeys((DOUBLE_VECTOR, FLOAT_VECTOR), "array"),
    **dict.fromkeys((VARIABLE_SCALE_DECIMAL, SPARSE_VECTOR), "struct"),
    **dict.fromkeys((POINT, GEOMETRY, GEOGRAPHY), "struct"),
}
_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    VARIABLE_SCALE_DECIMAL: {"scale": "int32", "value": "bytes"},
    POINT: {"wkb": "bytes"},
    GEOMETRY: {"wkb": "bytes"},
    GEOGRAPHY: {"wkb": "bytes"},
}

PRECISION: Final = "connect.decimal.precision"
SCALE: Final = "scale"
LENGTH: Final = "length"
ALLOWED: Final = "allowed"
SOURCE_TYPE: Final = "__debezium.source.column.type"
_UNSIGNED: Final = ("BIGINT UNSIGNED", "INT8 UNSIGNED")


def meaning(source: SourceType) -> str | None:
    """Name the logical type of a value, where the value has its physical form."""
    name = source.logical
    if name is None or KINDS.get(name) != source.kind:
        return None
    kinds = {field.name: field.type.kind for field in source.fields}
    wanted = _FIELDS.get(name, {})
    if any(kinds.get(field) != kind for field, kind in wanted.items()):
        return None
    if name == DECIMAL and decimal_scale(source) is None:
        return None
    return name


def decimal_scale(source: SourceType) -> int | None:
    """Give the scale of a decimal; without one its bytes say no number."""
    return _number(source, SCALE)


def decimal_precision(source: SourceType) -> int | None:
    """Give the precision of a decimal, where the message says one."""
    return _number(source, PRECISION)


def bit_length(source: SourceType) -> int | None:
    """Give the declared number of bits of a bit string."""
    return _number(source, LENGTH)


def is_unsigned_bigint(source: SourceType) -> bool:
    """Say whether a 64-bit number counts without a sign, so that it is negative from 2^63 on."""
    if source.kind != "int64" or source.logical is not None:
        return False
    return (source.parameter(SOURCE_TYPE) or "").upper().startswith(_UNSIGNED)


def _number(source: SourceType, name: str) -> int | None:
    try:
        return int(source.parameter(name) or "")
    except ValueError:
        return None
