"""A second mirror of the same config beside the first, through real Spark and Iceberg."""

import uuid
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from cdc.state.names import QUARANTINE
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.spark.meddling import around_commit
from tests.unit.messages import ORDERS, Message, Table, insert, update


def batch(table: Table, first: int) -> list[Message]:
    """Make a bad record and a good one."""
    bad = replace(insert({"id": first}, table=table, offset=first), value=b"garbage")
    return [bad, insert({"id": first + 1}, table=table, offset=first + 1)]


def quarantined(bench: Bench, table: Table) -> list[int]:
    rows = bench.rows(f"shop.{QUARANTINE}")
    return sorted(row["offset"] for row in rows if row["topic"] == table.topic)


@pytest.mark.parametrize("deletes", ["positional", "equality"])
def test_a_mirror_that_finds_its_batch_applied_by_another_finds_the_rows_in_the_files_of_that(
    spark: SparkSession, configure: Configure, deletes: str
) -> None:
    table = replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")
    config = configure(more=f'[tables.defaults]\ndeletes = "{deletes}"')
    one, other = Bench(spark, config), Bench(spark, config)
    first = insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10)
    second = update({"id": 1, "name": "b"}, table=table, offset=1, lsn=20)
    one.apply(first)
    other.apply(first)

    one.apply(second)
    other.apply(second)
    other.apply(update({"id": 1, "name": "c"}, table=table, offset=2, lsn=30))

    assert one.rows(f"{table.server}.orders") == [{"id": 1, "name": "c"}]


@pytest.mark.parametrize("at_once", [False, True])
def test_bad_records_that_two_mirrors_meet_are_kept_once(
    spark: SparkSession, configure: Configure, at_once: bool
) -> None:
    table = replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")
    config = configure()
    one = Bench(spark, config)
    one.apply(insert({"id": 0}, table=table, offset=0))
    one.apply(*batch(table, 1))
    other = Bench(spark, config)
    other.apply(insert({"id": 0}, table=table, offset=0))
    waiting = [batch(table, 3)]

    def come_first() -> None:
        if waiting:
            one.apply(*waiting.pop())

    if at_once:
        kept = other.context.quarantine._table
        assert kept is not None
        around_commit(kept, before=come_first)
    else:
        come_first()

    other.apply(*batch(table, 3))
    other.apply(*batch(table, 5))
    one.apply(*batch(table, 5))

    assert quarantined(one, table) == [1, 3, 5]
    assert [row["id"] for row in one.rows(f"{table.server}.orders")] == [0, 2, 4, 6]
