"""Statements on real tables: rows replaced, looked up, marked and closed by their keys."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from cdc.model import CURRENT, DELETED, FileKind, WrittenFile
from cdc.sql import (
    NEWEST_IN_LOG,
    NEWEST_VERSION,
    WITH_VALUES,
    close_all,
    mark_all_deleted,
    merge_changes,
    rows_of_keys,
)
from cdc.state.ledger import Ledger

LEDGER = Ledger("shop", "topic", 0, {})
MOMENT = pa.timestamp("us", "UTC")
HISTORY = "_mirror_valid_from timestamp, _mirror_valid_to timestamp, _mirror_current boolean"
PROPERTIES = (
    "'format-version' = '2', 'write.merge.mode' = 'merge-on-read', "
    "'write.update.mode' = 'merge-on-read'"
)


def moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


class Target:
    """A table of two key columns, a value, and what a mode adds."""

    def __init__(self, spark: SparkSession, more: str) -> None:
        self.spark = spark
        self.name = f"`shop`.`apply`.`t{uuid.uuid4().hex[:8]} {{x}}`"
        columns = f"a bigint, `b {{y}}` string, v string, {more}".removesuffix(", ")
        spark.sql("CREATE NAMESPACE IF NOT EXISTS shop.apply")
        spark.sql(
            f"CREATE TABLE {self.name} ({columns}) USING iceberg TBLPROPERTIES ({PROPERTIES})"
        )

    key = ("a", "b {y}")

    def insert(self, *rows: Sequence[Any]) -> None:
        schema = self.spark.sql(f"SELECT * FROM {self.name}").schema
        self.spark.createDataFrame(list(rows), schema).coalesce(1).writeTo(self.name).append()

    def rows(self) -> list[tuple[Any, ...]]:
        table: pa.Table = self.spark.sql(f"SELECT * FROM {self.name}").toArrow()
        return sorted((tuple(row.values()) for row in table.to_pylist()), key=str)

    def keys(self, *rows: tuple[int | None, str | None]) -> pa.Table:
        columns = list(zip(*rows, strict=True))
        arrays = [pa.array(columns[0], pa.int64()), pa.array(columns[1], pa.string())]
        return pa.Table.from_arrays(arrays, self.key)


def written(folder: Path, kind: FileKind, table: pa.Table) -> WrittenFile:
    path = folder / f"{uuid.uuid4()}.parquet"
    pq.write_table(table, path)
    return WrittenFile(kind, str(path), path.stat().st_size, len(table))


def test_merge_replaces_rows_by_keys_with_nulls(spark: SparkSession, tmp_path: Path) -> None:
    target = Target(spark, "")
    target.insert((1, "x", "old"), (None, "x", "old"), (1, None, "old"), (None, None, "old"))
    target.insert((2, "x", "kept"), (9, None, "beyond"))
    gone = target.keys((1, "x"), (None, "x"), (None, None), (3, "new"))
    new = target.keys((1, "x"), (None, None), (3, "new"))
    files = [
        written(tmp_path, FileKind.DELETED_KEYS, gone),
        written(tmp_path, FileKind.DATA, new.append_column("v", pa.array(["new"] * 3))),
    ]

    merge_changes(spark, target.name, files, target.key, {"a": (1, 3)}, LEDGER)

    assert target.rows() == sorted(
        [
            (1, "x", "new"),
            (None, None, "new"),
            (3, "new", "new"),
            (1, None, "old"),
            (2, "x", "kept"),
            (9, None, "beyond"),
        ],
        key=str,
    )


def test_merge_of_a_history_takes_the_current_version_and_adds_several(
    spark: SparkSession, tmp_path: Path
) -> None:
    target = Target(spark, HISTORY)
    target.insert(
        (1, "x", "first", moment(1), moment(2), False), (1, "x", "second", moment(2), None, True)
    )
    key = target.keys((1, "x"))
    new = pa.concat_tables([target.keys((1, "x"))] * 2).append_column(
        "v", pa.array(["second", "3"])
    )
    new = (
        new.append_column("_mirror_valid_from", pa.array([2, 5], MOMENT))
        .append_column("_mirror_valid_to", pa.array([5, None], MOMENT))
        .append_column(CURRENT, pa.array([False, True]))
    )
    files = [
        written(tmp_path, FileKind.DELETED_KEYS, key),
        written(tmp_path, FileKind.DATA, new),
    ]

    merge_changes(spark, target.name, files, target.key, {"a": (1, 1)}, LEDGER, current_only=True)

    assert target.rows() == sorted(
        [
            (1, "x", "first", moment(1), moment(2), False),
            (1, "x", "second", moment(2), moment(5), False),
            (1, "x", "3", moment(5), None, True),
        ],
        key=str,
    )


def test_rows_are_found_by_keys_with_nulls(spark: SparkSession) -> None:
    target = Target(spark, "")
    target.insert((1, "x", "a"), (None, "x", "b"), (None, None, "c"), (1, None, "d"), (7, "x", "e"))

    found = rows_of_keys(
        spark,
        target.name,
        target.keys((1, "x"), (None, None), (None, "none"), (7, "x")),
        ["v"],
        {"a": (1, 7)},
    )

    assert found.column_names == [*target.key, "v"]
    assert sorted(found["v"].to_pylist()) == ["a", "c", "e"]


def test_of_a_log_the_newest_row_with_values_is_found(spark: SparkSession) -> None:
    target = Target(spark, "_mirror_op string, _mirror_offset bigint")
    target.insert(
        (1, "x", "old", "c", 1),
        (1, "x", "new", "u", 5),
        (1, "x", None, "d", 6),
        (None, "x", "older", "c", 2),
        (None, "x", "newer", "u", 3),
    )

    found = rows_of_keys(
        spark,
        target.name,
        target.keys((1, "x"), (1, "x"), (None, "x")),
        ["v"],
        {},
        newest_by=NEWEST_IN_LOG,
        only=WITH_VALUES,
    )

    rows = {(row["a"], row["v"]) for row in found.to_pylist()}
    assert len(found) == 2
    assert rows == {(1, "new"), (None, "newer")}


def test_of_a_history_the_last_version_is_found_closed_or_not(spark: SparkSession) -> None:
    target = Target(spark, HISTORY)
    target.insert(
        (1, "x", "empty", moment(5), moment(5), False),
        (1, "x", "current", moment(5), None, True),
        (1, "x", "old", moment(1), moment(5), False),
        (2, "x", "empty", moment(7), moment(7), False),
        (2, "x", "closed", moment(7), moment(9), False),
    )

    found = rows_of_keys(
        spark,
        target.name,
        target.keys((1, "x"), (2, "x"), (3, "x")),
        ["v", "_mirror_valid_from", "_mirror_valid_to", CURRENT],
        {},
        newest_by=NEWEST_VERSION,
    )

    rows = sorted(tuple(row.values()) for row in found.to_pylist())
    assert rows == [
        (1, "x", "current", moment(5), None, True),
        (2, "x", "closed", moment(7), moment(9), False),
    ]


def test_a_truncate_marks_all_rows_and_a_second_time_none(spark: SparkSession) -> None:
    target = Target(spark, f"{DELETED} boolean")
    target.insert((1, "x", "a", False), (2, "x", "b", True), (3, "x", "c", None))

    for _ in range(2):
        mark_all_deleted(spark, target.name)

        assert target.rows() == [(1, "x", "a", True), (2, "x", "b", True), (3, "x", "c", True)]


@pytest.mark.parametrize("kept", [False, True])
def test_a_truncate_ends_all_versions_but_those_that_the_batch_ends(
    spark: SparkSession, kept: bool
) -> None:
    target = Target(spark, HISTORY)
    target.insert(
        (1, "x", "a", moment(1), moment(2), False),
        (1, "x", "b", moment(2), None, True),
        (2, None, "later", moment(9), None, True),
        (None, None, "c", moment(3), None, True),
    )
    keys = target.keys((None, None), (5, "x")) if kept else None

    for _ in range(2):
        close_all(spark, target.name, 7, target.key, keys)

        assert target.rows() == sorted(
            [
                (1, "x", "a", moment(1), moment(2), False),
                (1, "x", "b", moment(2), moment(7), False),
                (2, None, "later", moment(9), moment(9), False),
                (None, None, "c", moment(3), None if kept else moment(7), kept),
            ],
            key=str,
        )
