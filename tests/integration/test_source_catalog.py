"""Column types from the real databases' catalogs: those that real Debezium wrote into its schemas.

The recorded messages carry schema blocks. The same tables are made here once more, and their
columns, read from the catalog, must be what those blocks say.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import psycopg
import pymysql
import pytest
from pymysql.constants import CLIENT

from cdc.config import MirrorConfig
from cdc.config.load import parse_config
from cdc.decode.connect_schema import columns_of
from cdc.errors import SourceCatalogError, SourceDownError
from cdc.model import SourceColumn, SourceSchema, SourceTable, SourceType
from cdc.model.column_types import ColumnTypes
from cdc.runtime.follow.declared import Declarations
from connectors import DIALECTS
from tests.unit.messages import RECORDED, read_recorded

if TYPE_CHECKING:
    from tests.integration.stack import Stack

NO_MODES: Mapping[str, str] = {}
# A base type with the name of an extension's, where the extension itself is not installed: the name
# is all that Debezium, and the catalog's reader, know it by.
STAND_IN = """
    CREATE TYPE {name};
    CREATE FUNCTION {name}_in(cstring) RETURNS {name} AS 'textin' LANGUAGE internal IMMUTABLE;
    CREATE FUNCTION {name}_out({name}) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE;
    CREATE TYPE {name} (INPUT = {name}_in, OUTPUT = {name}_out, LIKE = text);
