"""Columns that a rule leaves out or hashes, through real Spark and Iceberg."""

import hashlib
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.spark.conftest import IN_EACH_WAY
from tests.unit.messages import Table, column, delete, insert, update

pytestmark = IN_EACH_WAY


@pytest.fixture
def table(table: Table) -> Table:
    columns = (*table.columns, column("mail", "string"), column("secret", "string"))
    return replace(table, columns=columns)


@pytest.fixture
def bench(spark: SparkSession, configure: Configure, deletes: str) -> Bench:
    more = f"""
        [[tables.rules]]
        match = "public.orders"
        deletes = "{deletes}"
        exclude = ["secret"]
        hash = ["mail", "id"]
    """
    return Bench(spark, configure(more=more))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_neither_an_excluded_column_nor_a_hashed_value_reaches_the_table(
    bench: Bench, table: Table
) -> None:
    row = {"id": 1, "name": "ann", "mail": "ann@x", "secret": "s"}
    bench.apply(insert(row, table=table, offset=0), insert({**row, "id": 2}, table=table, offset=1))

    bench.apply(
        update({**row, "mail": "new@x"}, table=table, offset=2),
        delete({"id": 2}, table=table, offset=3),
    )

    assert bench.rows(f"{table.server}.orders") == [
        {"id": digest("1"), "name": "ann", "mail": digest("new@x")}
    ]


def test_a_new_column_that_is_excluded_changes_nothing(bench: Bench, table: Table) -> None:
    plain = replace(table, columns=table.columns[:3])
    bench.apply(insert({"id": 1, "name": "ann"}, table=plain, offset=0))

    bench.apply(insert({"id": 2, "name": "bob", "secret": "s"}, table=table, offset=1))

    assert [set(row) for row in bench.rows(f"{table.server}.orders")] == [
        {"id", "name", "mail"}
    ] * 2
    assert bench.parked == {}
