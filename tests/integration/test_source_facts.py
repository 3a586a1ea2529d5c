"""What only the source's own catalog tells: comments, and what was renamed."""

import threading
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from cdc.config import MirrorConfig
from cdc.model import SourceTable
from cdc.observe import RunSummary
from cdc.runtime.stream.mirror import Mirror
from connectors import DIALECTS
from tests.conftest import Configure, OpenSource
from tests.integration.databases import Source, mirrored


def run_once(spark: SparkSession, config: MirrorConfig) -> RunSummary:
    return Mirror(spark, config, threading.Event()).run(once=True)


@pytest.mark.parametrize("connector", ["postgres", "mariadb"])
def test_comments_and_numbers_of_columns_are_read(connector: str, open_source: OpenSource) -> None:
    source = open_source(connector)
    schema = "public" if connector == "postgres" else source.name
    table = SourceTable(source.name, source.name, schema, "items")
    if connector == "postgres":
        source.execute(
            "CREATE TABLE items (id int PRIMARY KEY, a text)",
            "COMMENT ON COLUMN items.a IS 'it''s a'",
        )
    else:
        source.execute("CREATE TABLE items (id int PRIMARY KEY, a text COMMENT 'it''s a')")
    read = DIALECTS[connector].facts
    assert read is not None
    before = read(source.endpoint.url, table)

    source.execute("ALTER TABLE items RENAME COLUMN a TO b", "ALTER TABLE items ADD COLUMN a int")
    after = read(source.endpoint.url, table)

    assert (before["id"].comment, before["a"].comment) == ("", "it's a")
    assert after["b"].comment == "it's a"
    if connector == "postgres":
        assert after["b"].identity == before["a"].identity != after["a"].identity
    else:
        assert {fact.identity for fact in after.values()} == {None}
    assert read(source.endpoint.url, replace(table, table="no_such")) == {}


def defaults(source: Source, schema: str) -> dict[str, object]:
    read = DIALECTS[source.connector].columns
    assert read is not None
    table = SourceTable(source.name, source.name, schema, "items")
    found = read(source.endpoint.url, table, {})
    return {column.name: column.default for column in found if column.name != "id"}


def test_postgres_tells_what_old_rows_hold_in_a_new_column(open_source: OpenSource) -> None:
    source = open_source("postgres")
    source.execute(
        "CREATE TABLE items (id int DEFAULT 1)",
        "ALTER TABLE items ADD COLUMN a int DEFAULT 7, ADD COLUMN b text DEFAULT 'it''s'",
        "ALTER TABLE items ADD COLUMN c bool DEFAULT true, ADD COLUMN d float8 DEFAULT 0.5",
        "ALTER TABLE items ADD COLUMN e timestamp DEFAULT now(), ADD COLUMN f int",
        "ALTER TABLE items ALTER COLUMN f SET DEFAULT 5",  # old rows stay without
    )

    assert defaults(source, "public") == {
        "a": 7,
        "b": "it's",
        "c": True,
        "d": 0.5,
        **dict.fromkeys("ef"),
    }


@pytest.mark.parametrize("connector", ["mariadb", "mysql"])
def test_constant_defaults_are_told(connector: str, open_source: OpenSource) -> None:
    source = open_source(connector)
    source.execute(
        "CREATE TABLE items (id int PRIMARY KEY, a int DEFAULT 7, b varchar(9) DEFAULT 'it''s', "
        "c double DEFAULT -0.5, d varchar(9) DEFAULT '7', e varchar(9) DEFAULT NULL, "
        "f varchar(40) DEFAULT (uuid()), g datetime DEFAULT '2024-01-01', h int)"
    )

    assert defaults(source, source.name) == {
        "a": 7,
        "b": "it's",
        "c": -0.5,
        "d": "7",
        **dict.fromkeys("efgh"),
    }


@pytest.mark.parametrize("connector", ["postgres", "mariadb", "mysql"])
def test_a_number_stays_with_its_table_under_another_name(
    connector: str, open_source: OpenSource
) -> None:
    source = open_source(connector)
    schema = "public" if connector == "postgres" else source.name
    read = DIALECTS[connector].tables
    assert read is not None
    source.execute("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE gone (id int PRIMARY KEY)")
    before = read(source.endpoint.url)
    source.execute("ALTER TABLE a RENAME TO b", "DROP TABLE gone")
    after = read(source.endpoint.url)
    source.execute("TRUNCATE TABLE b")
    emptied = read(source.endpoint.url)

    assert after.server == before.server != ""
    assert after.numbers[schema, "b"] == before.numbers[schema, "a"] is not None
    assert {(schema, "a"), (schema, "gone")}.isdisjoint(after.numbers)
    assert None not in (before.position, after.position, after.time)
    assert (after.position or 0) > (before.position or 0)
    # What `lasting_identity` says of a dialect.
    same = emptied.numbers[schema, "b"] == after.numbers[schema, "b"]
    assert same is DIALECTS[connector].lasting_identity


@pytest.fixture
def source(open_source: OpenSource) -> Source:
    return open_source("postgres")


def test_renamed_dropped_and_new_columns_are_told_apart_by_the_catalog(
    spark: SparkSession, configure: Configure, source: Source
) -> None:
    source.execute(
        "CREATE TABLE items (id int PRIMARY KEY, a text, b int, c text)",
        "COMMENT ON COLUMN items.a IS 'first'",
        "INSERT INTO items VALUES (1, 'one', 1, 'x'), (2, 'two', 2, 'y')",
    )
    source.register("public.items")
    config = configure(topics=f"{source.name}.public.items", servers=source.topics.servers)
    config = replace(config, source=replace(config.source, url=source.endpoint.url))
    topic, table = f"{source.name}.public.items", f"shop.{source.name}.items"
    source.topics.wait_for(topic, 2)
    assert run_once(spark, config).exit_code == 0
    comments = {row.col_name: row.comment for row in spark.sql(f"DESCRIBE {table}").collect()}

    # While the mirror is away: a has two new names, one after the other; b is gone, d is new.
    source.execute(
        "ALTER TABLE items RENAME COLUMN a TO between",
        "UPDATE items SET between = 'zwei' WHERE id = 2",
        "ALTER TABLE items RENAME COLUMN between TO name",
        "ALTER TABLE items DROP COLUMN b",
        "ALTER TABLE items ADD COLUMN d int",
        "INSERT INTO items VALUES (3, 'three', 'z', 3)",
    )
    source.topics.wait_for(topic, 4)
    assert run_once(spark, config).exit_code == 0

    assert comments["a"] == "first"
    found = mirrored(spark, table).sort_by("id").to_pylist()
    assert found == [
        {"id": 1, "name": "one", "c": "x", "d": None},
        {"id": 2, "name": "zwei", "c": "y", "d": None},
        {"id": 3, "name": "three", "c": "z", "d": 3},
    ]
