"""Tables of format 3: position deletes become deletion vectors."""

from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyspark.sql import SparkSession

from cdc.commit import commit_rows, set_partition
from cdc.errors import CommitConflictError
from cdc.model import PartitionField, WrittenFile
from tests.spark.bare_table import COMPACT, SCHEMA, BareTable, local, named
from tests.spark.meddling import around_commit, lost_answer


@pytest.fixture
def bare(spark: SparkSession) -> BareTable:
    return BareTable(spark, format_version=3)


def vectors(bare: BareTable) -> list[tuple[str, str, int]]:
    """List format, data file and rows of all deletes, and see that they share a file."""
    found = bare.spark.table(f"{bare.sql_name}.delete_files").collect()
    return sorted((d.file_format, d.referenced_data_file, d.record_count) for d in found)


def puffins(bare: BareTable) -> list[Path]:
    return list(local(bare.table.data_location).rglob("*.puffin"))


def test_rows_at_deleted_positions_are_gone(bare: BareTable) -> None:
    first, second = bare.write(named(1, 2, 3)), bare.write(named(4, 5))
    bare.commit(first, second)
    positions = bare.positions((first, 1), (second, 0), (second, 1))

    bare.commit(bare.write(named(2, name="newer")), positions)

    assert bare.rows() == [(1, "new"), (2, "newer"), (3, "new")]
    expected = [("PUFFIN", first.path, 1), ("PUFFIN", second.path, 2)]
    assert vectors(bare) == sorted(expected)
    assert len(puffins(bare)) == 1
    assert not local(positions.path).exists()


def test_a_new_vector_has_the_rows_of_the_old_one(bare: BareTable) -> None:
    first, other = bare.write(named(*range(1000))), bare.write(named(5000, 5001))
    bare.commit(first, other)
    bare.commit(bare.positions(*((first, n) for n in range(0, 900, 2)), (other, 0)))

    bare.commit(bare.positions((first, 0), (first, 1), (first, 999)))

    gone = {*range(0, 900, 2), 1, 999}
    assert bare.rows("id") == [(n,) for n in range(1000) if n not in gone] + [(5001,)]
    expected = [("PUFFIN", first.path, 452), ("PUFFIN", other.path, 1)]
    assert vectors(bare) == sorted(expected)


def test_a_vector_that_spark_wrote_is_joined_too(bare: BareTable) -> None:
    first = bare.write(named(*range(10)))
    bare.commit(first)
    bare.spark.sql(f"DELETE FROM {bare.sql_name} WHERE id IN (3, 4)")
    bare.table.refresh()

    bare.commit(bare.positions((first, 5)))

    assert bare.rows("id") == [(n,) for n in (0, 1, 2, 6, 7, 8, 9)]
    assert vectors(bare) == [("PUFFIN", first.path, 3)]


def test_spark_deletes_from_what_the_mirror_has_written(bare: BareTable) -> None:
    first = bare.write(named(*range(10)))
    bare.commit(first)
    bare.commit(bare.positions((first, 5)))

    bare.spark.sql(f"DELETE FROM {bare.sql_name} WHERE id IN (3, 4)")
    bare.call("rewrite_data_files", COMPACT)

    assert bare.rows("id") == [(n,) for n in (0, 1, 2, 6, 7, 8, 9)]


def test_position_deletes_from_before_format_3_are_joined(spark: SparkSession) -> None:
    bare = BareTable(spark)
    first, other = bare.write(named(*range(10))), bare.write(named(20, 21))
    bare.commit(first, other)
    bare.commit(bare.positions((first, 1), (other, 0)))
    bare.commit(bare.positions((first, 2)))
    spark.sql(f"ALTER TABLE {bare.sql_name} SET TBLPROPERTIES ('format-version' = '3')")
    bare.table.refresh()

    bare.commit(bare.positions((first, 3)))

    assert bare.rows("id") == [(n,) for n in (0, 4, 5, 6, 7, 8, 9, 21)]


def test_vectors_are_in_the_partition_of_their_file(spark: SparkSession) -> None:
    bare = BareTable(spark, schema=Schema(*SCHEMA.fields), format_version=3)
    old = bare.write(named(9))
    bare.commit(old)
    set_partition(bare.table, [PartitionField("identity", "name")])
    files: list[WrittenFile] = [
        bare.write(named(1, 2, name=name), spec_id=1, partition=(name,)) for name in ("a", "b")
    ]
    bare.commit(*files)

    for position in (0, 1):
        bare.commit(bare.positions((files[0], position)), bare.positions((old, 0)))

    assert bare.rows() == [(1, "b"), (2, "b")]
    assert len(vectors(bare)) == 2


def test_equality_deletes_stay_as_they_are(bare: BareTable) -> None:
    first = bare.write(named(1, 2, 3))
    bare.commit(first)

    bare.commit(bare.write(named(1, name="newer")), bare.keys(1), bare.positions((first, 1)))

    assert bare.rows() == [(1, "newer"), (3, "new")]
    formats = bare.spark.table(f"{bare.sql_name}.delete_files").collect()
    assert sorted(f.file_format for f in formats) == ["PARQUET", "PUFFIN"]


@pytest.mark.parametrize("early", [True, False])
def test_two_vectors_for_one_file_are_a_conflict(bare: BareTable, early: bool) -> None:
    first = bare.write(named(1, 2, 3))
    bare.commit(first)
    positions = bare.positions((first, 0))
    change = bare.change(positions)

    def delete() -> None:
        bare.spark.sql(f"DELETE FROM {bare.sql_name} WHERE id = 2")

    if early:
        delete()
    else:
        around_commit(bare.table, before=delete)
    with pytest.raises(CommitConflictError):
        commit_rows(bare.table, change)

    assert bare.rows("id") == [(1,), (3,)]
    assert local(positions.path).exists()
    assert len(puffins(bare)) == 1  # Spark's


def test_compaction_of_a_file_that_a_vector_hits_is_a_conflict(bare: BareTable) -> None:
    first = bare.write(named(1, 2, 3))
    bare.commit(first)
    change = bare.change(bare.positions((first, 0)))
    bare.call("rewrite_data_files", COMPACT)

    with pytest.raises(CommitConflictError):
        commit_rows(bare.table, change)

    assert bare.rows("id") == [(1,), (2,), (3,)]


def test_vectors_whose_answer_was_lost_are_recognised(bare: BareTable) -> None:
    first = bare.write(named(1, 2, 3))
    bare.commit(first)
    change = bare.change(bare.positions((first, 0)))
    around_commit(bare.table, after=lambda: lost_answer(bare.table))

    commit_rows(bare.table, change)
    commit_rows(bare.table, change)

    assert bare.rows("id") == [(2,), (3,)]
    assert len(puffins(bare)) == 1


def test_a_truncate_removes_vectors(bare: BareTable) -> None:
    first = bare.write(named(1, 2, 3))
    bare.commit(first)
    bare.commit(bare.positions((first, 0)))

    bare.commit(bare.write(named(7)), bare.positions((first, 1)), truncate=True)

    assert bare.rows("id") == [(7,)]
    assert vectors(bare) == []
