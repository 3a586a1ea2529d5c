"""Position deletes: what they hit, and what other writers may do beside them."""

import pytest
from pyspark.sql import SparkSession

from cdc.commit import commit_rows, read_ledger
from cdc.errors import CommitConflictError
from tests.spark.bare_table import COMPACT, BareTable, named


@pytest.fixture
def bare(spark: SparkSession) -> BareTable:
    return BareTable(spark)


def test_rows_at_deleted_positions_are_gone_and_their_new_versions_are_there(
    bare: BareTable,
) -> None:
    first, second = bare.write(named(1, 2, 3)), bare.write(named(4, 5))
    bare.commit(first, second)

    bare.commit(bare.write(named(2, name="newer")), bare.positions((first, 1), (second, 0)))

    assert bare.rows() == [(1, "new"), (2, "newer"), (3, "new"), (5, "new")]


def test_position_deletes_of_one_data_file_name_it(bare: BareTable) -> None:
    first = bare.write(named(1, 2, 3))
    bare.commit(first)

    bare.commit(bare.positions((first, 1)))

    deletes = bare.spark.table(f"{bare.sql_name}.delete_files").collect()
    assert [(d.content, d.record_count, d.referenced_data_file) for d in deletes] == [
        (1, 1, first.path)
    ]


def test_compaction_of_a_file_that_position_deletes_hit_is_a_conflict(bare: BareTable) -> None:
    first = bare.write(named(1, 2, 3))
    before = bare.commit(first)
    planned = bare.change(bare.write(named(2, name="newer")), bare.positions((first, 1)))
    bare.call("rewrite_data_files", COMPACT)

    with pytest.raises(CommitConflictError):
        commit_rows(bare.table, planned)

    bare.table.refresh()
    assert read_ledger(bare.table) == before.ledger
    assert bare.rows() == [(1, "new"), (2, "new"), (3, "new")]


def test_rows_that_somebody_deleted_with_their_file_are_a_conflict(bare: BareTable) -> None:
    first, second = bare.write(named(1, 2, 3)), bare.write(named(4))
    bare.commit(first, second)
    planned = bare.change(bare.positions((first, 1)))
    bare.spark.sql(f"DELETE FROM {bare.sql_name} WHERE id < 4")

    with pytest.raises(CommitConflictError):
        commit_rows(bare.table, planned)


def test_rows_that_somebody_added_beside_position_deletes_are_a_conflict(bare: BareTable) -> None:
    first = bare.write(named(1, 2, 3))
    bare.commit(first)
    planned = bare.change(bare.write(named(2, name="newer")), bare.positions((first, 1)))
    bare.spark.sql(f"INSERT INTO {bare.sql_name} VALUES (9, 'foreign')")

    with pytest.raises(CommitConflictError):
        commit_rows(bare.table, planned)

    assert bare.rows() == [(1, "new"), (2, "new"), (3, "new"), (9, "foreign")]


def test_compaction_of_other_files_lets_position_deletes_pass(bare: BareTable) -> None:
    bare.commit(bare.write(named(1)))
    bare.commit(bare.write(named(2)))
    large = bare.write(named(*range(100, 300)))
    bare.commit(large)
    planned = bare.change(bare.write(named(100, name="newer")), bare.positions((large, 0)))
    # Only the two small files are below this size.
    bare.call(
        "rewrite_data_files",
        f"options => map('min-file-size-bytes', '{large.size}', 'min-input-files', '2', "
        f"'target-file-size-bytes', '{large.size + 1}', 'max-file-size-bytes', '100000000')",
    )

    commit_rows(bare.table, planned)

    rows = bare.rows()
    assert bare.operations()[-2:] == ["replace", "overwrite"]
    assert len(rows) == 202
    assert (100, "newer") in rows
    assert (100, "new") not in rows