"""


def recorded(file: str) -> Iterator[tuple[SourceTable, tuple[SourceColumn, ...]]]:
    """Give every table of a recording with the columns of its first message."""
    for records in read_recorded(file).values():
        value = json.loads(records[0].value or b"{}")
        parts = {part["field"]: part for part in value["schema"]["fields"]}
        source = value["payload"]["source"]
        if "after" in parts and source["table"]:
            schema = source.get("schema", source["db"])
            yield (
                SourceTable(source["name"], source["db"], schema, source["table"]),
                columns_of(parts["after"]),
            )


@pytest.fixture(scope="module")
def postgres(stack: "Stack") -> str:
    """A database with the recorded tables."""
    endpoint = stack.postgres.create_database("shop")
    with psycopg.connect(endpoint.url, autocommit=True) as connection:
        for extension in ("citext", "hstore", "ltree"):
            try:
                connection.execute(f"CREATE EXTENSION {extension}")
            except psycopg.errors.FeatureNotSupported:
                connection.execute(STAND_IN.format(name=extension))
        connection.execute((RECORDED / "all_types_pg.sql").read_bytes())
    return endpoint.url


@pytest.fixture(scope="module")
def mariadb(stack: "Stack") -> str:
    """A database with the recorded tables."""
    endpoint = stack.mariadb
    connection = pymysql.connect(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=endpoint.password,
        client_flag=CLIENT.MULTI_STATEMENTS,
        charset="utf8mb4",
    )
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop")
        cursor.nextset()
        cursor.execute((RECORDED / "all_types_maria.sql").read_text())
        while cursor.nextset():
            pass
    return endpoint.url


def from_catalog(
    connector: str, url: str, table: SourceTable, modes: Mapping[str, str] = NO_MODES
) -> tuple[SourceColumn, ...]:
    reader = DIALECTS[connector].columns
    assert reader is not None
    return reader(url, table, modes)


def test_postgres_columns_are_those_of_the_messages_schemas(postgres: str) -> None:
    compared = 0
    for table, columns in recorded("pg_json.jsonl"):
        found = from_catalog("postgres", postgres, table)
        if found:
            assert found == columns, table
            compared += len(columns)

    assert compared == 99


def test_mariadb_columns_are_those_of_the_messages_schemas(mariadb: str) -> None:
    compared = 0
    for table, columns in recorded("maria_json.jsonl"):
        found = from_catalog("mariadb", mariadb, table)
        if found:
            assert found == columns, table
            compared += len(columns)

    assert compared == 67


def types_of(
    connection: psycopg.Connection[Any],
    url: str,
    definition: str,
    modes: Mapping[str, str] = NO_MODES,
) -> dict[str, SourceType]:
    connection.execute(f"DROP TABLE IF EXISTS public.one; CREATE TABLE public.one ({definition})")
    table = SourceTable("pg", "shop", "public", "one")
    return {c.name: c.type for c in from_catalog("postgres", url, table, modes)}


TIME = "io.debezium.time."
CONNECT = "org.apache.kafka.connect.data."


@pytest.mark.parametrize(
    ("definition", "mode", "kind", "logical"),
    [
        ("numeric(10,2)", "decimal.handling.mode=string", "string", None),
        ("numeric", "decimal.handling.mode=double", "double", None),
        ("money", "decimal.handling.mode=string", "string", None),
        ("bytea", "binary.handling.mode=hex", "string", None),
        ("tsquery", "binary.handling.mode=base64", "string", None),
        ("date", "time.precision.mode=connect", "int32", CONNECT + "Date"),
        ("date", "time.precision.mode=isostring", "string", TIME + "IsoDate"),
        ("time(3)", "time.precision.mode=microseconds", "int64", TIME + "MicroTime"),
        ("timestamp", "time.precision.mode=nanoseconds", "int64", TIME + "NanoTimestamp"),
        ("timestamptz", "time.precision.mode=connect", "string", TIME + "ZonedTimestamp"),
        ("interval", "interval.handling.mode=string", "string", TIME + "Interval"),
        ("hstore", "hstore.handling.mode=map", "map", None),
        ("bit", "", "boolean", None),
        ("varbit", "", "bytes", "io.debezium.data.Bits"),
        ("vector(3)", "", "array", "io.debezium.data.DoubleVector"),
    ],
)
def test_a_handling_mode_chooses_the_type_in_postgres(
    postgres: str, definition: str, mode: str, kind: str, logical: str | None
) -> None:
    modes = dict([mode.split("=")] if mode else [])
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        found = types_of(connection, postgres, f"x {definition}", modes)["x"]

    assert (found.kind, found.logical) == (kind, logical)


def test_a_domain_is_the_type_it_stands_for_however_deep(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "CREATE DOMAIN amount AS numeric(9,3); CREATE DOMAIN paid AS amount;"
            "CREATE DOMAIN ints AS int[]; CREATE DOMAIN seen AS timestamp(3)"
        )
        found = types_of(connection, postgres, "a paid, b ints, c seen, d paid[], e amount[]")
        plain = types_of(connection, postgres, "a numeric(9,3), b int[], c timestamp(3)")

    assert {name: found[name] for name in "abc"} == plain
    assert found["d"] == found["e"] == SourceType("array", element=SourceType("bytes"))


def test_columns_that_debezium_leaves_out_and_dropped_ones_are_left_out(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS public.one")
        connection.execute("CREATE TABLE public.one (a int, b money[], c xml[], d int, e point[])")
        connection.execute("ALTER TABLE public.one DROP COLUMN d")

    found = from_catalog("postgres", postgres, SourceTable("pg", "shop", "public", "one"))

    assert [column.name for column in found] == ["a"]


def mariadb_types(
    url: str, definition: str, modes: Mapping[str, str] = NO_MODES
) -> dict[str, SourceType]:
    parts = urlsplit(url)
    connection = pymysql.connect(
        host=parts.hostname or "",
        port=parts.port or 0,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database="shop",
    )
    with connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS one")
        cursor.execute(f"CREATE TABLE one ({definition})")
    table = SourceTable("my", "shop", "shop", "one")
    return {c.name: c.type for c in from_catalog("mariadb", url, table, modes)}


def test_handling_modes_choose_the_types_in_mariadb(mariadb: str) -> None:
    found = mariadb_types(
        mariadb,
        "a decimal(10,2), b bigint unsigned, c datetime(6), d time, e blob, f date",
        {
            "decimal.handling.mode": "string",
            "bigint.unsigned.handling.mode": "precise",
            "time.precision.mode": "connect",
            "binary.handling.mode": "base64",
        },
    )

    assert found["a"] == SourceType("string")
    assert found["b"].parameter("connect.decimal.precision") == "20"
    assert found["c"].logical == "org.apache.kafka.connect.data.Timestamp"
    assert found["d"].logical == "org.apache.kafka.connect.data.Time"
    assert found["e"] == SourceType("string")
    assert found["f"].logical == "org.apache.kafka.connect.data.Date"


def test_the_words_of_an_enum_keep_their_quotes_and_commas(mariadb: str) -> None:
    found = mariadb_types(mariadb, "a enum('it''s','x'',''y','(z)','')")

    assert found["a"].parameter("allowed") == "it's,x'\\,'y,(z),"


@pytest.mark.parametrize("connector", ["postgres", "mariadb"])
def test_a_table_that_is_gone_has_no_columns(postgres: str, mariadb: str, connector: str) -> None:
    url = postgres if connector == "postgres" else mariadb

    assert from_catalog(connector, url, SourceTable("s", "shop", "public", "gone")) == ()


@pytest.mark.parametrize(
    ("connector", "url"),
    [
        ("postgres", "postgresql://u:p@127.0.0.1:9/shop"),
        ("mariadb", "mysql://u:p@127.0.0.1:9/shop"),
    ],
)
def test_a_database_that_is_down_is_worth_another_try(connector: str, url: str) -> None:
    with pytest.raises(SourceDownError) as raised:
        from_catalog(connector, url, SourceTable("s", "shop", "public", "orders"))

    assert raised.value.retryable


@pytest.mark.parametrize("connector", ["postgres", "mariadb"])
def test_a_refused_login_is_named(postgres: str, mariadb: str, connector: str) -> None:
    url = postgres if connector == "postgres" else mariadb
    scheme, _, rest = url.partition("://")
    wrong = f"{scheme}://nobody:wrong@{rest.rpartition('@')[2]}"

    with pytest.raises((SourceCatalogError, SourceDownError)) as raised:
        from_catalog(connector, wrong, SourceTable("s", "shop", "public", "orders"))

    assert "nobody" in str(raised.value)


def test_the_catalog_of_another_database_is_not_believed(postgres: str) -> None:
    table = SourceTable("pg", "warehouse", "app", "all_types")

    with pytest.raises(SourceCatalogError):
        from_catalog("postgres", postgres, table)


# What a run makes of it.


def config_of(url: str) -> MirrorConfig:
    text = """
        name = "shop"
        [source]
        connector = "postgres"
        topics = ["shop.*"]
        [kafka]
        "bootstrap.servers" = "localhost:9"
    """
    config = parse_config(text.encode(), "/shop.toml")
    return replace(config, source=replace(config.source, url=url))


def inferred(*names: str) -> SourceSchema:
    columns = tuple(SourceColumn(name, SourceType("int64")) for name in names)
    return SourceSchema(columns, ("id",), inferred=True)


@pytest.fixture
def one(postgres: str) -> SourceTable:
    """A table that a test may change."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS public.one")
        connection.execute("CREATE TABLE public.one (id int PRIMARY KEY, at timestamp)")
    return SourceTable("pg", "shop", "public", "one")


