"""Every type of PostgreSQL that Debezium sends, with the edges of each."""

from tests.integration.values.cells import Column, Mode, Table
from tests.integration.values.postgres_edges import (
    DATES,
    DECIMALS,
    FAR_TIMESTAMPS,
    FRACTIONS,
    INFINITIES,
    INTERVALS,
    JSONS,
    OCTETS,
    TEXTS,
    TIMES,
    TIMESTAMPS,
    UUIDS,
    ZONED,
    array,
    ranges,
    whole,
)
from tests.integration.values.postgres_readings import (
    SHAPE,
    SHORTEST,
    UNKNOWN,
    UTC_CLOCK,
    ZEROS,
    bit_varying_12,
    bits,
    date,
    date_element,
    defaulted,
    each,
    enums,
    hstore,
    interval,
    numeric,
    octets,
    or_nearest,
    or_null,
    plain,
    point,
    rejecting,
    text,
    time,
    time_element,
    timestamp,
    timestamp_element,
    timestamptz,
    timestamptz_element,
    vector,
    written,
)

NUMBERS = (
    Column("smallint", whole(16), plain("{v}", "int")),
    Column("integer", whole(32), plain("{v}", "int")),
    Column("bigint", whole(64), plain("{v}", "bigint")),
    Column("integer DEFAULT 42", {"zero": "0", "other": "7"}, defaulted("{v}", "int", "42")),
    Column("oid", {"zero": "0", "max": "4294967295"}, plain("{v}::int8", "bigint")),
    Column(
        "real",
        {**FRACTIONS, "max": "3.4028235e38", "min": "-3.4028235e38", "smallest": "1e-45"},
        plain("{v}::float8", "float"),
    ),
    Column(
        "double precision",
        {**FRACTIONS, "max": "1.7976931348623157e308", "smallest": "5e-324", "2^53": f"{2**53}"},
        plain("{v}", "double"),
    ),
    Column("boolean", {"true": "true", "false": "false"}, plain("{v}", "boolean")),
    Column(
        "numeric(10,2)",
        {**DECIMALS, "max": "99999999.99", "min": "-99999999.99"},
        numeric("decimal(10,2)"),
        Mode.DECIMAL,
    ),
    Column(
        "numeric(38,10)",
        {**DECIMALS, "max": f"{'9' * 28}.{'9' * 10}", "min": f"-{'9' * 28}.{'9' * 10}"},
        numeric("decimal(38,10)"),
        Mode.DECIMAL,
    ),
    Column(
        "numeric(5,0)",
        {**DECIMALS, "max": "99999", "min": "-99999"},
        numeric("decimal(5,0)"),
        Mode.DECIMAL,
    ),
    Column(
        "numeric(60,30)",
        {**DECIMALS, "max": f"{'9' * 30}.{'9' * 30}", "min": f"-{'9' * 30}.{'9' * 30}"},
        numeric("string"),
        Mode.DECIMAL,
    ),
    Column(
        "numeric(3,5)",
        {"zero": "0", "max": "0.00999", "min": "-0.00999"},
        numeric("string"),
        Mode.DECIMAL,
    ),
    Column(
        "numeric(5,-2)",
        {"zero": "0", "max": "9999900", "min": "-9999900", "rounded": "12345"},
        numeric("string", "{v}::text", ZEROS),
        Mode.DECIMAL,
    ),
    Column(
        "numeric",
        {
            **DECIMALS,
            "infinity": "'Infinity'",
            "minus infinity": "'-Infinity'",
            "zeros at the end": "123.456000",
            "hundred": "100",
            "hundred digits": f"{'1234567890' * 10}",
            "small": "1e-100",
            "large": "-1e100",
        },
        numeric("string", SHORTEST),
        Mode.DECIMAL,
    ),
    Column(
        "money",
        {"zero": "0", "max": "'92233720368547758.07'", "min": "'-92233720368547758.08'"},
        numeric("decimal(19,2)", "{v}::numeric::text"),
        Mode.DECIMAL,
    ),
    Column("price", {"zero": "0", "max": "99999999.9999"}, numeric("decimal(12,4)"), Mode.DECIMAL),
)
WORDS = (
    Column("text", {**TEXTS, "long": "repeat('0123456789é', 20000)"}, text),
    Column("varchar(30)", {edge: TEXTS[edge] for edge in ("empty", "Unicode", "quotes")}, text),
    Column("char(5)", {"empty": "''", "Unicode": "'é🚀'", "full": "'12345'"}, text),
    Column("name", {"empty": "''", "Unicode": "'é🚀'"}, text),
    Column("text DEFAULT 'none'", {"empty": "''"}, defaulted("{v}", "string", "'none'")),
    Column("citext", {"empty": "''", "Unicode": "'É🚀'", "case kept": "'MiXed'"}, text),
    Column("ltree", {"one": "'Top'", "path": "'Top.Science.Astronomy'"}, text),
    Column(
        "hstore",
        {
            "empty": "''",
            "one": """'"key"=>"value"'""",
            "null inside": """'"a"=>NULL, "b"=>""'""",
            "Unicode": """'"é"=>"🚀"'""",
            "quotes": r"""'"a\"b"=>"c\\d"'""",
        },
        hstore,
        Mode.HSTORE,
    ),
    Column("uuid", UUIDS, text),
    Column("json", JSONS, text),
    Column("jsonb", JSONS, text),
    Column("xml", {"element": "'<a b=\"1\">é</a>'"}, text),
    Column("mood", {"first": "'sad'", "Unicode": "'größe'", "comma": "'a,b'"}, text),
    Column("email", {"some": "'a@b.co'"}, text),
    Column("bytea", OCTETS, octets("{v}"), Mode.BINARY),
    Column("inet", {"v4": "'192.168.1.5'", "net": "'192.168.1.5/24'", "v6": "'::1'"}, text),
    Column("cidr", {"v4": "'10.0.0.0/8'", "v6": "'2001:db8::/32'"}, text),
    Column("macaddr", {"some": "'08:00:2b:01:02:ff'"}, text),
    Column("macaddr8", {"some": "'08:00:2b:01:02:03:04:ff'"}, text),
    Column("tsvector", {"some": "'fat:1A cat:2'::tsvector", "empty": "''"}, text),
    Column("int4range", ranges("'[1,10]'", "'(1,10)'", "'[1,)'"), text),
    Column("int8range", ranges("'[1,9223372036854775806]'", "'(1,10)'", "'(,1)'"), text),
    Column("numrange", ranges("'[1.50,2.5]'", "'(1.5,2.5)'", "'[1.5,)'"), text),
    Column("daterange", ranges("'[0001-01-01,9999-12-30]'", "'(2024-01-01,)'", "'(,)'"), text),
    Column("tsrange", ranges("'[2024-01-01,2024-02-01]'", "'(2024-01-01,)'", "'(,)'"), text),
    Column("tstzrange", ranges("'[2024-01-01 00:00+02,)'", "'(2024-01-01,)'", "'(,)'"), text),
)
MOMENTS = (
    Column(
        "date", {**DATES, "last": "'5874897-12-31'", "first": "'4713-01-01 BC'"}, date, Mode.TIME
    ),
    Column("time", TIMES, time, Mode.TIME),
    Column("time(3)", TIMES, time, Mode.TIME),
    Column("time(0)", TIMES, time, Mode.TIME),
    Column(
        "timetz",
        {
            "east": "'12:34:56.789012+05:30'",
            "west": "'23:59:59.999999-15:59'",
            "midnight": "'00:00:00+00'",
            "end of day": "'24:00:00+00'",
            "leap second": "'23:59:60+00'",
        },
        plain(UTC_CLOCK, "string"),
        Mode.TIME,
    ),
    Column("timestamp", FAR_TIMESTAMPS, timestamp, Mode.TIME),
    Column("timestamp(3)", FAR_TIMESTAMPS, timestamp, Mode.TIME),
    Column("timestamp(0)", FAR_TIMESTAMPS, timestamp, Mode.TIME),
    Column("timestamptz", ZONED, timestamptz, Mode.TIME),
    Column("timestamptz(3)", ZONED, timestamptz, Mode.TIME),
    Column("interval", INTERVALS, interval, Mode.INTERVAL),
)
ARRAYS = (
    Column("smallint[]", array("smallint", "-32768", "32767"), each(plain("{v}", "int"))),
    Column("integer[]", array("int", "-2147483648", "0"), each(plain("{v}", "int"))),
    Column("bigint[]", array("bigint", "9223372036854775807", "0"), each(plain("{v}", "bigint"))),
    Column("real[]", array("real", "0.1", "'NaN'"), each(plain("{v}::float8", "float"))),
    Column("float8[]", array("float8", "0.1", "'-Infinity'"), each(plain("{v}", "double"))),
    Column("boolean[]", array("boolean", "true", "false"), each(plain("{v}", "boolean"))),
    Column("text[]", array("text", "'é🚀'", "''", "'a,\"b\" {c}'", "'NULL'"), each(text)),
    Column("varchar(9)[]", array("varchar", "'é🚀'", "' '"), each(text)),
    Column("char(3)[]", array("char(3)", "'é'", "''"), each(text)),
    Column("uuid[]", array("uuid", *UUIDS.values()), each(text)),
    Column("jsonb[]", array("jsonb", "'{\"a\": 1}'", "'null'"), each(text)),
    Column("mood[]", array("mood", "'sad'", "'größe'"), enums),
    Column("inet[]", array("inet", "'::1'", "'10.0.0.0/8'"), each(text)),
    Column("bytea[]", array("bytea", r"'\x00ff'", r"'\x'"), each(octets("{v}")), Mode.BINARY),
    Column(
        "numeric(10,2)[]",
        array("numeric(10,2)", "0.1", "-99999999.99"),
        each(numeric("decimal(10,2)")),
        Mode.DECIMAL,
    ),
    Column("date[]", array("date", *DATES.values()), each(date_element), Mode.TIME),
    Column("time[]", array("time", *TIMES.values()), each(time_element), Mode.TIME),
    Column(
        "timestamp[]", array("timestamp", *TIMESTAMPS.values()), each(timestamp_element), Mode.TIME
    ),
    Column(
        "timestamptz[]",
        array("timestamptz", *ZONED.values()),
        each(timestamptz_element),
        Mode.TIME,
    ),
)
BITS_AND_SHAPES = (
    Column("bit(1)", {"0": "B'0'", "1": "B'1'"}, plain("({v} = B'1')", "boolean")),
    Column("bit(8)", {"zero": "B'00000000'", "one": "B'00000001'", "all": "B'11111111'"}, bits),
    Column("bit(20)", {"zero": "0::bit(20)", "some": "B'11110000111100001010'"}, bits),
    Column("bit(64)", {"zero": "0::bit(64)", "all": "(-1)::bit(64)"}, bits),
    Column("bit varying(12)", {"some": "B'10101'", "full": "B'111100001111'"}, bit_varying_12),
    Column(
        "point",
        {"some": "'(1.5,-2.25)'", "zero": "'(0,0)'", "far": "'(1e308,-1e-308)'"},
        point,
    ),
    Column("line", {"some": "'{1,2,3}'"}, SHAPE, Mode.BINARY),
    Column("lseg", {"some": "'((0,0),(1,1))'"}, SHAPE, Mode.BINARY),
    Column("box", {"some": "'((0,0),(1,1))'"}, SHAPE, Mode.BINARY),
    Column("path", {"some": "'((0,0),(1,1))'"}, SHAPE, Mode.BINARY),
    Column("polygon", {"some": "'((0,0),(1,1),(1,0))'"}, SHAPE, Mode.BINARY),
    Column("circle", {"some": "'<(1,2),3>'"}, SHAPE, Mode.BINARY),
    Column("tsquery", {"some": "'fat & rat'::tsquery"}, UNKNOWN, Mode.BINARY),
    Column("int4multirange", {"some": "'{[1,3),[5,7)}'"}, UNKNOWN, Mode.BINARY),
    Column("address", {"some": "ROW('Main St', 12345)"}, UNKNOWN, Mode.BINARY),
    Column("pg_lsn", {"some": "'16/B374D848'"}, UNKNOWN, Mode.BINARY),
    Column("vector(3)", {"some": "'[1,-2.5,0.1]'"}, vector("double")),
    Column("halfvec(3)", {"some": "'[1,-2.5,0.5]'"}, vector("float")),
)

