"""The source's rows, read as a mirror of them should be: each type of PostgreSQL in its own way.

The values on the right are what Debezium sends and the mirror makes of it, taken from real mirrors.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

from cdc.demo.postgres_rows import POINT, primary_key, read_rows
from cdc.errors import UnmirrorableValueError

if TYPE_CHECKING:
    from tests.integration.stack import Stack

MICROS = pa.timestamp("us")
INSTANT = pa.timestamp("us", "UTC")
LEAP = datetime(2024, 2, 29, 12, 34, 56, 789012)
UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"

VALUES: list[tuple[str, str, pa.DataType, Any]] = [
    ("smallint", "-32768", pa.int32(), -32768),
    ("integer", "7", pa.int32(), 7),
    ("bigint", "9223372036854775807", pa.int64(), 2**63 - 1),
    ("oid", "4294967295", pa.int64(), 2**32 - 1),
    ("positive", "5", pa.int32(), 5),
    ("real", "0.1", pa.float32(), 0.10000000149011612),
    ("double precision", "0.1", pa.float64(), 0.1),
    ("double precision", "'-Infinity'", pa.float64(), float("-inf")),
    ("boolean", "true", pa.bool_(), True),
    ("bytea", r"'\xdeadbeef00'", pa.binary(), b"\xde\xad\xbe\xef\x00"),
    ("numeric(12,2)", "-1.5", pa.decimal128(12, 2), Decimal("-1.50")),
    ("numeric(38,10)", "1234567890123456789012345678.5", pa.decimal128(38, 10), None),
    ("numeric(50,3)", "1.5", pa.string(), "1.500"),
    ("numeric", "100.00", pa.string(), "100"),
    ("numeric", "-1.50", pa.string(), "-1.5"),
    ("numeric", "1e20", pa.string(), "100000000000000000000"),
    ("price", "1.5", pa.decimal128(8, 3), Decimal("1.500")),
    ("money", "'12.34'", pa.decimal128(19, 2), Decimal("12.34")),
    ("char(5)", "'ab'", pa.string(), "ab   "),
    ("varchar(10)", "'x '", pa.string(), "x "),
    ("text", "'Zoë'", pa.string(), "Zoë"),
    ("text", "''", pa.string(), ""),
    ("date", "'2024-02-29'", pa.date32(), date(2024, 2, 29)),
    ("date", "'0001-01-01'", pa.date32(), date(1, 1, 1)),
    ("timestamp", "'2024-02-29 12:34:56.789012'", MICROS, LEAP),
    ("timestamp(0)", "'1969-12-31 23:59:59'", MICROS, datetime(1969, 12, 31, 23, 59, 59)),
    ("timestamptz", "'2024-02-29 14:34:56.789012+02'", INSTANT, LEAP.replace(tzinfo=UTC)),
    ("time", "'12:34:56.5'", pa.string(), "12:34:56.500000"),
    ("time(3)", "'00:00:00'", pa.string(), "00:00:00.000000"),
    ("time", "'24:00:00'", pa.string(), "24:00:00.000000"),
    ("timetz", "'12:34:56.5+02'", pa.string(), "10:34:56.5Z"),
    ("interval", "'1 year 2 months 3 days 04:05:06.789'", pa.int64(), 37091106789000),
    ("interval", "'-1 month 3 days -00:00:00.000001'", pa.int64(), -2370600000001),
    ("uuid", f"'{UUID}'", pa.string(), UUID),
    ("json", """'{"a":  1.0}'""", pa.string(), '{"a":  1.0}'),
    ("jsonb", """'{"b":1,"a":[1.50,null]}'""", pa.string(), '{"a": [1.50, null], "b": 1}'),
    ("inet", "'192.168.0.1'", pa.string(), "192.168.0.1"),
    ("cidr", "'10.0.0.0/8'", pa.string(), "10.0.0.0/8"),
    ("int4range", "'[1,5]'", pa.string(), "[1,6)"),
    ("mood", "'ok'", pa.string(), "ok"),
    ("tsvector", "'b a'", pa.string(), "'a' 'b'"),
    ("bit(1)", "B'1'", pa.bool_(), True),
    ("bit(10)", "B'1000000011'", pa.binary(), b"\x03\x02"),
    ("bit(10)", "B'0000000000'", pa.binary(), b""),
    ("varbit", "B'0000000001'", pa.binary(), b"\x01"),
    (
        "point",
        "'(1,2)'",
        POINT,
        {
            "x": 1.0,
            "y": 2.0,
            "wkb": b"\x01\x01\0\0\0\0\0\0\0\0\0\xf0?\0\0\0\0\0\0\0@",
            "srid": None,
        },
    ),
    ("integer[]", "'{1,NULL,3}'", pa.list_(pa.int32()), [1, None, 3]),
    ("integer[]", "'{}'", pa.list_(pa.int32()), []),
    ("text[]", """'{a,NULL,"","x,y"}'""", pa.list_(pa.string()), ["a", None, "", "x,y"]),
    ("numeric(12,2)[]", "'{1.5}'", pa.list_(pa.decimal128(12, 2)), [Decimal("1.50")]),
    ("date[]", "'{2024-02-29}'", pa.list_(pa.date32()), [date(2024, 2, 29)]),
    ("timestamp[]", "'{2024-02-29 12:34:56.789012}'", pa.list_(MICROS), [LEAP]),
    ("uuid[]", f"'{{{UUID}}}'", pa.list_(pa.string()), [UUID]),
    ("inet[]", "'{192.168.0.1}'", pa.list_(pa.string()), ["192.168.0.1"]),
    ("mood[]", "'{ok}'", pa.list_(pa.string()), ["ok"]),
]


@pytest.fixture(scope="module")
def connection(stack: "Stack") -> Iterator[psycopg.Connection[Any]]:
    database = stack.postgres.create_database("rows")
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('ok', 'bad')")
        connection.execute("CREATE DOMAIN positive AS integer CHECK (VALUE > 0)")
        connection.execute("CREATE DOMAIN price AS numeric(8, 3)")
        yield connection


def test_every_type_has_its_form(connection: psycopg.Connection[Any]) -> None:
    columns = ", ".join(f"c{place} {kind}" for place, (kind, *_) in enumerate(VALUES))
    literals = ", ".join(literal for _, literal, *_ in VALUES)
    nulls = ", ".join("NULL" for _ in VALUES)
    connection.execute(f"CREATE TABLE kinds (id int PRIMARY KEY, {columns})".encode())
    connection.execute(f"INSERT INTO kinds VALUES (1, {literals}), (2, {nulls})".encode())

    rows = read_rows(connection, "kinds").sort_by("id")

    for place, (kind, literal, arrow, value) in enumerate(VALUES):
        column = rows[f"c{place}"]
        expected = Decimal(literal) if value is None else value
        assert (kind, column.type, column.to_pylist()) == (kind, arrow, [expected, None])


def test_years_beyond_those_of_python_are_read(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE eras (day date, moment timestamp, instant timestamptz)")
    connection.execute(
        "INSERT INTO eras VALUES ('4713-01-01 BC', '0044-03-15 12:00:00 BC', '12024-01-01 00:00Z')"
    )

    (row,) = read_rows(connection, "eras").to_batches()

    assert row["day"].cast(pa.int32()).to_pylist() == [-2440550]
    assert row["moment"].cast(pa.int64()).to_pylist() == [-63517780800000000]
    assert row["instant"].cast(pa.int64()).to_pylist() == [317273587200000000]


@pytest.mark.parametrize(("kind", "literal"), [("date", "'infinity'"), ("numeric(12,2)", "'NaN'")])
def test_a_value_that_no_mirror_can_have_is_told(
    connection: psycopg.Connection[Any], kind: str, literal: str
) -> None:
    connection.execute("DROP TABLE IF EXISTS odd")
    connection.execute(f"CREATE TABLE odd (v {kind})".encode())
    connection.execute(f"INSERT INTO odd VALUES ({literal})".encode())

    with pytest.raises(UnmirrorableValueError) as raised:
        read_rows(connection, "odd")

    assert raised.value.table == "public.odd"


def test_names_may_need_quotes_and_other_schemas(connection: psycopg.Connection[Any]) -> None:
    connection.execute('CREATE SCHEMA "Größe"')
    connection.execute(
        'CREATE TABLE "Größe"."it\'s a ""table""" '
        '("a b" int, "C{}" int, "%s" text[], gone int, PRIMARY KEY ("C{}", "a b") INCLUDE ("%s"))'
    )
    connection.execute('ALTER TABLE "Größe"."it\'s a ""table""" DROP COLUMN gone')
    connection.execute('INSERT INTO "Größe"."it\'s a ""table""" VALUES (1, 2, \'{x}\')')
    table, schema = 'it\'s a "table"', "Größe"

    assert read_rows(connection, table, schema).to_pylist() == [{"a b": 1, "C{}": 2, "%s": ["x"]}]
    assert primary_key(connection, table, schema) == ("C{}", "a b")


def test_a_large_table_is_read_whole(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE large AS SELECT g AS id FROM generate_series(1, 25000) AS g")

    rows = read_rows(connection, "large")

    assert sorted(rows["id"].to_pylist()) == list(range(1, 25001))
    assert primary_key(connection, "large") == ()


def test_an_empty_table_has_its_columns(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE empty (id int, at timestamptz, spot point)")

    rows = read_rows(connection, "empty")

    assert rows.num_rows == 0
    assert rows.schema == pa.schema([("id", pa.int32()), ("at", INSTANT), ("spot", POINT)])


def test_a_table_that_is_not_there_is_an_error(connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        read_rows(connection, "none")


def test_it_sees_what_its_own_transaction_did(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE own (id int)")

    with connection.transaction(force_rollback=True):
        connection.execute(sql.SQL("INSERT INTO own VALUES (1)"))
        assert read_rows(connection, "own").num_rows == 1
    assert read_rows(connection, "own").num_rows == 0
