"""A truncate between partitions that are not read in step."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdc.errors import CommitConflictError
from cdc.model import Account
from cdc.runtime.table_commit import TableCommit
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import ORDERS, Table, insert, truncate, update


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")


@pytest.fixture(params=["positional", "equality"])
def bench(request: pytest.FixtureRequest, spark: SparkSession, configure: Configure) -> Bench:
    return Bench(spark, configure(more=f'[tables.defaults]\ndeletes = "{request.param}"'))


def rows(bench: Bench, table: Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in bench.rows(f"{table.server}.orders")]


def test_what_another_partition_brings_late_is_wiped_too(bench: Bench, table: Table) -> None:
    bench.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10),
        insert({"id": 2, "name": "b"}, table=table, partition=1, offset=0, lsn=20),
    )
    bench.apply(truncate(table=table, offset=1, lsn=50))
    assert rows(bench, table) == []

    late = bench.apply(
        update({"id": 2, "name": "late"}, table=table, partition=1, offset=1, lsn=30),
        insert({"id": 3, "name": "after"}, table=table, partition=1, offset=2, lsn=60),
    )

    assert rows(bench, table) == [(3, "after")]
    assert late.account == Account(read=2, applied=1, superseded=1)


def test_the_barrier_is_kept_over_a_restart_and_dropped_behind_the_last_partition(
    bench: Bench, table: Table
) -> None:
    bench.apply(
        insert({"id": 1}, table=table, offset=0, lsn=10),
        insert({"id": 2}, table=table, partition=1, offset=0, lsn=20),
    )
    bench.apply(truncate(table=table, offset=1, lsn=50))
    assert bench.ledgers(f"{table.server}.orders")[-1].truncate is not None

    bench.table(table.topic).reopen()  # all that a new process would know
    bench.apply(insert({"id": 4}, table=table, partition=1, offset=1, lsn=40))
    bench.apply(insert({"id": 5}, table=table, partition=1, offset=2, lsn=51))

    assert [row[0] for row in rows(bench, table)] == [5]
    assert bench.ledgers(f"{table.server}.orders")[-1].truncate is None


def test_newer_rows_of_a_partition_that_was_ahead_survive(bench: Bench, table: Table) -> None:
    ahead = [
        insert({"id": 2, "name": "old"}, table=table, partition=1, offset=0, lsn=20),
        insert({"id": 3, "name": "old"}, table=table, partition=1, offset=1, lsn=30),
    ]
    newer = [
        insert({"id": 3, "name": "new"}, table=table, partition=1, offset=2, lsn=60),
        insert({"id": 4, "name": "new"}, table=table, partition=1, offset=3, lsn=70),
    ]
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10), *ahead)
    bench.apply(*newer)

    bench.topic = [*ahead, *newer]
    progress = bench.apply(truncate(table=table, offset=1, lsn=50))

    assert rows(bench, table) == [(3, "new"), (4, "new")]
    # What was read again counts as a duplicate: each record is applied in one commit.
    assert progress.account == Account(read=3, applied=1, duplicates=2)


def test_a_truncate_that_comes_after_a_later_one_of_another_partition_wipes_nothing(
    bench: Bench, table: Table
) -> None:
    bench.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10),
        insert({"id": 2, "name": "b"}, table=table, partition=1, offset=0, lsn=20),
    )
    bench.apply(
        truncate(table=table, partition=1, offset=1, lsn=60),
        insert({"id": 3, "name": "after"}, table=table, partition=1, offset=2, lsn=70),
    )

    bench.apply(
        insert({"id": 4, "name": "between"}, table=table, offset=1, lsn=30),
        truncate(table=table, offset=2, lsn=50),
        insert({"id": 5, "name": "between"}, table=table, offset=3, lsn=55),
        insert({"id": 6, "name": "after"}, table=table, offset=4, lsn=80),
    )

    assert rows(bench, table) == [(3, "after"), (6, "after")]


def test_a_late_truncate_whose_commit_meets_another_keeps_newer_rows(
    bench: Bench, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = [insert({"id": 2, "name": "old"}, table=table, partition=1, offset=0, lsn=20)]
    newer = [insert({"id": 3, "name": "new"}, table=table, partition=1, offset=1, lsn=60)]
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10), *ahead)
    bench.apply(*newer)

    bench.topic = [*ahead, *newer]
    commit = TableCommit.__call__
    met: list[Any] = []

    def second_try(*arguments: Any) -> None:
        if not met:
            met.append(arguments)
            raise CommitConflictError(f"{table.server}.orders", "somebody was first")
        commit(*arguments)

    monkeypatch.setattr(TableCommit, "__call__", second_try)
    bench.apply(truncate(table=table, offset=1, lsn=50))

    assert rows(bench, table) == [(3, "new")]


def test_a_failover_to_smaller_positions_is_not_taken_for_late(bench: Bench, table: Table) -> None:
    early, late = {"ts_ms": 1_000}, {"ts_ms": 9_000}
    bench.apply(
        insert({"id": 1}, table=table, offset=0, lsn=10, source=early),
        insert({"id": 2}, table=table, partition=1, offset=0, lsn=20, source=early),
    )
    bench.apply(truncate(table=table, offset=1, lsn=50, source={"ts_ms": 5_000}))

    bench.apply(insert({"id": 3}, table=table, partition=1, offset=1, lsn=5, source=late))

    assert [row[0] for row in rows(bench, table)] == [3]
