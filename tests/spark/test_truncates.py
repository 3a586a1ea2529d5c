"""A truncate between partitions that are not read in step."""

from typing import Any

import pytest

from cdc.errors import CommitConflictError
from cdc.model import Account
from cdc.runtime.tables.table_commit import TableCommit
from tests.spark.bench import Bench
from tests.spark.conftest import IN_EACH_WAY
from tests.unit.messages import Message, Table, insert, snapshot_row, truncate, update

pytestmark = IN_EACH_WAY


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
    assert bench.ledgers(f"{table.server}.orders")[-1].pending_cutoff is not None

    bench.table(table.topic).reopen()  # all that a new process would know
    bench.apply(insert({"id": 4}, table=table, partition=1, offset=1, lsn=40))
    bench.apply(insert({"id": 5}, table=table, partition=1, offset=2, lsn=51))

    assert [row[0] for row in rows(bench, table)] == [5]
    assert bench.ledgers(f"{table.server}.orders")[-1].pending_cutoff is None


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


def read_anew(number: int, name: str, table: Table, lsn: int, **where: int) -> Message:
    """A row of a snapshot with which the connector began anew."""
    source = {"snapshot": "true", "sequence": f'[null,"{lsn}"]', "ts_ms": lsn}
    return snapshot_row({"id": number, "name": name}, table=table, lsn=lsn, source=source, **where)


def test_what_a_new_snapshot_lacks_is_gone(bench: Bench, table: Table) -> None:
    def streamed(number: int, name: str, lsn: int, **where: int) -> Message:
        row = {"id": number, "name": name}
        return insert(row, table=table, lsn=lsn, source={"ts_ms": lsn}, **where)

    first = [
        read_anew(1, "a", table, 10, offset=0),
        read_anew(2, "b", table, 10, offset=1),
        read_anew(3, "c", table, 10, partition=1, offset=0),
        streamed(4, "d", 20, partition=1, offset=1),
    ]
    bench.apply(*first)
    ahead = streamed(5, "after", 60, partition=1, offset=2)
    bench.apply(ahead)
    bench.topic = [*first, ahead]

    # 2, 3 and 4 were deleted while no connector was there; partition 1 was read ahead.
    again = bench.apply(read_anew(1, "a2", table, 50, offset=2))
    bench.apply(read_anew(6, "f", table, 50, offset=3))

    assert rows(bench, table) == [(1, "a2"), (5, "after"), (6, "f")]
    assert again.account.read - again.account.duplicates == 1


def test_of_two_snapshots_in_the_first_batch_the_second_counts(bench: Bench, table: Table) -> None:
    bench.apply(
        read_anew(1, "a", table, 10, offset=0),
        read_anew(2, "b", table, 10, offset=1),
        read_anew(3, "late", table, 10, partition=1, offset=0),
        read_anew(1, "a", table, 50, offset=2),
    )

    assert rows(bench, table) == [(1, "a")]


def test_a_snapshot_that_somebody_asked_for_replaces_only_what_it_has(
    bench: Bench, table: Table
) -> None:
    bench.apply(
        read_anew(1, "a", table, 10, offset=0),
        read_anew(2, "b", table, 10, offset=1),
    )
    asked = {"snapshot": "true", "sequence": '["50","50"]', "ts_ms": 50}

    bench.apply(snapshot_row({"id": 1, "name": "x"}, table=table, lsn=50, source=asked, offset=2))

    assert rows(bench, table) == [(1, "x"), (2, "b")]
