"""Every type of MySQL and MariaDB that Debezium sends, with the edges of each."""

from dataclasses import replace

from tests.integration.values.cells import Column, Layout, Mode, Table
from tests.integration.values.mysql_readings import (
    Read,
    date,
    datetime,
    decimal,
    defaulted,
    flag,
    geometry,
    json_text,
    octets,
    or_epoch,
    plain,
    point,
    single,
    text,
    time,
    timestamp,
    vector,
    year,
)

TEXTS = {
    "empty": "''",
    "Unicode": "'héllo wörld 🚀 中文 עברית'",
    "combining": "'é \u200d \ufeff'",
    "last code point": "'\U0010ffff'",
    "quotes": r"""'"double" \'single\' \\back /slash'""",
    "control characters": r"'\0\b\t\n\r'",
    "line separators": "'\u0085\u2028\u2029'",
    "blanks around": "'  both  '",
    "looks like null": "'null'",
    "looks like base64": "'AAAA'",
}
FEW_TEXTS = {edge: TEXTS[edge] for edge in ("empty", "Unicode", "quotes", "blanks around")}
DATES = {
    "epoch": "'1970-01-01'",
    "before the epoch": "'1969-12-31'",
    "year 1": "'0001-01-01'",
    "year 1000": "'1000-01-01'",
    "year 9999": "'9999-12-31'",
    "leap day": "'2000-02-29'",
    "no leap day": "'1900-03-01'",
    "between the calendars": "'1582-10-10'",
    "before the calendars": "'1500-03-01'",
    "zero": "'0000-00-00'",
    "zero day": "'2024-01-00'",
}
DATETIMES = {
    "epoch": "'1970-01-01 00:00:00'",
    "just before the epoch": "'1969-12-31 23:59:59.999999'",
    "microseconds": "'2024-02-29 12:34:56.789012'",
    "half a millisecond": "'2024-02-29 12:34:56.0005'",
    "no such hour in Paris": "'2024-03-31 02:30:00'",
    "twice such an hour in Paris": "'2024-10-27 02:30:00'",
    "zero": "'0000-00-00 00:00:00'",
}
FAR_DATETIMES = {
    "year 1": "'0001-01-01 00:00:00'",
    "year 1000": "'1000-01-01 00:00:00'",
    "year 9999": "'9999-12-31 23:59:59'",
    "between the calendars": "'1582-10-10 12:00:00'",
    "before the calendars": "'1500-03-01 12:00:00'",
}
MOMENTS = {
    "first": "'1970-01-01 00:00:01'",
    "last": "'2038-01-19 03:14:07'",
    "microseconds": "'2024-02-29 12:34:56.789012'",
    "half a millisecond": "'2024-02-29 12:34:56.0005'",
    "no such hour in Paris": "'2024-03-31 02:30:00'",
    "zero": "'0000-00-00 00:00:00'",
}
TIMES = {
    "midnight": "'00:00:00'",
    "end of day": "'24:00:00'",
    "last microsecond": "'23:59:59.999999'",
    "microseconds": "'12:34:56.789012'",
    "one microsecond": "'00:00:00.000001'",
    "half a millisecond": "'01:02:03.0005'",
    "max": "'838:59:59'",
    "min": "'-838:59:59'",
    "negative": "'-00:00:01.5'",
    "minus one microsecond": "'-00:00:00.000001'",
}
OCTETS = {
    "empty": "''",
    "zero byte": "x'00'",
    "every byte": f"x'{bytes(range(256)).hex()}'",
    "high": "x'fffefbff'",
    "looks like text": "'text'",
}
JSONS = {
    "object": """'{"a": 1, "b": [1, 2], "é": "🚀"}'""",
    "null of its own": "'null'",
    "empty object": "'{}'",
    "empty array": "'[]'",
    "text": """'"é"'""",
    "escapes": r"""'"\\\\ \\n \\" /"'""",
    "fraction": "'1.5'",
    "long number": "'18446744073709551615'",
    "deep": f"'{'[' * 30}{']' * 30}'",
}
DIGITS = ("", "(1)", "(3)", "(6)")
FEW_OCTETS = {"empty": "''", "zero byte": "x'00'", "high": "x'fffefbff'"}
DECIMALS = {"zero": "0", "negative": "-0.01", "inexact in binary": "0.1"}


def _signed(bits: int) -> dict[str, str]:
    least = -(1 << (bits - 1))
    return {"zero": "0", "negative": "-1", "min": f"{least}", "max": f"{-least - 1}"}


