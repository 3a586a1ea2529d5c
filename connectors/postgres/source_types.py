"""PostgreSQL's types as Debezium sends them, for the types page."""

from cdc.dialect import DocumentedType
from cdc.model import SourceType, logical
from connectors import debezium_types as debezium
from connectors.debezium_types import BYTES, DOUBLE, INT16, INT32, STRING, exact_decimal, named

CONNECT = "time.precision.mode=connect"
ISO = "time.precision.mode=isostring"
NANOS = "time.precision.mode=nanoseconds"
STRING_DECIMALS = "decimal.handling.mode=string"
SPECIAL = "NaN and ±infinity come as null."
CUT = "Debezium cuts what is finer than milliseconds."
REACH = "Beyond the years 1677 to 2262 it comes as null."
OLD = "From a snapshot a year before 1 comes as one after, and October 5 to 14, 1582 as 15 to 24."


SOURCE_TYPES = (
    DocumentedType("boolean, bit(1)", debezium.BOOLEAN),
    DocumentedType("smallint, smallserial", INT16),
    DocumentedType("integer, serial", INT32),
    DocumentedType("bigint, bigserial, oid", debezium.INT64),
    DocumentedType("real", debezium.FLOAT),
    DocumentedType("double precision", DOUBLE),
    DocumentedType("numeric(p, s)", exact_decimal(10, 2), note=SPECIAL),
    DocumentedType("numeric(p, s), p > 38", exact_decimal(65, 30), note=SPECIAL),
    DocumentedType(
        "numeric(p, -s)",
        exact_decimal(5, 2046),
        note="Debezium gives scale 2048 - s and as many zeros; the number is the right one.",
    ),
    DocumentedType(
        "numeric", debezium.VARIABLE_SCALE, note=f"Zeros at the end are not sent. {SPECIAL}"
    ),
    DocumentedType("numeric", STRING, STRING_DECIMALS, "`NAN`, `POSITIVE_INFINITY` as such."),
    DocumentedType("numeric", DOUBLE, "decimal.handling.mode=double", "Debezium rounds."),
    DocumentedType("money", named("bytes", logical.DECIMAL, scale=2)),
    DocumentedType("money", STRING, STRING_DECIMALS),
    DocumentedType("char, varchar, text, citext, name", STRING, note="char(n) with its spaces."),
    DocumentedType("bytea", BYTES),
    DocumentedType(
        "bytea", STRING, "binary.handling.mode=base64, base64-url-safe, hex", "The text as sent."
    ),
    DocumentedType("bit(n), bit varying(n)", debezium.bits(12)),
    DocumentedType("date", named("int32", logical.DATE), note=OLD),
    DocumentedType("date", named("int32", logical.CONNECT_DATE), CONNECT),
    DocumentedType("date", named("string", logical.ISO_DATE), ISO),
    DocumentedType("time(0) to time(3)", named("int32", logical.TIME), note="24:00:00 is kept."),
    DocumentedType("time", named("int64", logical.MICRO_TIME), note="24:00:00 is kept."),
    DocumentedType("time", named("int64", logical.NANO_TIME), NANOS),
    DocumentedType("time", named("int32", logical.CONNECT_TIME), CONNECT, CUT),
    DocumentedType("time", named("string", logical.ISO_TIME), ISO, "24:00:00 comes as 00:00:00."),
    DocumentedType("timetz", debezium.ZONED_TIME, note="Moved to UTC by Debezium."),
    DocumentedType("timestamp(0) to timestamp(3)", named("int64", logical.TIMESTAMP)),
    DocumentedType("timestamp", named("int64", logical.MICRO_TIMESTAMP)),
    DocumentedType("timestamp", named("int64", logical.NANO_TIMESTAMP), NANOS, REACH),
    DocumentedType("timestamp", named("int64", logical.CONNECT_TIMESTAMP), CONNECT, CUT),
    DocumentedType("timestamp", named("string", logical.ISO_TIMESTAMP), ISO),
    DocumentedType("timestamptz", debezium.ZONED_TIMESTAMP),
    DocumentedType(
        "interval",
        named("int64", logical.MICRO_DURATION),
        note="A month counts as 30.4375 days: set interval.handling.mode=string. "
        "Infinity comes as 0, and beyond 292,271 years the greatest number.",
    ),
    DocumentedType(
        "interval",
        named("string", logical.INTERVAL),
        "interval.handling.mode=string",
        "Infinity comes as `P0Y0M0DT0H0M0S`.",
    ),
    DocumentedType("uuid", debezium.UUID),
    DocumentedType("json, jsonb", debezium.JSON),
    DocumentedType("xml", named("string", logical.XML)),
    DocumentedType("enum", debezium.enum(logical.ENUM, "a,b")),
    DocumentedType("hstore", debezium.JSON),
    DocumentedType("hstore", debezium.TEXT_MAP, "hstore.handling.mode=map"),
    DocumentedType("ltree", named("string", logical.LTREE)),
    DocumentedType("tsvector", named("string", logical.TSVECTOR)),
    DocumentedType("inet, cidr, macaddr, macaddr8", STRING),
    DocumentedType("int4range, numrange, tsrange, daterange and others", STRING),
    DocumentedType("point", debezium.POINT),
    DocumentedType("PostGIS geometry", debezium.GEOMETRY),
    DocumentedType("PostGIS geography", debezium.GEOGRAPHY),
    DocumentedType("vector", debezium.DOUBLE_VECTOR),
    DocumentedType("halfvec", debezium.FLOAT_VECTOR),
    DocumentedType("sparsevec", debezium.SPARSE_VECTOR),
    DocumentedType(
        "array",
        SourceType("array", element=INT32),
        note="Elements as columns. Debezium sends a second dimension as nulls, cuts times to "
        "milliseconds, or to seconds with a zone, and takes timestamps before 1582 for Julian. "
        "Arrays of money, interval, point and name are not sent. One of enum, ltree, tsvector or a "
        "domain is sent as null if a null is in it.",
    ),
    DocumentedType(
        "line, box, circle, polygon, tsquery, pg_lsn, multirange, composite",
        BYTES,
        "include.unknown.datatypes=true",
        '`types = "string"` gives the text.',
    ),
)
