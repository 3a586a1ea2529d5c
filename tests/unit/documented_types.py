"""The types that Debezium documents for SQL Server and Oracle, each with a value.

The blocks and values are those of Debezium's documentation and of its own tests, not recordings.
"""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tests.unit.messages import Block, base64_of, column, decimal, decimal_column

CONNECT = "org.apache.kafka.connect.data."
TIME = "io.debezium.time."
DATA = "io.debezium.data."
VARIABLE = column(
    "v",
    "struct",
    logical=DATA + "VariableScaleDecimal",
    fields=[column("scale", "int32", optional=False), column("value", "bytes", optional=False)],
)


@dataclass(frozen=True)
class Case:
    """A type of the source, a value as its message holds it, and what the mirror makes of it."""

    source: str
    block: Block
    raw: Any
    iceberg: str
    value: Any


def plain(source: str, kind: str, value: Any, iceberg: str, logical: str | None = None) -> Case:
    """A value that is mirrored as the message holds it."""
    return Case(source, column("v", kind, logical=logical), value, iceberg, value)


def text(source: str, value: str = "Ünïcøde 🚀", logical: str | None = None) -> Case:
    return plain(source, "string", value, "string", logical)


def binary(source: str, value: bytes) -> Case:
    return Case(source, column("v", "bytes"), base64_of(value), "binary", value)


def number(source: str, precision: int, scale: int, unscaled: int, value: str) -> Case:
    iceberg = f"decimal({precision}, {scale})"
    block = decimal_column("v", precision, scale)
    return Case(source, block, decimal(unscaled), iceberg, Decimal(value))


def moment(source: str, kind: str, logical: str, raw: Any, iceberg: str, value: Any) -> Case:
    return Case(source, column("v", kind, logical=logical), raw, iceberg, value)


def variable(source: str, scale: int, unscaled: int, value: str) -> Case:
    raw = {"scale": scale, "value": decimal(unscaled)}
    return Case(source, VARIABLE, raw, "string", value)