# What fits no type of Iceberg: refused, unless the config chooses what becomes of it.
BEYOND = (
    Column("date", INFINITIES, rejecting(date), Mode.TIME),
    Column("timestamp", INFINITIES, rejecting(timestamp), Mode.TIME),
    Column("timestamp(3)", INFINITIES, rejecting(timestamp), Mode.TIME),
    Column("timestamptz", INFINITIES, rejecting(timestamptz), Mode.TIME),
)
CHOSEN = (
    Column("date", INFINITIES, written("YYYY-MM-DD"), Mode.TIME, "string"),
    Column("date", INFINITIES, or_null(date), Mode.TIME, "date or null"),
    Column(
        "date",
        INFINITIES,
        or_nearest(date, "date '0001-01-01'", "date '9999-12-31'"),
        Mode.TIME,
        "date or nearest",
    ),
    Column("timestamp", INFINITIES, written("YYYY-MM-DD HH24:MI:SS.US"), Mode.TIME, "string"),
    Column("timestamp", INFINITIES, or_null(timestamp), Mode.TIME, "timestamp or null"),
    Column(
        "timestamp",
        INFINITIES,
        or_nearest(timestamp, "timestamp '0001-01-01'", "timestamp '9999-12-31 23:59:59.999999'"),
        Mode.TIME,
        "timestamp or nearest",
    ),
    Column(
        "timestamptz", INFINITIES, written('YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), Mode.TIME, "string"
    ),
    Column("timestamptz", INFINITIES, or_null(timestamptz), Mode.TIME, "timestamptz or null"),
    Column(
        "timestamptz",
        INFINITIES,
        or_nearest(
            timestamptz, "timestamptz '0001-01-01'", "timestamptz '9999-12-31 23:59:59.999999'"
        ),
        Mode.TIME,
        "timestamptz or nearest",
    ),
)
TABLES = (
    Table("every", (*NUMBERS, *WORDS, *MOMENTS, *ARRAYS, *BITS_AND_SHAPES)),
    Table("beyond", BEYOND, one_by_one=True),
    Table("chosen", CHOSEN),
)

OWN_TYPES = (
    "CREATE TYPE mood AS ENUM ('sad', 'größe', 'a,b')",
    "CREATE TYPE address AS (street text, zip int)",
    "CREATE DOMAIN email AS varchar(120) CHECK (value ~ '@')",
    "CREATE DOMAIN amount AS numeric(12,4)",
    "CREATE DOMAIN price AS amount CHECK (value >= 0)",
)
# Where the server has no such extension, a type of the same name stands in for some: Debezium knows
# these by name, and reads their text.
EXTENSIONS = {"hstore": True, "citext": True, "ltree": True, "vector": False}
