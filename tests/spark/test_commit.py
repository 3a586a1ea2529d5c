"""Rows, deletes and ledger in one commit, and what other writers may do beside it."""

import uuid
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from cdc.commit import RowChange, commit_rows, read_ledger, set_properties
from cdc.errors import CommitConflictError
from cdc.model import PartitionMark
from cdc.state.ledger import Ledger
from cdc.state.names import LEDGER_PROPERTY
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import ORDERS, Table, insert, update


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")


@pytest.fixture
def bench(spark: SparkSession, configure: Configure, table: Table) -> Bench:
    """A mirror whose table has two rows, from two batches."""
    bench = Bench(spark, configure(more='[tables.defaults]\ndeletes = "equality"'))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))
    bench.apply(insert({"id": 2, "name": "b"}, table=table, offset=1))
    return bench


def change(bench: Bench, table: Table, *, since: int | None) -> RowChange:
    """A commit without rows that moves the ledger."""
    old = bench.table(table.topic).ledger
    assert old is not None
    ledger = Ledger(old.mirror, old.topic, old.batch + 1, {0: PartitionMark(99)})
    return RowChange(files=(), ledger=ledger, key=("id",), since=since)


def test_rows_that_somebody_added_since_are_a_conflict(bench: Bench, table: Table) -> None:
    mirrored = bench.table(table.topic)
    since = mirrored.table.snapshot_id
    bench.spark.sql(f"INSERT INTO shop.{table.server}.orders VALUES (7, 'foreign')")

    with pytest.raises(CommitConflictError):
        commit_rows(mirrored.table, change(bench, table, since=since))

    mirrored.table.refresh()
    assert read_ledger(mirrored.table) == mirrored.ledger


def test_commit_without_rows_moves_the_ledger(bench: Bench, table: Table) -> None:
    mirrored = bench.table(table.topic)
    step = change(bench, table, since=mirrored.table.snapshot_id)

    commit_rows(mirrored.table, step)
    mirrored.table.refresh()

    assert read_ledger(mirrored.table) == step.ledger
    assert bench.snapshots(f"{table.server}.orders") == 3


def test_compaction_beside_the_mirror_is_no_conflict(bench: Bench, table: Table) -> None:
    bench.spark.sql(
        f"CALL shop.system.rewrite_data_files(table => '{table.server}.orders', "
        "options => map('rewrite-all', 'true'))"
    )

    bench.apply(update({"id": 1, "name": "after compaction"}, table=table, offset=2))

    rows = [(row["id"], row["name"]) for row in bench.rows(f"{table.server}.orders")]
    assert rows == [(1, "after compaction"), (2, "b")]


def test_ledger_survives_compaction_and_expiry(bench: Bench, table: Table) -> None:
    mirrored = bench.table(table.topic)
    name = f"{table.server}.orders"
    options = "options => map('rewrite-all', 'true')"
    bench.spark.sql(f"CALL shop.system.rewrite_data_files(table => '{name}', {options})")
    bench.spark.sql(
        f"CALL shop.system.expire_snapshots(table => '{name}', "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    )

    mirrored.table.refresh()

    assert next(mirrored.table.history()).ledger is None
    assert read_ledger(mirrored.table) == mirrored.ledger


def test_rollback_takes_the_ledger_back_with_the_rows(bench: Bench, table: Table) -> None:
    mirrored = bench.table(table.topic)
    first = (
        bench.spark.table(f"shop.{table.server}.orders.snapshots").orderBy("committed_at").first()
    )
    assert first is not None
    bench.spark.sql(
        f"CALL shop.system.rollback_to_snapshot('{table.server}.orders', {first.snapshot_id})"
    )

    mirrored.table.refresh()
    ledger = read_ledger(mirrored.table)

    assert ledger is not None
    assert ledger.partitions[0].next_offset == 1


def test_rows_and_ledger_are_one_commit(bench: Bench, table: Table) -> None:
    history = bench.spark.table(f"shop.{table.server}.orders.snapshots").collect()

    carried = [LEDGER_PROPERTY in row.summary for row in history]

    assert carried == [True, True]


@pytest.mark.parametrize("value", ["", "plain", "ключ=значение, and a\nnew line", "a\0b"])
def test_a_table_property_is_read_as_it_was_written(bench: Bench, table: Table, value: str) -> None:
    iceberg = bench.table(table.topic).table
    before = iceberg.properties

    set_properties(iceberg, {"note": value})

    assert iceberg.properties == before | {"note": value}