SQL_SERVER = [
    plain("bit", "boolean", True, "boolean"),
    plain("tinyint", "int16", 255, "int"),
    plain("smallint", "int16", -32768, "int"),
    plain("int", "int32", -(2**31), "int"),
    plain("bigint", "int64", -(2**63), "long"),
    plain("real", "float", 1.5, "float"),
    plain("float", "double", 1.7976931348623157e308, "double"),
    *map(text, ("char(9)", "varchar(9)", "text", "nchar(9)", "nvarchar(max)", "ntext")),
    text("uniqueidentifier", "0E984725-C51C-4BF4-9960-E1C80E27ABA0"),
    text("xml", "<a>é</a>", DATA + "Xml"),
    binary("binary(4)", b"a\0\0\0"),
    binary("varbinary(max)", b""),
    binary("image", bytes(range(256))),
    binary("rowversion", (2001).to_bytes(8, "big")),
    number("numeric(18,4)", 18, 4, -(10**17), "-10000000000000.0000"),
    number("decimal(38,10)", 38, 10, 10**38 - 1, "9999999999999999999999999999.9999999999"),
    number("smallmoney", 10, 4, -(2**31), "-214748.3648"),
    number("money", 19, 4, 2**63 - 1, "922337203685477.5807"),
    moment("date", "int32", TIME + "Date", -719162, "date", date(1, 1, 1)),
    moment("time(3)", "int32", TIME + "Time", 86_399_999, "string", "23:59:59.999000"),
    moment("time(6)", "int64", TIME + "MicroTime", 49_050_123_456, "string", "13:37:30.123456"),
    moment(
        "time(7)", "int64", TIME + "NanoTime", 49_050_123_456_700, "string", "13:37:30.123456700"
    ),
    moment(
        "smalldatetime",
        "int64",
        TIME + "Timestamp",
        1_529_507_580_000,
        "timestamp",
        datetime(2018, 6, 20, 15, 13),
    ),
    moment(
        "datetime",
        "int64",
        TIME + "Timestamp",
        -6_847_804_800_000 + 3,
        "timestamp",
        datetime(1753, 1, 1, 0, 0, 0, 3_000),
    ),
    moment(
        "datetime2(6)",
        "int64",
        TIME + "MicroTimestamp",
        1_529_507_596_945_104,
        "timestamp",
        datetime(2018, 6, 20, 15, 13, 16, 945_104),
    ),
    moment(
        "datetime2(7)",
        "int64",
        TIME + "NanoTimestamp",
        1_529_507_596_945_104_700,
        "string",
        "2018-06-20 15:13:16.945104700",
    ),
    text("datetimeoffset", "2018-06-20T15:13:16.9451047+02:00", TIME + "ZonedTimestamp"),
    # time.precision.mode=connect
    moment("date", "int32", CONNECT + "Date", 17_702, "date", date(2018, 6, 20)),
    moment("time", "int32", CONNECT + "Time", 49_050_123, "string", "13:37:30.123000"),
    moment(
        "datetime2",
        "int64",
        CONNECT + "Timestamp",
        1_529_507_596_945,
        "timestamp",
        datetime(2018, 6, 20, 15, 13, 16, 945_000),
    ),
    # time.precision.mode=isostring
    moment("date", "string", TIME + "IsoDate", "2017-09-15Z", "date", date(2017, 9, 15)),
    moment("time", "string", TIME + "IsoTime", "04:05:11.789Z", "string", "04:05:11.789000"),
    moment(
        "datetime2(7)",
        "string",
        TIME + "IsoTimestamp",
        "9999-12-31T23:59:59.9999999Z",
        "string",
        "9999-12-31 23:59:59.999999900",
    ),
    # decimal.handling.mode=string and double, binary.handling.mode=hex
    text("decimal(38,4)", "-12345678901234567890123456789012.3450"),
    plain("money", "double", 0.1, "double"),
    text("varbinary(2)", "00ff"),
]
ORACLE = [
    *map(text, ("CHAR(9)", "NCHAR(9)", "VARCHAR2(9)", "NVARCHAR2(9)", "CLOB", "NCLOB")),
    text("ROWID", "AAASgjAAMAAAACnAAA"),
    text("JSON", '{"a":1}', DATA + "Json"),
    text("XMLTYPE", "<a/>", DATA + "Xml"),
    binary("BLOB", bytes(range(256))),
    binary("RAW(2)", b"\0\xff"),
    plain("BINARY_FLOAT", "float", 1.5, "float"),
    plain("BINARY_DOUBLE", "double", 2.22, "double"),
    variable("FLOAT", 2, 333, "3.33"),
    variable("REAL", 2, -666, "-6.66"),
    variable("DOUBLE PRECISION", 3, 5555, "5.555"),
    variable("NUMBER", 3, 77_323, "77.323"),
    variable("NUMBER", -2, 1, "100"),
    variable("NUMBER", 130, 1, "0." + "0" * 129 + "1"),
    variable("NUMBER", 0, 0, "0"),
    number("NUMBER(10,6)", 10, 6, 4_444_400, "4.444400"),
    number("NUMBER(38,0)", 38, 0, -(10**38) + 1, "-" + "9" * 38),
    number("INTEGER", 38, 0, 22, "22"),
    plain("NUMBER(2)", "int8", -99, "int"),
    plain("NUMBER(4)", "int16", 9999, "int"),
    plain("NUMBER(9)", "int32", 999_999_999, "int"),
    plain("NUMBER(18)", "int64", 10**18 - 1, "long"),
    plain("NUMBER(1,-1)", "int8", 90, "int"),
    plain("NUMBER(16,-2)", "int64", 999_999_999_999_999_900, "long"),
    Case(
        "NUMBER(36,-2)",
        decimal_column("v", 36, -2),
        decimal(10**36 - 1),
        "string",
        "9" * 36 + "00",
    ),
    Case("NUMBER(5,7)", decimal_column("v", 5, 7), decimal(12345), "string", "0.0012345"),
    plain("NUMBER(1) by NumberOneToBooleanConverter", "boolean", False, "boolean"),
    moment(
        "DATE",
        "int64",
        TIME + "Timestamp",
        71_863_286_400_000,
        "timestamp",
        datetime(4247, 4, 5),
    ),
    moment(
        "TIMESTAMP(2)",
        "int64",
        TIME + "Timestamp",
        1_522_154_096_130,
        "timestamp",
        datetime(2018, 3, 27, 12, 34, 56, 130_000),
    ),
    moment(
        "TIMESTAMP",
        "int64",
        TIME + "MicroTimestamp",
        1_522_154_096_007_891,
        "timestamp",
        datetime(2018, 3, 27, 12, 34, 56, 7_891),
    ),
    moment(
        "TIMESTAMP(9)",
        "int64",
        TIME + "NanoTimestamp",
        1_522_154_096_125_456_789,
        "string",
        "2018-03-27 12:34:56.125456789",
    ),
    text("TIMESTAMP WITH TIME ZONE", "2018-03-27T01:34:56.007891-11:00", TIME + "ZonedTimestamp"),
    text("TIMESTAMP WITH LOCAL TIME ZONE", "2018-03-27T01:34:56.007891Z", TIME + "ZonedTimestamp"),
    text("INTERVAL YEAR TO MONTH", "P-3Y-6M0DT0H0M0S", TIME + "Interval"),
    text("INTERVAL DAY TO SECOND", "P0Y0M-1DT-2H-3M-4.56S", TIME + "Interval"),
    # interval.handling.mode=numeric
    plain("INTERVAL DAY TO SECOND", "int64", -93_784_560_000, "long", TIME + "MicroDuration"),
    # time.precision.mode=isostring
    moment(
        "TIMESTAMP(9)",
        "string",
        TIME + "IsoTimestamp",
        "2018-03-27T12:34:56.125456789Z",
        "string",
        "2018-03-27 12:34:56.125456789",
    ),
    # decimal.handling.mode=string
    text("NUMBER(38,10)", "1234567890123456789012345678.1234567890"),
]
CASES = [("sqlserver", case) for case in SQL_SERVER] + [("oracle", case) for case in ORACLE]
