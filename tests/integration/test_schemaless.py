"""JSON without schemas from real Debezium: with source.url set, the tables are as with schemas."""

import copy
import logging
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from pyspark.sql import SparkSession

from cdc.config import MirrorConfig
from cdc.observe import RunSummary
from cdc.runtime.stream.mirror import Mirror
from tests.conftest import Configure, OpenSource
from tests.integration.databases import Source, mirrored
from tests.unit.messages import RECORDED

BARE = {"key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false"}
# Types of extensions that not every server has.
EXTENSIONS = re.compile(r"c_(citext citext|hstore hstore|ltree ltree), ")
# Streamed messages lack it: with schemas it counts as dropped, without them nobody can tell.
GENERATED = re.compile(r"c_gen int GENERATED ALWAYS AS \(.*\) STORED,")
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
BINLOG_ROWS = (
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


@dataclass(frozen=True)
class Case:
    """One database: how its table is made, filled and changed."""

    statements: tuple[str, ...]
    namespace: str  # of the table, after the topic's prefix; empty for the database itself
    changes: tuple[str, ...]
    added: tuple[str, str]


def postgres_case() -> Case:
    text = EXTENSIONS.sub("", (RECORDED / "all_types_pg.sql").read_text())
    text = GENERATED.sub("", text)
    return Case(
        (text, *POSTGRES_ROWS),
        "app",
        (
            "UPDATE app.all_types SET c_text = 'new' WHERE id = 2",
            "ALTER TABLE app.all_types ADD COLUMN late numeric(8,3)",
            "INSERT INTO app.all_types (id, late) VALUES (3, 1.125)",
            "DELETE FROM app.all_types WHERE id = 1",
        ),
        ("late", "decimal(8,3)"),
    )


def binlog_case(connector: str) -> Case:
    text = (RECORDED / "all_types_maria.sql").read_text()
    if connector == "mysql":
        text = text.replace("c_uuid uuid", "c_uuid char(36)")
    return Case(
        (*(part for part in text.split(";\n") if part.strip()), *BINLOG_ROWS),
        "",
        (
            "UPDATE all_types SET c_text = 'new' WHERE id = 2",
            # The catalog calls it tinyint(1); to Debezium it is what the statement says.
            "ALTER TABLE all_types ADD COLUMN late boolean",
            "INSERT INTO all_types (id, late) VALUES (3, true)",
            "DELETE FROM all_types WHERE id = 1",
        ),
        ("late", "boolean"),
    )


def run_once(spark: SparkSession, config: MirrorConfig) -> RunSummary:
    return Mirror(spark, config, threading.Event()).run(once=True)


def rows(spark: SparkSession, table: str) -> list[str]:
    """Read a table as text, in which a NaN equals a NaN."""
    return [str(row) for row in mirrored(spark, table).sort_by("id").to_pylist()]


@pytest.fixture(params=["postgres", "mariadb", "mysql"])
def source(request: pytest.FixtureRequest, open_source: OpenSource) -> Source:
    return open_source(request.param)


@pytest.fixture
def bare(source: Source) -> Iterator[Source]:
    """The same database through a second connector, which sends no schemas."""
    other = copy.copy(source)
    other.name = f"{source.name}n"
    yield other
    other.close()


def test_a_database_without_schemas_gives_the_same_tables(
    spark: SparkSession,
    configure: Configure,
    source: Source,
    bare: Source,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "cdc.runtime.follow.source_catalog")
    case = postgres_case() if source.connector == "postgres" else binlog_case(source.connector)
    namespace = case.namespace or source.name
    source.execute(*case.statements)
    source.register(f"{namespace}.all_types")
    database = "database.dbname" if case.namespace else "database.include.list"
    bare.register(f"{namespace}.all_types", **BARE, **{database: source.name})
    # The mirror's own connectors send unsigned numbers exactly, which Debezium's default does not.
    modes = {} if case.namespace else {"bigint.unsigned.handling.mode": "precise"}
    told, untold = (
        configure(
            topics=f"{reader.name}.{namespace}.all_types",
            servers=reader.topics.servers,
            connector=source.connector,
        )
        for reader in (source, bare)
    )
    untold = replace(untold, source=replace(untold.source, url=source.endpoint.url, modes=modes))
    tables = [f"shop.{reader.name}.all_types" for reader in (source, bare)]

    # Two rows; then a change, a new column with a row, and a delete with its tombstone.
    for statements, records in (((), 2), (case.changes, 6)):
        if statements:
            source.execute(*statements)
        for reader in (source, bare):
            reader.topics.wait_for(f"{reader.name}.{namespace}.all_types", records)
        for config in (told, untold):
            summary = run_once(spark, config)
            assert (summary.exit_code, summary.account.quarantined) == (0, 0)
        assert spark.table(tables[0]).dtypes == spark.table(tables[1]).dtypes
        assert rows(spark, tables[0]) == rows(spark, tables[1])

    assert case.added in spark.table(tables[1]).dtypes
    said = {record.getMessage().split(" columns=")[0] for record in caplog.records}
    assert f"catalog table={namespace}.all_types" in said
    assert not any(line.startswith("inferred") for line in said)
