"""Several tables of one topic: one pass, and a ledger for each."""

import uuid
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from cdc.errors import ForeignTableError
from cdc.model import Account
from cdc.runtime.tables.table_commit import TableCommit
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import ORDERS, Table, delete, insert, update

TARGETS = """
[[tables.rules]]
match = "*.*"
targets = [
  { table = "{server}.{table}_now" },
  { table = "{server}.{table}_lean", deletes = "equality", exclude = ["name"] },
]
"""


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")


@pytest.fixture
def bench(spark: SparkSession, configure: Configure) -> Bench:
    return Bench(spark, configure(more=TARGETS))


def test_each_target_gets_every_change_in_its_own_shape(bench: Bench, table: Table) -> None:
    bench.apply(*(insert({"id": n, "name": f"n{n}"}, table=table, offset=n) for n in range(3)))
    progress = bench.apply(
        update({"id": 0, "name": "new"}, table=table, offset=3),
        delete({"id": 1}, table=table, offset=4),
    )

    assert bench.rows(f"{table.server}.orders_now") == [
        {"id": 0, "name": "new"},
        {"id": 2, "name": "n2"},
    ]
    assert bench.rows(f"{table.server}.orders_lean") == [{"id": 0}, {"id": 2}]
    assert progress.tables == 2
    for name in ("orders_now", "orders_lean"):
        assert bench.ledgers(f"{table.server}.{name}")[-1].account == Account(read=2, applied=2)


def test_a_target_that_lags_gets_what_it_lacks_and_the_other_nothing_twice(
    bench: Bench, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))
    now, lean = bench.tables.of_topic(table.topic)
    commit = TableCommit.__call__

    def fail(self, mirrored, report, cutoffs):  # type: ignore[no-untyped-def]
        if report.id == lean:
            raise KeyboardInterrupt
        commit(self, mirrored, report, cutoffs)

    batch = [update({"id": 1, "name": "b"}, table=table, offset=1)]
    with monkeypatch.context() as patch:
        patch.setattr(TableCommit, "__call__", fail)
        with pytest.raises(KeyboardInterrupt):
            bench.apply(*batch)
    before = bench.snapshots(f"{table.server}.orders_now")
    for target in (now, lean):
        bench.tables[target].reopen()
    bench.apply(*batch, insert({"id": 2, "name": "c"}, table=table, offset=2))

    assert bench.rows(f"{table.server}.orders_now") == [
        {"id": 1, "name": "b"},
        {"id": 2, "name": "c"},
    ]
    assert bench.rows(f"{table.server}.orders_lean") == [{"id": 1}, {"id": 2}]
    assert bench.snapshots(f"{table.server}.orders_now") == before + 1
    assert bench.ledgers(f"{table.server}.orders_now")[-1].account == Account(
        read=2, applied=1, duplicates=1
    )
    assert bench.ledgers(f"{table.server}.orders_lean")[-1].account == Account(read=2, applied=2)


def test_one_target_that_fails_does_not_stop_the_other(bench: Bench, table: Table) -> None:
    bench.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS shop.{table.server}")
    bench.spark.sql(f"CREATE TABLE shop.{table.server}.orders_lean (id bigint) USING iceberg")

    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))
    bench.apply(insert({"id": 2, "name": "b"}, table=table, offset=1))

    assert [row["id"] for row in bench.rows(f"{table.server}.orders_now")] == [1, 2]
    (reason,) = bench.parked.values()
    assert isinstance(reason, ForeignTableError)
