"""Answers that are lost, and other writers who come in between."""

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from cdc.commit import append_files, commit_rows, read_ledger
from cdc.errors import CatalogError, CommitConflictError
from tests.spark.bare_table import COMPACT, BareTable, local, named
from tests.spark.meddling import around_commit, lost_answer


@pytest.fixture
def bare(spark: SparkSession) -> BareTable:
    """A table with three rows."""
    bare = BareTable(spark)
    bare.commit(bare.write(named(1, 2, 3)))
    return bare


def compact(bare: BareTable) -> Callable[[], None]:
    """Compact once, as another process would."""
    done: list[bool] = []

    def once() -> None:
        if not done:
            done.append(True)
            bare.call("rewrite_data_files", COMPACT)

    return once


@pytest.mark.parametrize("kind", ["CommitStateUnknownException", "ServiceFailureException"])
def test_a_commit_whose_answer_was_lost_is_recognised(bare: BareTable, kind: str) -> None:
    change = bare.change(bare.write(named(4)))
    around_commit(bare.table, after=lambda: lost_answer(bare.table, kind))

    commit_rows(bare.table, change)

    assert read_ledger(bare.table) == change.ledger
    assert bare.operations() == ["append", "append"]
    assert bare.rows("id") == [(1,), (2,), (3,), (4,)]


def test_a_lost_answer_is_recognised_behind_a_compaction(bare: BareTable) -> None:
    change = bare.change(bare.write(named(4)))

    def compacted_and_lost() -> None:
        bare.call("rewrite_data_files", COMPACT)
        lost_answer(bare.table)

    around_commit(bare.table, after=compacted_and_lost)
    commit_rows(bare.table, change)

    assert bare.operations() == ["append", "append", "replace"]
    assert bare.rows("id") == [(1,), (2,), (3,), (4,)]


def test_a_commit_that_did_not_arrive_is_not_taken_for_made(bare: BareTable) -> None:
    before = read_ledger(bare.table)
    around_commit(bare.table, before=lambda: lost_answer(bare.table))

    # No conflict: as long as nobody knows, the files must stay.
    with pytest.raises(CatalogError):
        commit_rows(bare.table, bare.change(bare.write(named(4))))

    assert read_ledger(bare.table) == before
    assert bare.rows("id") == [(1,), (2,), (3,)]


@pytest.mark.parametrize("with_rows", [True, False])
def test_a_commit_made_twice_is_made_once(bare: BareTable, with_rows: bool) -> None:
    change = bare.change(*([bare.write(named(4))] if with_rows else []))

    commit_rows(bare.table, change)
    commit_rows(bare.table, change)

    assert len(bare.operations()) == 2
    assert len(bare.rows()) == (4 if with_rows else 3)


def test_appended_files_whose_answer_was_lost_are_there_once(bare: BareTable) -> None:
    around_commit(bare.table, after=lambda: lost_answer(bare.table))

    append_files(bare.table, [bare.write(named(4))], "note", "made")

    assert bare.rows("id") == [(1,), (2,), (3,), (4,)]
    assert bare.table.properties["note"] == "made"


def test_a_compaction_in_the_midst_of_a_commit_is_gone_around(bare: BareTable) -> None:
    change = bare.change(bare.write(named(2, name="newer")), bare.keys(2))
    around_commit(bare.table, before=compact(bare))

    commit_rows(bare.table, change)

    assert bare.operations() == ["append", "replace", "overwrite"]
    assert bare.rows() == [(1, "new"), (2, "newer"), (3, "new")]


def test_a_compaction_in_the_midst_of_position_deletes_is_a_conflict(bare: BareTable) -> None:
    first = bare.write(named(4, 5))
    bare.commit(first)
    change = bare.change(bare.write(named(4, name="newer")), bare.positions((first, 0)))
    around_commit(bare.table, before=compact(bare))

    with pytest.raises(CommitConflictError):
        commit_rows(bare.table, change)

    assert bare.operations() == ["append", "append", "replace"]


@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize("early", [False, True])
def test_rows_that_another_writer_added_are_a_conflict_and_stay(
    bare: BareTable, truncate: bool, early: bool
) -> None:
    change = bare.change(bare.write(named(4)), truncate=truncate)

    def insert() -> None:
        bare.spark.sql(f"INSERT INTO {bare.sql_name} VALUES (9, 'foreign')")

    if early:
        insert()
    else:
        around_commit(bare.table, before=insert)
    with pytest.raises(CommitConflictError):
        commit_rows(bare.table, change)

    assert bare.rows("id") == [(1,), (2,), (3,), (9,)]


def test_a_first_commit_beside_another_writers_is_a_conflict(spark: SparkSession) -> None:
    bare = BareTable(spark)
    change = bare.change(bare.write(named(4)))
    assert change.since is None
    spark.sql(f"INSERT INTO {bare.sql_name} VALUES (9, 'foreign')")

    with pytest.raises(CommitConflictError):
        commit_rows(bare.table, change)


def test_a_compaction_in_the_midst_of_a_truncate_is_gone_around(bare: BareTable) -> None:
    bare.commit(bare.write(named(7)))
    change = bare.change(bare.write(named(4)), truncate=True)
    around_commit(bare.table, before=compact(bare))

    commit_rows(bare.table, change)

    assert bare.operations() == ["append", "append", "replace", "delete", "append"]
    assert bare.rows("id") == [(4,)]


def test_a_truncate_needs_no_deletes_and_leaves_no_file_of_them(bare: BareTable) -> None:
    old = bare.write(named(5))
    bare.commit(old)
    keys, positions = bare.keys(4), bare.positions((old, 0))

    bare.commit(bare.write(named(4)), keys, positions, truncate=True)

    assert bare.rows("id") == [(4,)]
    assert not local(keys.path).exists()
    assert not local(positions.path).exists()
    assert bare.spark.table(f"{bare.sql_name}.delete_files").count() == 0