def _unsigned(bits: int) -> dict[str, str]:
    half = 1 << (bits - 1)
    return {"zero": "0", "half": f"{half}", "less": f"{half - 1}", "max": f"{2 * half - 1}"}


NUMBERS = (
    Column("tinyint", _signed(8), plain("{v}", "int")),
    Column("tinyint unsigned", _unsigned(8), plain("{v}", "int")),
    Column("boolean", {"true": "true", "false": "false", "other": "2"}, plain("{v}", "int")),
    Column("smallint", _signed(16), plain("{v}", "int")),
    Column("smallint unsigned", _unsigned(16), plain("{v}", "int")),
    Column("mediumint", _signed(24), plain("{v}", "int")),
    Column("mediumint unsigned", _unsigned(24), plain("{v}", "int")),
    Column("int", _signed(32), plain("{v}", "int")),
    Column("int unsigned", _unsigned(32), plain("{v}", "bigint")),
    Column("int(8) unsigned zerofill", {"zero": "0", "some": "42"}, plain("{v}", "bigint")),
    Column("int DEFAULT 42", {"zero": "0", "other": "7"}, defaulted("{v}", "int", "42")),
    Column("bigint", _signed(64), plain("{v}", "bigint")),
    Column(
        "bigint unsigned", _unsigned(64), plain("CAST({v} AS CHAR)", "decimal(20,0)"), Mode.UNSIGNED
    ),
    Column(
        "decimal(10,2)",
        {**DECIMALS, "max": "99999999.99", "min": "-99999999.99"},
        decimal("decimal(10,2)"),
        Mode.DECIMAL,
    ),
    Column(
        "decimal(38,10)",
        {**DECIMALS, "max": f"{'9' * 28}.{'9' * 10}", "min": f"-{'9' * 28}.{'9' * 10}"},
        decimal("decimal(38,10)"),
        Mode.DECIMAL,
    ),
    Column(
        "decimal(65,30)",
        {**DECIMALS, "max": f"{'9' * 35}.{'9' * 30}", "min": f"-{'9' * 35}.{'9' * 30}"},
        decimal("string"),
        Mode.DECIMAL,
    ),
    Column(
        "decimal(5,0)",
        {"zero": "0", "max": "99999", "min": "-99999"},
        decimal("decimal(5,0)"),
        Mode.DECIMAL,
    ),
    Column(
        "decimal(10,2) unsigned",
        {"zero": "0", "max": "99999999.99"},
        decimal("decimal(10,2)"),
        Mode.DECIMAL,
    ),
    Column(
        "float",
        {
            "zero": "0",
            "negative": "-1.5",
            "inexact": "0.1",
            "max": "3.4028234e38",
            "min": "-3.4028234e38",
            "smallest": "1.17549435e-38",
            "seven digits": "1.2345678",
        },
        single,
    ),
    Column("float(7,2)", {"zero": "0", "max": "99999.99"}, plain("CAST({v} AS DOUBLE)", "double")),
    Column(
        "double",
        {
            "zero": "0",
            "negative": "-1.5",
            "inexact": "0.1",
            "max": "1.7976931348623157e308",
            "min": "-1.7976931348623157e308",
            "smallest": "2.2250738585072014e-308",
            "2^53": f"{2**53}",
        },
        plain("{v}", "double"),
    ),
    Column("bit(1)", {"0": "b'0'", "1": "b'1'"}, flag),
    Column("bit(8)", {"zero": "b'0'", "one": "b'1'", "all": "b'11111111'"}, plain("{v}", "binary")),
    Column("bit(20)", {"zero": "b'0'", "some": "b'11110000111100001010'"}, plain("{v}", "binary")),
    Column("bit(64)", {"zero": "b'0'", "all": f"b'{'1' * 64}'"}, plain("{v}", "binary")),
)
WORDS = (
    Column("char(5)", {"empty": "''", "Unicode": "'é🚀'", "blanks": "'ab  '"}, text),
    Column("varchar(30)", FEW_TEXTS, text),
    Column("text", {**TEXTS, "long": "REPEAT('0123456789é', 5000)"}, text),
    Column("tinytext", FEW_TEXTS, text),
    Column("mediumtext", FEW_TEXTS, text),
    Column("longtext", {**FEW_TEXTS, "long": "REPEAT('0123456789é', 20000)"}, text),
    Column("varchar(20) CHARACTER SET latin1", {"empty": "''", "accents": "'café ÿ'"}, text),
    Column("varchar(20) CHARACTER SET ucs2", {"accents": "'café 中文'"}, text),
    Column("varchar(9) DEFAULT 'none'", {"empty": "''"}, defaulted("{v}", "string", "'none'")),
    Column(
        "enum('a','größe','c,d')",
        {"first": "'a'", "Unicode": "'größe'", "comma": "'c,d'", "wrong": "''"},
        text,
    ),
    Column("set('x','y','größe')", {"none": "''", "one": "'x'", "all": "'x,y,größe'"}, text),
    Column(
        "binary(4)",
        {"empty": "''", "some": "x'deadbeef'", "zeros at the end": "x'0100'"},
        octets,
        Mode.BINARY,
    ),
    Column("varbinary(9)", FEW_OCTETS, octets, Mode.BINARY),
    Column("blob", OCTETS, octets, Mode.BINARY),
    Column("tinyblob", FEW_OCTETS, octets, Mode.BINARY),
    Column("mediumblob", FEW_OCTETS, octets, Mode.BINARY),
    Column("longblob", {**FEW_OCTETS, "long": "REPEAT(x'00ff', 50000)"}, octets, Mode.BINARY),
)


