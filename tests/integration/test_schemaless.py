"""JSON without schemas from real Debezium: with source.url set, the tables are as with schemas."""

import logging
import re
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from pyspark.sql import SparkSession

from cdc.config import MirrorConfig
from cdc.observe import RunSummary
from cdc.runtime.mirror import Mirror
from tests.conftest import Configure
from tests.integration.databases import MariadbSource, PostgresSource, mirrored
from tests.integration.stack import Stack
from tests.unit.messages import RECORDED

BARE = {"key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false"}
# Types of extensions that not every server has.
EXTENSIONS = re.compile(r"c_(citext citext|hstore hstore|ltree ltree), ")
POSTGRES_ROWS = (
    "INSERT INTO app.all_types (id) VALUES (1)",
    """
    INSERT INTO app.all_types (
        id, c_num_10_2, c_num_38_10, c_num_noscale, c_float8, c_bytea, c_date, c_time, c_ts, c_ts0,
        c_tstz, c_interval, c_uuid, c_jsonb, c_int_arr, c_num_arr, c_tstz_arr, c_mood, c_bit1,
        c_bit8, c_point, c_money, c_int4range, c_email, c_price, c_composite
    ) VALUES (
        2, 12345678.91, 1234567890123456789012345678.0123456789, 123.456, 'NaN', '\\xdeadbeef00ff',
        '2024-02-29', '12:34:56.789012', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:57',
        '2024-02-29 12:34:56.789012+02', '1 day 02:00', '6f1d0f5e-7c1e-4b0e-9d3c-0a1b2c3d4e5f',
        '{"a": {"b": 1.10}}', '{1,2,NULL}', '{1.10,2.25}', '{"2024-01-01 00:00:00+00"}', 'happy',
        B'1', B'10101010', '(1.5,-2.25)', 1234.56, '[1,10)', 'a@b.co', 19.99, ROW('Main St', 1)
    )
    """,
)
MARIADB_ROWS = (
    "INSERT INTO all_types (id) VALUES (1)",
    """
    INSERT INTO all_types (
        id, c_tinyu, c_bigu, c_dec, c_dec65, c_float72, c_double, c_bit1, c_bit20, c_date, c_dt,
        c_dt6, c_ts, c_time6, c_year, c_latin, c_binary, c_blob, c_enum, c_set, c_json, c_uuid,
        c_point
    ) VALUES (
        2, 255, 18446744073709551615, 12345678.91, 1.5, 12345.67, 2.718281828459045, b'1',
        b'11110000111100001111', '2024-02-29', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789012',
        '2024-02-29 12:34:56', '12:34:56.789012', 2024, 'cafe', x'DEADBEEF', x'00FF', 'c,d', 'x,z',
        '{"a": 1}', '6f1d0f5e-7c1e-4b0e-9d3c-0a1b2c3d4e5f', ST_GeomFromText('POINT(1 2)')
    )
    """,
)


class BarePostgres(PostgresSource):
    """A database that two connectors read: one sends schemas, the other does not."""

    def __init__(self, stack: Stack, name: str, database: PostgresSource) -> None:
        self.name, self.stack = name, stack
        self.endpoint, self.topics = database.endpoint, database.topics


class BareMariadb(MariadbSource):
    """The same for MariaDB."""

    def __init__(self, stack: Stack, name: str, database: MariadbSource) -> None:
        self.name, self.stack = name, stack
        self.endpoint, self.topics = database.endpoint, database.topics


def run_once(spark: SparkSession, config: MirrorConfig) -> RunSummary:
    return Mirror(spark, config, threading.Event()).run(once=True)


def rows(spark: SparkSession, table: str) -> list[str]:
    """Read a table as text, in which a NaN equals a NaN."""
    return [str(row) for row in mirrored(spark, table).sort_by("id").to_pylist()]


@pytest.fixture
def postgres(stack: Stack) -> Iterator[PostgresSource]:
    source = PostgresSource(stack, f"pg{uuid.uuid4().hex[:8]}")
    with psycopg.connect(source.endpoint.url) as connection:
        text = (RECORDED / "all_types_pg.sql").read_text()
        connection.execute(EXTENSIONS.sub("", text).encode())
    source.execute(*POSTGRES_ROWS)
    yield source
    source.close()


