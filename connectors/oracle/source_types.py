"""Oracle's types as Debezium sends them, for the types page."""

from cdc.dialect import DocumentedType
from cdc.model import SourceType, logical
from connectors.debezium_types import VARIABLE_SCALE, exact_decimal

ISO = "time.precision.mode=isostring"


SOURCE_TYPES = (
    DocumentedType(
        "CHAR, NCHAR, VARCHAR2, NVARCHAR2",
        SourceType("string"),
        note="Oracle itself takes an empty text for null.",
    ),
    DocumentedType(
        "CLOB, NCLOB",
        SourceType("string"),
        "lob.enabled=true",
        "An update that leaves it alone does not send it.",
    ),
    DocumentedType(
        "BLOB",
        SourceType("bytes"),
        "lob.enabled=true",
        "An update that leaves it alone does not send it.",
    ),
    DocumentedType("RAW(n)", SourceType("bytes")),
    DocumentedType("ROWID", SourceType("string")),
    DocumentedType("JSON", SourceType("string", logical.JSON)),
    DocumentedType("XMLTYPE", SourceType("string", logical.XML)),
    DocumentedType("BINARY_FLOAT", SourceType("float")),
    DocumentedType("BINARY_DOUBLE", SourceType("double")),
    DocumentedType("NUMBER, FLOAT, REAL, DOUBLE PRECISION", VARIABLE_SCALE),
    DocumentedType("NUMBER(p, s)", SourceType("string"), "decimal.handling.mode=string"),
    DocumentedType("NUMBER(p, s)", exact_decimal(10, 6)),
    DocumentedType("NUMBER(p, s) with s > p", exact_decimal(5, 7)),
    DocumentedType("NUMBER(p), INTEGER, SMALLINT", exact_decimal(38, 0), note="From 19 digits on."),
    DocumentedType("NUMBER(p, s) with s < 0", exact_decimal(36, -2), note="From 19 digits on."),
    DocumentedType("NUMBER(p, s) with s <= 0", SourceType("int8"), note="Less than 3 digits."),
    DocumentedType("NUMBER(p, s) with s <= 0", SourceType("int16"), note="Less than 5 digits."),
    DocumentedType("NUMBER(p, s) with s <= 0", SourceType("int32"), note="Less than 10 digits."),
    DocumentedType("NUMBER(p, s) with s <= 0", SourceType("int64"), note="Less than 19 digits."),
    DocumentedType("NUMBER(1)", SourceType("boolean"), "converters: NumberOneToBooleanConverter"),
    DocumentedType("DATE", SourceType("int64", logical.TIMESTAMP), note="It has a time of day."),
    DocumentedType("TIMESTAMP(0) to TIMESTAMP(3)", SourceType("int64", logical.TIMESTAMP)),
    DocumentedType(
        "TIMESTAMP, TIMESTAMP(4) to TIMESTAMP(6)", SourceType("int64", logical.MICRO_TIMESTAMP)
    ),
    DocumentedType(
        "TIMESTAMP(7) to TIMESTAMP(9)",
        SourceType("int64", logical.NANO_TIMESTAMP),
        note="Beyond the years 1677 to 2262 the connector stops, before Debezium 3.6 it sends "
        "another.",
    ),
    DocumentedType(
        "DATE, TIMESTAMP",
        SourceType("string", logical.ISO_TIMESTAMP),
        ISO,
        "Text, since some have nine digits after the second.",
    ),
    DocumentedType(
        "TIMESTAMP WITH TIME ZONE, WITH LOCAL TIME ZONE",
        SourceType("string", logical.ZONED_TIMESTAMP),
        note="Text as sent, with its offset and up to nine digits after the second.",
    ),
    DocumentedType(
        "INTERVAL YEAR TO MONTH, INTERVAL DAY TO SECOND",
        SourceType("string", logical.INTERVAL),
        "interval.handling.mode=string",
    ),
    DocumentedType(
        "INTERVAL YEAR TO MONTH, INTERVAL DAY TO SECOND",
        SourceType("int64", logical.MICRO_DURATION),
        note="A month counts as 30.4375 days: set interval.handling.mode=string.",
    ),
)
