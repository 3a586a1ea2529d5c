"""SQL Server's types as Debezium sends them, for the types page."""

from cdc.dialect import DocumentedType
from cdc.model import SourceType, logical
from connectors.debezium_types import exact_decimal

CONNECT = "time.precision.mode=connect"
ISO = "time.precision.mode=isostring"
BEYOND = "Beyond the years 1677 to 2262 the connector stops, before Debezium 3.6 it sends another."


SOURCE_TYPES = (
    DocumentedType("bit", SourceType("boolean")),
    DocumentedType("tinyint", SourceType("int16"), note="0 to 255."),
    DocumentedType("smallint", SourceType("int16")),
    DocumentedType("int", SourceType("int32")),
    DocumentedType("bigint", SourceType("int64")),
    DocumentedType("real", SourceType("float")),
    DocumentedType("float", SourceType("double")),
    DocumentedType("char, nchar, varchar, nvarchar, text, ntext", SourceType("string")),
    DocumentedType("uniqueidentifier", SourceType("string"), note="In capitals."),
    DocumentedType("xml", SourceType("string", logical.XML)),
    DocumentedType("binary, varbinary, image", SourceType("bytes")),
    DocumentedType("binary, varbinary, image", SourceType("string"), "binary.handling.mode=hex"),
    DocumentedType("rowversion", SourceType("bytes"), note="Eight bytes."),
    DocumentedType("decimal(p, s), numeric(p, s)", exact_decimal(18, 4)),
    DocumentedType(
        "decimal(p, s), numeric(p, s)", SourceType("string"), "decimal.handling.mode=string"
    ),
    DocumentedType("money", exact_decimal(19, 4)),
    DocumentedType("money", SourceType("double"), "decimal.handling.mode=double"),
    DocumentedType("smallmoney", exact_decimal(10, 4)),
    DocumentedType("date", SourceType("int32", logical.DATE)),
    DocumentedType("date", SourceType("int32", logical.CONNECT_DATE), CONNECT),
    DocumentedType("date", SourceType("string", logical.ISO_DATE), ISO),
    DocumentedType("time(0) to time(3)", SourceType("int32", logical.TIME)),
    DocumentedType("time(4) to time(6)", SourceType("int64", logical.MICRO_TIME)),
    DocumentedType("time, time(7)", SourceType("int64", logical.NANO_TIME)),
    DocumentedType(
        "time",
        SourceType("int32", logical.CONNECT_TIME),
        CONNECT,
        "Debezium cuts what is finer than milliseconds.",
    ),
    DocumentedType("time", SourceType("string", logical.ISO_TIME), ISO),
    DocumentedType(
        "datetime, smalldatetime, datetime2(0) to datetime2(3)",
        SourceType("int64", logical.TIMESTAMP),
    ),
    DocumentedType("datetime2(4) to datetime2(6)", SourceType("int64", logical.MICRO_TIMESTAMP)),
    DocumentedType(
        "datetime2, datetime2(7)", SourceType("int64", logical.NANO_TIMESTAMP), note=BEYOND
    ),
    DocumentedType(
        "datetime2",
        SourceType("int64", logical.CONNECT_TIMESTAMP),
        CONNECT,
        "Debezium cuts what is finer than milliseconds.",
    ),
    DocumentedType(
        "datetime, smalldatetime, datetime2",
        SourceType("string", logical.ISO_TIMESTAMP),
        ISO,
        "Text, since some have seven digits after the second.",
    ),
    DocumentedType(
        "datetimeoffset",
        SourceType("string", logical.ZONED_TIMESTAMP),
        note="Text as sent, with its offset and up to seven digits after the second.",
    ),
)
