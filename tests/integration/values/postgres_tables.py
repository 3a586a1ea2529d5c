"""The tables of PostgreSQL: of all types, without null, beyond all types, and with keys."""

from tests.integration.values.cells import Column, Layout, Mode, Table
from tests.integration.values.postgres_arrays import (
    date_element,
    each,
    rejecting_elements,
    timestamp_element,
    timestamptz_element,
)
from tests.integration.values.postgres_columns import COLUMNS
from tests.integration.values.postgres_edges import (
    DATES,
    FRACTIONS,
    INFINITE_ARRAYS,
    INFINITIES,
    INTERVALS,
    JSONS,
    LAST,
    NUMERICS,
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
    SHORTEST,
    UTC_CLOCK,
    Read,
    bits,
    date,
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
    timestamp,
    timestamptz,
    vector,
    written,
)


def _not_null(kind: str, edges: dict[str, str], read: Read, mode: Mode | None = None) -> Column:
    return Column(f"{kind} NOT NULL", edges, read, mode)


def _some(edges: dict[str, str], *names: str) -> dict[str, str]:
    return {name: edges[name] for name in names}


# Columns without null have schemas of another form.
REQUIRED = (
    _not_null("smallint", whole(16), plain("{v}", "int")),
    _not_null("bigint", whole(64), plain("{v}", "bigint")),
    _not_null("double precision", FRACTIONS, plain("{v}", "double")),
    _not_null("boolean", {"true": "true", "false": "false"}, plain("{v}", "boolean")),
    _not_null("integer DEFAULT 42", {"zero": "0", "other": "7"}, plain("{v}", "int")),
    _not_null("numeric(10,2)", NUMERICS, numeric("decimal(10,2)"), Mode.DECIMAL),
    _not_null("numeric", NUMERICS, numeric("string", SHORTEST), Mode.DECIMAL),
    _not_null("text", _some(TEXTS, "empty", "Unicode", "quotes"), text),
    _not_null("text DEFAULT 'none'", _some(TEXTS, "empty", "Unicode"), text),
    _not_null("bytea", OCTETS, octets("{v}"), Mode.BINARY),
    _not_null("uuid", UUIDS, text),
    _not_null("jsonb", JSONS, text),
    _not_null("mood", {"first": "'sad'", "Unicode": "'größe'"}, text),
    _not_null("date", _some(DATES, "epoch", "year 1", "year 9999"), date, Mode.TIME),
    _not_null("time", TIMES, time, Mode.TIME),
    _not_null("timestamp", _some(TIMESTAMPS, "epoch", "microseconds"), timestamp, Mode.TIME),
    _not_null("timestamptz", _some(ZONED, "epoch", "east", "year 9999"), timestamptz, Mode.TIME),
    _not_null("interval", INTERVALS, interval, Mode.INTERVAL),
    _not_null("hstore", {"empty": "''", "one": """'"key"=>"value"'"""}, hstore, Mode.HSTORE),
    _not_null("bit(20)", {"zero": "0::bit(20)", "some": "B'11110000111100001010'"}, bits),
    _not_null("point", {"some": "'(1.5,-2.25)'", "zero": "'(0,0)'"}, point),
    _not_null("integer[]", array("int", "1", "2"), each(plain("{v}", "int"))),
    _not_null("text[]", array("text", "'é🚀'", "''"), each(text)),
    _not_null("vector(3)", {"some": "'[1,-2.5,0.1]'", "zero": "'[0,0,0]'"}, vector("double")),
)

# What fits no type of Iceberg: refused, unless the config chooses what becomes of it.
BEYOND = (
    Column("date", INFINITIES, rejecting(date), Mode.TIME),
    Column("timestamp", {**INFINITIES, **LAST}, rejecting(timestamp), Mode.TIME),
    Column("timestamp(3)", INFINITIES, rejecting(timestamp), Mode.TIME),
    Column("timestamptz", {**INFINITIES, **LAST}, rejecting(timestamptz), Mode.TIME),
    Column("date[]", INFINITE_ARRAYS, rejecting_elements(date_element), Mode.TIME),
    Column("timestamp[]", INFINITE_ARRAYS, rejecting_elements(timestamp_element), Mode.TIME),
    Column("timestamptz[]", INFINITE_ARRAYS, rejecting_elements(timestamptz_element), Mode.TIME),
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
    Table("every", COLUMNS),
    Table("required", REQUIRED, Layout.FULL),
    Table("beyond", BEYOND, Layout.ONE_BY_ONE),
    Table("chosen", CHOSEN),
)
KEY_COLUMNS = (
    Column("smallint", whole(16), plain("{v}", "int")),
    Column("bigint", whole(64), plain("{v}", "bigint")),
    Column("oid", {"zero": "0", "max": "4294967295"}, plain("{v}::int8", "bigint")),
    Column("double precision", FRACTIONS, plain("{v}", "double")),
    Column("real", FRACTIONS, plain("{v}::float8", "float")),
    Column("boolean", {"true": "true", "false": "false"}, plain("{v}", "boolean")),
    Column("numeric(10,2)", NUMERICS, numeric("decimal(10,2)"), Mode.DECIMAL),
    Column("numeric(60,30)", NUMERICS, numeric("string"), Mode.DECIMAL),
    Column("numeric", {**NUMERICS, "long": "1e100"}, numeric("string", SHORTEST), Mode.DECIMAL),
    Column("money", NUMERICS, numeric("decimal(19,2)", "{v}::numeric::text"), Mode.DECIMAL),
    Column("text", TEXTS, text),
    Column("char(5)", {"empty": "''", "Unicode": "'é🚀'"}, text),
    Column("bytea", OCTETS, octets("{v}"), Mode.BINARY),
    Column("uuid", UUIDS, text),
    Column("mood", {"first": "'sad'", "Unicode": "'größe'", "comma": "'a,b'"}, text),
    Column("jsonb", JSONS, text),
    Column("inet", {"v4": "'192.168.1.5/24'", "v6": "'::1'"}, text),
    Column("date", _some(DATES, "epoch", "year 1", "year 9999"), date, Mode.TIME),
    Column("time", TIMES, time, Mode.TIME),
    Column("time(3)", TIMES, time, Mode.TIME),
    Column(
        "timetz",
        {"east": "'12:34:56.789012+05:30'", "zero": "'00:00+00'"},
        plain(UTC_CLOCK, "string"),
        Mode.TIME,
    ),
    Column("timestamp", _some(TIMESTAMPS, "epoch", "microseconds"), timestamp, Mode.TIME),
    Column("timestamp(3)", _some(TIMESTAMPS, "epoch", "microseconds"), timestamp, Mode.TIME),
    Column("timestamptz", ZONED, timestamptz, Mode.TIME),
    Column("interval", INTERVALS, interval, Mode.INTERVAL),
    Column("bit(20)", {"zero": "0::bit(20)", "some": "B'11110000111100001010'"}, bits),
    Column("int4range", ranges("'[1,10]'", "'(1,10)'", "'[1,)'"), text),
)
KEYS = tuple(
    Table(name, KEY_COLUMNS, Layout.FULL, keyed=True) for name in ("keyed", "keyed_equality")
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