@pytest.fixture
def mariadb(stack: Stack) -> Iterator[MariadbSource]:
    source = MariadbSource(stack, f"my{uuid.uuid4().hex[:8]}")
    text = (RECORDED / "all_types_maria.sql").read_text()
    source.execute(*(part for part in text.split(";\n") if part.strip()), *MARIADB_ROWS)
    yield source
    source.close()


@pytest.fixture
def bare(postgres: PostgresSource, stack: Stack) -> Iterator[PostgresSource]:
    """The same database through a connector that sends no schemas."""
    source = BarePostgres(stack, f"{postgres.name}n", postgres)
    yield source
    source.close()


def without_schemas(config: MirrorConfig, url: str) -> MirrorConfig:
    return replace(config, source=replace(config.source, url=url))


def test_postgres_without_schemas_gives_the_same_tables(
    stack: Stack,
    spark: SparkSession,
    configure: Configure,
    postgres: PostgresSource,
    bare: PostgresSource,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "cdc.runtime.declared")
    postgres.register("app.all_types")
    bare.register("app.all_types", **BARE, **{"database.dbname": postgres.name})
    told, untold = (
        configure(topics=f"{source.name}.app.*", servers=source.topics.servers)
        for source in (postgres, bare)
    )
    untold = without_schemas(untold, postgres.endpoint.url)
    tables = [f"shop.{source.name}.all_types" for source in (postgres, bare)]

    arrived = 2
    for statements in (
        (),
        ("UPDATE app.all_types SET c_text = 'new' WHERE id = 2",),
        (
            "ALTER TABLE app.all_types ADD COLUMN late numeric(8,3)",
            "INSERT INTO app.all_types (id, late) VALUES (3, 1.125)",
            "DELETE FROM app.all_types WHERE id = 1",
        ),
    ):
        postgres.execute(*statements)
        arrived += {0: 0, 1: 1, 3: 3}[len(statements)]
        for source in (postgres, bare):
            source.topics.wait_for(f"{source.name}.app.all_types", arrived)
        for config in (told, untold):
            summary = run_once(spark, config)
            assert (summary.exit_code, summary.account.quarantined) == (0, 0)
        assert spark.table(tables[0]).dtypes == spark.table(tables[1]).dtypes
        assert rows(spark, tables[0]) == rows(spark, tables[1])

    assert ("late", "decimal(8,3)") in spark.table(tables[1]).dtypes
    said = {record.getMessage().split(" columns=")[0] for record in caplog.records}
    assert "catalog table=app.all_types" in said
    assert not any(line.startswith("inferred") for line in said)


def test_mariadb_without_schemas_gives_the_same_tables(
    stack: Stack, spark: SparkSession, configure: Configure, mariadb: MariadbSource
) -> None:
    prefixes = (mariadb.name, f"{mariadb.name}n")
    modes = {"bigint.unsigned.handling.mode": "precise"}
    mariadb.register(f"{mariadb.name}.all_types")
    bare = BareMariadb(stack, prefixes[1], mariadb)
    bare.register(
        f"{mariadb.name}.all_types", **BARE, **{"database.include.list": mariadb.name}, **modes
    )
    try:
        for prefix in prefixes:
            mariadb.topics.wait_for(f"{prefix}.{mariadb.name}.all_types", 2)
            config = configure(
                topics=f"{prefix}.{mariadb.name}.*",
                servers=mariadb.topics.servers,
                connector="mariadb",
            )
            if prefix != mariadb.name:
                config = without_schemas(config, mariadb.endpoint.url)
                config = replace(config, source=replace(config.source, modes=modes))
            summary = run_once(spark, config)
            assert (summary.exit_code, summary.account.quarantined) == (0, 0)
    finally:
        bare.close()

    told, untold = (f"shop.{prefix}.all_types" for prefix in prefixes)
    assert spark.table(told).dtypes == spark.table(untold).dtypes
    assert rows(spark, told) == rows(spark, untold)