def test_the_catalog_is_asked_once_in_a_batch_and_again_for_a_new_column(
    postgres: str, one: SourceTable
) -> None:
    declarations = Declarations(config_of(postgres), DIALECTS["postgres"])

    asked = [declarations.learn("t", one, [inferred("id", "at")])]
    asked.append(declarations.learn("t", one, [inferred("id", "at")]))
    asked.append(declarations.learn("t", one, [inferred("id", "later")]))
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("ALTER TABLE public.one ADD COLUMN more numeric(9,3)")
    asked.append(declarations.learn("t", one, [inferred("id", "more")]))
    declarations.begin()
    asked.append(declarations.learn("t", one, [replace(inferred("id"), untyped=("more",))]))

    assert asked == [True, False, False, False, True]
    assert list(declarations.of("t")) == ["id", "at", "more"]


def test_a_changed_type_is_noticed_in_the_next_batch(postgres: str, one: SourceTable) -> None:
    declarations = Declarations(config_of(postgres), DIALECTS["postgres"])
    declarations.learn("t", one, [inferred("id", "at")])
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("ALTER TABLE public.one ALTER id TYPE bigint")

    declarations.ask({"t": one})
    before = declarations.of("t")["id"]
    declarations.begin()
    declarations.ask({"t": one})

    assert before == ColumnTypes(SourceType("int32"))
    assert declarations.of("t")["id"] == ColumnTypes(SourceType("int64"))


def test_a_table_that_is_gone_keeps_what_was_learned_of_it(postgres: str, one: SourceTable) -> None:
    declarations = Declarations(config_of(postgres), DIALECTS["postgres"])
    declarations.learn("t", one, [inferred("id", "at")])
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP TABLE public.one")
    declarations.begin()

    assert declarations.ask({"t": one}) == {}
    assert len(declarations.of("t")) == 2


def test_a_catalog_of_another_database_refuses_and_says_so(postgres: str, one: SourceTable) -> None:
    declarations = Declarations(config_of(postgres), DIALECTS["postgres"])

    refused = declarations.ask({"t": replace(one, database="other"), "u": one})

    assert isinstance(refused["t"], SourceCatalogError)
    assert refused.keys() == {"t"}
    assert declarations.topics == ("u",)


def test_a_database_that_is_down_when_types_are_needed_stops_the_run_for_another_try(
    one: SourceTable,
) -> None:
    declarations = Declarations(
        config_of("postgresql://u:p@127.0.0.1:9/shop"), DIALECTS["postgres"]
    )

    with pytest.raises(SourceDownError):
        declarations.learn("t", one, [inferred("id", "at")])

    assert "t" not in declarations.topics


def test_schemas_that_are_told_ask_nobody(one: SourceTable) -> None:
    declarations = Declarations(
        config_of("postgresql://u:p@127.0.0.1:9/shop"), DIALECTS["postgres"]
    )

    assert not declarations.learn("t", one, [replace(inferred("id"), inferred=False)])
