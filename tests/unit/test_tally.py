"""Every record has exactly one outcome, whatever it makes and however often it is read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cdc.config import ApplyMode, OnDelete, ResolvedRule
from cdc.model import Account, PartitionMark, Unplanned
from cdc.runtime.task.tally import Tally
from tests.unit.messages import delete, insert, tombstone, truncate, update
from tests.unit.write_tasks import EQUALITY, Tables, orders, rows_in, run, unplanned, written


def counted(
    read: range, applied: list[int], bad: list[int], mark: PartitionMark | None = None
) -> Account:
    tally = Tally(mark)
    for start in range(read.start, read.stop, 4):
        tally.take(pa.array(range(start, min(start + 4, read.stop)), pa.int64()))
    return tally.account(np.array(applied, np.int64), np.array(bad, np.int64))


def test_a_record_that_makes_two_changes_is_one_record() -> None:
    assert counted(range(3), [1, 1, 2], []) == Account(read=3, applied=2, superseded=1)


def test_what_is_read_again_is_a_duplicate_whatever_it_does() -> None:
    found = counted(range(10), [0, 3, 7, 9], [2, 8], PartitionMark(6, 60))

    assert found == Account(read=10, applied=2, superseded=1, duplicates=6, quarantined=1)


def test_a_bad_record_is_in_quarantine_and_nowhere_else() -> None:
    assert counted(range(3), [0, 1], [1, 1]) == Account(
        read=3, applied=1, superseded=1, quarantined=1
    )


def test_deletes_that_stand_for_a_truncate_are_no_records() -> None:
    assert counted(range(2), [-1, 0], []) == Account(read=2, applied=1, superseded=1)


@pytest.mark.parametrize("mark", [None, PartitionMark(-2), PartitionMark(5)])
def test_what_the_ledger_does_not_have_is_no_duplicate(mark: PartitionMark | None) -> None:
    assert counted(range(5, 9), [8], [], mark) == Account(read=4, applied=1, superseded=3)


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


def test_each_partition_of_a_table_whose_keys_move_has_an_account_of_its_own(
    tables: Tables,
) -> None:
    messages = [
        insert({"id": 1, "name": "old"}, offset=4, lsn=40),
        update({"id": 1, "name": "newer"}, offset=5, lsn=60),
        tombstone({"id": 9}, offset=6),
        update({"id": 1, "name": "newest"}, partition=1, offset=0, lsn=70),
        update({"id": 1, "name": "between"}, partition=1, offset=1, lsn=50),
        delete({"id": 2}, partition=1, offset=2, lsn=80),
    ]

    reports = run(messages, tables.plan(keys_moving=True, rule=EQUALITY))

    first, second = (written(report) for report in reports)
    assert rows_in(first) == [(1, "newest")]
    assert second.files == ()
    assert first.account == Account(read=3, superseded=3)
    assert second.account == Account(read=3, applied=2, superseded=1)


def test_a_partition_waits_for_another_of_its_table(tables: Tables) -> None:
    messages = [*orders(1), truncate(partition=1, offset=0, lsn=50)]

    own, other = run(messages, tables.plan(keys_moving=True))

    assert own.outcome == Unplanned()
    assert unplanned(other).truncates


@pytest.mark.parametrize("rule", [EQUALITY, replace(EQUALITY, on_delete=OnDelete.SOFT)], ids=str)
@pytest.mark.parametrize("mode", [ApplyMode.MIRROR, ApplyMode.HISTORY])
def test_a_truncate_counts_for_one_where_keys_move(
    tables: Tables, rule: ResolvedRule, mode: ApplyMode
) -> None:
    rule = replace(rule, mode=mode)
    cut = truncate(offset=1, lsn=50)
    messages = [
        insert({"id": 1, "name": "a"}, offset=0, lsn=40),
        cut,
        insert({"id": 2, "name": "b"}, partition=1, offset=0, lsn=45),
        insert({"id": 3, "name": "c"}, partition=1, offset=1, lsn=55),
    ]
    (unplanned_cut,) = unplanned(run([cut], tables.plan())[0]).truncates
    accounts = [
        written(report).account
        for report in run(
            messages, tables.plan(keys_moving=True, rule=rule, cutoffs=(unplanned_cut,), empty=True)
        )
    ]

    wiped = rule.wipes
    assert accounts == [
        Account(read=2, applied=1 if wiped else 2, superseded=1 if wiped else 0),
        Account(read=2, applied=1 if wiped else 2, superseded=1 if wiped else 0),
    ]