def _shape(wkt: str) -> str:
    return f"ST_GeomFromText('{wkt}')"


SHAPES = (
    Column(
        "point", {"some": _shape("POINT(1.5 -2.25)"), "far": _shape("POINT(1e300 -1e-300)")}, point
    ),
    Column(
        "geometry",
        {"point": _shape("POINT(3 4)"), "reference system": "ST_GeomFromText('POINT(3 4)', 3857)"},
        geometry,
    ),
    Column("linestring", {"some": _shape("LINESTRING(0 0, 1 1.5)")}, geometry),
    Column("polygon", {"some": _shape("POLYGON((0 0, 1 0, 1 1, 0 0))")}, geometry),
    Column("multipoint", {"some": _shape("MULTIPOINT(0 0, 1 1)")}, geometry),
    Column(
        "multilinestring", {"some": _shape("MULTILINESTRING((0 0, 1 1), (2 2, 3 3))")}, geometry
    ),
    Column("multipolygon", {"some": _shape("MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))")}, geometry),
    Column("geometrycollection", {"some": _shape("GEOMETRYCOLLECTION(POINT(1 2))")}, geometry),
)
UUIDS = {
    "zero": "'00000000-0000-0000-0000-000000000000'",
    "max": "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    "some": "'6F1D0F5E-7C1E-4B0E-9D3C-0A1B2C3D4E5F'",
}
YEARS = {"first": "1901", "last": "2155", "zero": "'0000'"}


def _moments(datetimes: Read, timestamps: Read) -> tuple[Column, ...]:
    return (
        Column("date", DATES, date, Mode.TIME),
        *(Column(f"datetime{digits}", DATETIMES, datetimes, Mode.TIME) for digits in DIGITS),
        *(Column(f"timestamp{digits} NULL", MOMENTS, timestamps, Mode.TIME) for digits in DIGITS),
        *(Column(f"time{digits}", TIMES, time, Mode.TIME) for digits in DIGITS),
    )


def _far(datetimes: Read) -> Table:
    """Make a table of what nanoseconds do not reach."""
    columns = [
        Column(f"datetime{digits}", FAR_DATETIMES, datetimes, Mode.TIME) for digits in DIGITS
    ]
    last = {"last": "'9999-12-31 23:59:59.999999'"}
    columns[-1] = replace(columns[-1], edges={**FAR_DATETIMES, **last})
    return Table("far", tuple(columns), Layout.ONE_BY_ONE)


