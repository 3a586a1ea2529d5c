"""MySQL's types as Debezium sends them, for the types page."""

from cdc.dialect import DocumentedType
from cdc.model import logical
from connectors import debezium_types as debezium
from connectors.debezium_types import BYTES, DOUBLE, INT64, STRING, exact_decimal, named

CONNECT = "time.precision.mode=connect"
ISO = "time.precision.mode=isostring"
NANOS = "time.precision.mode=nanoseconds"
ZERO = "0000-00-00 comes as null, or as 1970-01-01 where null is not allowed."
BEYOND = "Beyond a day it comes as null."
CALENDARS = "October 5 to 14, 1582 comes as 15 to 24."
YEARS = f"{ZERO} Without enable.time.adjuster=false the years 0 to 99 come as 1970 to 2069."
CUT = "Debezium cuts what is finer than milliseconds."


UNSIGNED = named("int64", **{logical.SOURCE_TYPE: "BIGINT UNSIGNED"})

COMMON = (
    DocumentedType(
        "TINYINT, SMALLINT, BOOLEAN, TINYINT UNSIGNED",
        debezium.INT16,
        note='BOOLEAN is a number there: `types = "boolean"` takes 0 and 1.',
    ),
    DocumentedType("BIT(1)", debezium.BOOLEAN),
    DocumentedType("SMALLINT UNSIGNED, MEDIUMINT, INT", debezium.INT32),
    DocumentedType("INT UNSIGNED, BIGINT", INT64),
    DocumentedType(
        "BIGINT UNSIGNED", exact_decimal(20, 0), "bigint.unsigned.handling.mode=precise"
    ),
    DocumentedType(
        "BIGINT UNSIGNED",
        UNSIGNED,
        "bigint.unsigned.handling.mode=long, datatype.propagate.source.type",
        "2^64 is added again to what came negative.",
    ),
    DocumentedType(
        "BIGINT UNSIGNED",
        INT64,
        "bigint.unsigned.handling.mode=long",
        "From 2^63 on negative, and nothing says so.",
    ),
    DocumentedType("FLOAT", debezium.FLOAT, note="A snapshot has six digits of it."),
    DocumentedType(
        "DOUBLE, FLOAT(m, d)", DOUBLE, note="FLOAT(7,2) has 12345.669921875 for 12345.67."
    ),
    DocumentedType("DECIMAL(p, s)", exact_decimal(10, 2)),
    DocumentedType("DECIMAL(p, s), p > 38", exact_decimal(65, 30)),
    DocumentedType("DECIMAL", STRING, "decimal.handling.mode=string"),
    DocumentedType("DECIMAL", DOUBLE, "decimal.handling.mode=double", "Debezium rounds."),
    DocumentedType(
        "BIT(n)",
        debezium.bits(20),
        note="In a key of more than 8 bits a snapshot has the bytes turned around.",
    ),
    DocumentedType("CHAR, VARCHAR, TEXT", STRING),
    DocumentedType("BINARY, VARBINARY, BLOB", BYTES, note="BINARY(n) with its zeros."),
    DocumentedType(
        "BINARY, VARBINARY, BLOB",
        STRING,
        "binary.handling.mode=base64, base64-url-safe, hex",
        "The text as sent.",
    ),
    DocumentedType("DATE", named("int32", logical.DATE), note=YEARS),
    DocumentedType("DATE", named("int32", logical.CONNECT_DATE), CONNECT, ZERO),
    DocumentedType("DATE", named("string", logical.ISO_DATE), ISO, ZERO),
    DocumentedType("TIME", named("int64", logical.MICRO_TIME), note="-838:59:59 to 838:59:59."),
    DocumentedType("TIME", named("int64", logical.NANO_TIME), NANOS),
    DocumentedType(
        "TIME",
        named("int32", logical.CONNECT_TIME),
        CONNECT,
        f"{CUT} {BEYOND} Where null is not allowed, the connector stops there.",
    ),
    DocumentedType(
        "TIME",
        named("string", logical.ISO_TIME),
        ISO,
        f"24:00 comes as 00:00. {BEYOND}",
    ),
    DocumentedType("DATETIME(0) to DATETIME(3)", named("int64", logical.TIMESTAMP), note=YEARS),
    DocumentedType(
        "DATETIME(4) to DATETIME(6)", named("int64", logical.MICRO_TIMESTAMP), note=CALENDARS
    ),
    DocumentedType(
        "DATETIME",
        named("int64", logical.NANO_TIMESTAMP),
        NANOS,
        "Beyond the years 1677 to 2262 it comes as null, or garbled and is refused.",
    ),
    DocumentedType("DATETIME", named("int64", logical.CONNECT_TIMESTAMP), CONNECT, CUT),
    DocumentedType("DATETIME", named("string", logical.ISO_TIMESTAMP), ISO),
    DocumentedType("TIMESTAMP", debezium.ZONED_TIMESTAMP, note=ZERO),
    DocumentedType("YEAR", debezium.YEAR, note="0000 comes as 2000 from a snapshot, else as 1900."),
    DocumentedType(
        "ENUM",
        debezium.enum(logical.ENUM, "a,b"),
        note="A comma in a value, which changes hold as `\\,`, is one again. A wrong value is ''.",
    ),
    DocumentedType("SET", debezium.enum(logical.ENUM_SET, "a,b")),
    DocumentedType("POINT", debezium.POINT, note="x and y in the server's axis order."),
    DocumentedType("GEOMETRY and all others of its kind", debezium.GEOMETRY),
)
SOURCE_TYPES = (
    *COMMON,
    DocumentedType("JSON", debezium.JSON, note="Changes hold it without its blanks."),
    DocumentedType("VECTOR", debezium.FLOAT_VECTOR),
)
