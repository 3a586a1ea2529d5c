"""The ledger outlives compaction, expiry and rollback, and is never believed where it is wrong."""

import pytest
from pyspark.sql import SparkSession

from cdc.commit import commit_rows, read_ledger, set_ledger_property
from cdc.errors import CommitConflictError, LostLedgerError
from cdc.model import PartitionMark
from cdc.state.ledger import Ledger
from cdc.state.names import LEDGER_PROPERTY
from tests.spark.bare_table import COMPACT, EXPIRE, BareTable, named
from tests.spark.meddling import around_commit


@pytest.fixture
def bare(spark: SparkSession) -> BareTable:
    return BareTable(spark)


def step(bare: BareTable, number: int) -> tuple[Ledger, int]:
    """Commit a row; give the ledger and the snapshot."""
    change = bare.commit(bare.write(named(number)))
    assert bare.table.snapshot_id is not None
    return change.ledger, bare.table.snapshot_id


def compact(bare: BareTable) -> int:
    bare.call("rewrite_data_files", COMPACT)
    bare.table.refresh()
    assert bare.table.snapshot_id is not None
    return bare.table.snapshot_id


def expire(bare: BareTable, *snapshots: int) -> None:
    """Expire the given snapshots, or all but the current one."""
    chosen = f"snapshot_ids => array({', '.join(map(str, snapshots))})" if snapshots else EXPIRE
    bare.call("expire_snapshots", chosen)
    bare.table.refresh()


def roll_back(bare: BareTable, snapshot: int) -> None:
    bare.call("rollback_to_snapshot", f"snapshot_id => {snapshot}")
    bare.table.refresh()


def test_a_table_without_commits_has_no_ledger(bare: BareTable) -> None:
    assert read_ledger(bare.table) is None


def test_compaction_and_expiry_leave_the_ledger(bare: BareTable) -> None:
    step(bare, 1)
    ledger, _ = step(bare, 2)

    compact(bare)
    assert read_ledger(bare.table) == ledger
    expire(bare)
    compact(bare)
    expire(bare)

    assert [snapshot.ledger for snapshot in bare.table.history()] == [None]
    assert read_ledger(bare.table) == ledger


def test_rollback_takes_the_ledger_back(bare: BareTable) -> None:
    first, snapshot = step(bare, 1)
    step(bare, 2)

    roll_back(bare, snapshot)

    assert read_ledger(bare.table) == first


def test_rollback_to_a_compaction_finds_the_ledger_before_it(bare: BareTable) -> None:
    first, _ = step(bare, 1)
    snapshot = compact(bare)
    step(bare, 2)

    roll_back(bare, snapshot)

    assert read_ledger(bare.table) == first


def test_a_ledger_newer_than_the_table_is_not_believed(bare: BareTable) -> None:
    _, first = step(bare, 1)
    compacted = compact(bare)
    step(bare, 2)
    expire(bare, first)
    roll_back(bare, compacted)

    with pytest.raises(LostLedgerError) as caught:
        read_ledger(bare.table)

    assert caught.value.snapshot == compacted
    assert not caught.value.retryable


def test_nor_is_it_when_the_table_was_compacted_after_the_rollback(bare: BareTable) -> None:
    _, first = step(bare, 1)
    compacted = compact(bare)
    step(bare, 2)
    expire(bare, first)
    roll_back(bare, compacted)
    compact(bare)  # a snapshot that is newer than the ledger's

    with pytest.raises(LostLedgerError):
        read_ledger(bare.table)


def test_a_table_set_forward_again_has_its_ledger(bare: BareTable) -> None:
    _, first = step(bare, 1)
    compacted = compact(bare)
    second, snapshot = step(bare, 2)
    expire(bare, first)
    roll_back(bare, compacted)

    bare.call("set_current_snapshot", f"snapshot_id => {snapshot}")
    bare.table.refresh()

    assert read_ledger(bare.table) == second


def test_a_commit_behind_a_compaction_has_its_own_number(bare: BareTable) -> None:
    step(bare, 1)
    change = bare.change(bare.write(named(2)))
    around_commit(bare.table, before=lambda: bare.call("rewrite_data_files", COMPACT))

    commit_rows(bare.table, change)
    bare.table.refresh()

    assert bare.operations() == ["append", "replace", "append"]
    assert bare.table.properties[f"{LEDGER_PROPERTY}_sequence"] == "3"


def test_the_ledger_of_a_merge_outlives_its_snapshot(bare: BareTable) -> None:
    step(bare, 1)
    session = bare.spark.newSession()
    ledger = Ledger("m", "t", 9, {0: PartitionMark(9)})
    session.conf.set(f"spark.sql.iceberg.snapshot-property.{LEDGER_PROPERTY}", ledger.to_json())
    session.sql(f"UPDATE {bare.sql_name} SET name = 'merged' WHERE id = 1")

    set_ledger_property(bare.table, ledger)
    compact(bare)
    expire(bare)

    assert read_ledger(bare.table) == ledger


def test_a_property_is_set_for_no_other_ledger(bare: BareTable) -> None:
    first, _ = step(bare, 1)

    with pytest.raises(CommitConflictError):
        set_ledger_property(bare.table, Ledger("m", "t", 9, {}))

    assert read_ledger(bare.table) == first


def test_a_property_of_an_older_mirror_is_believed(bare: BareTable) -> None:
    first, _ = step(bare, 1)
    bare.spark.sql(f"ALTER TABLE {bare.sql_name} UNSET TBLPROPERTIES ('_mirror_ledger_sequence')")
    compact(bare)
    expire(bare)

    assert read_ledger(bare.table) == first