def _required(datetimes: Read, timestamps: Read) -> Table:
    """Make a table of columns without null, which have schemas of another form."""
    columns = (
        Column("smallint", _signed(16), plain("{v}", "int")),
        Column("bigint", _signed(64), plain("{v}", "bigint")),
        Column(
            "bigint unsigned",
            _unsigned(64),
            plain("CAST({v} AS CHAR)", "decimal(20,0)"),
            Mode.UNSIGNED,
        ),
        Column("double", {"zero": "0", "inexact": "0.1"}, plain("{v}", "double")),
        Column("int DEFAULT 42", {"zero": "0", "other": "7"}, plain("{v}", "int")),
        Column("decimal(10,2)", DECIMALS, decimal("decimal(10,2)"), Mode.DECIMAL),
        Column("decimal(65,30)", DECIMALS, decimal("string"), Mode.DECIMAL),
        Column("bit(1)", {"0": "b'0'", "1": "b'1'"}, flag),
        Column(
            "bit(20)", {"zero": "b'0'", "some": "b'11110000111100001010'"}, plain("{v}", "binary")
        ),
        Column("text", FEW_TEXTS, text),
        Column("varchar(9) DEFAULT 'none'", {"empty": "''", "some": "'é🚀'"}, text),
        Column("blob", OCTETS, octets, Mode.BINARY),
        Column("enum('a','größe','c,d')", {"first": "'a'", "comma": "'c,d'", "wrong": "''"}, text),
        Column("date", DATES, or_epoch(date), Mode.TIME),
        Column("datetime(6)", DATETIMES, or_epoch(datetimes), Mode.TIME),
        Column("timestamp(6)", MOMENTS, or_epoch(timestamps), Mode.TIME),
        # Beyond a day some modes have nothing to send, and the connector stops.
        Column("time(6)", dict([*TIMES.items()][:6]), time, Mode.TIME),
        Column("point", {"some": _shape("POINT(1.5 -2.25)"), "zero": _shape("POINT(0 0)")}, point),
    )
    return Table(
        "required", tuple(replace(c, type=f"{c.type} NOT NULL") for c in columns), Layout.FULL
    )


MARIADB = (
    Table(
        "every",
        (
            *NUMBERS,
            *WORDS,
            *SHAPES,
            *_moments(datetime(overflows=True), timestamp(zero="0")),
            Column(
                "year",
                YEARS,
                year,
                only_streamed={"zero": "the driver makes a date of it, and the connector stops"},
            ),
            Column("json", JSONS, text),
            Column("uuid", UUIDS, text),
        ),
    ),
    _far(datetime(overflows=True)),
    _required(datetime(overflows=True), timestamp(zero="0")),
)
MYSQL = (
    Table(
        "every",
        (
            *NUMBERS,
            *WORDS,
            *SHAPES,
            *_moments(datetime(overflows=False), timestamp(zero="NULL")),
            Column("year", YEARS, year),
            Column("json", JSONS, json_text),
            Column("vector(3)", {"some": "STRING_TO_VECTOR('[1,-2.5,0.5]')"}, vector),
        ),
    ),
    _far(datetime(overflows=False)),
    _required(datetime(overflows=False), timestamp(zero="NULL")),
)
KEY_COLUMNS = (
    Column("tinyint", _signed(8), plain("{v}", "int")),
    Column("bigint", _signed(64), plain("{v}", "bigint")),
    Column(
        "bigint unsigned",
        _unsigned(64),
        plain("CAST({v} AS CHAR)", "decimal(20,0)"),
        Mode.UNSIGNED,
    ),
    Column(
        "double",
        {"zero": "0", "inexact": "0.1", "negative": "-1.5"},
        plain("{v}", "double"),
    ),
    Column("decimal(10,2)", DECIMALS, decimal("decimal(10,2)"), Mode.DECIMAL),
    Column("decimal(65,30)", DECIMALS, decimal("string"), Mode.DECIMAL),
    # Not more: the connector turns the bytes of a longer key around, in a snapshot only.
    Column("bit(8)", {"zero": "b'0'", "some": "b'11110000'"}, plain("{v}", "binary")),
    Column("varchar(30)", FEW_TEXTS, text),
    Column("char(5)", {"empty": "''", "Unicode": "'é🚀'"}, text),
    Column("varbinary(9)", FEW_OCTETS, octets, Mode.BINARY),
    Column("enum('a','größe','c,d')", {"first": "'a'", "comma": "'c,d'"}, text),
    Column("date", {"epoch": "'1970-01-01'", "year 9999": "'9999-12-31'"}, date, Mode.TIME),
    Column(
        "datetime(6)",
        {"epoch": "'1970-01-01'", "microseconds": "'2024-02-29 12:34:56.789012'"},
        datetime(overflows=True),
        Mode.TIME,
    ),
    Column(
        "timestamp(6)",
        {"last": "'2038-01-19 03:14:07'", "microseconds": "'2024-02-29 12:34:56.789012'"},
        timestamp(zero="0"),
        Mode.TIME,
    ),
    Column("time(6)", dict([*TIMES.items()][:6]), time, Mode.TIME),
)
KEYS = tuple(
    Table(name, KEY_COLUMNS, Layout.FULL, keyed=True) for name in ("keyed", "keyed_equality")
)
