"""Partitions of every kind: the files' values, the table's spec, deletes across both."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)
from pyspark.sql import SparkSession

from cdc.commit import RowChange, commit_rows, set_partition
from cdc.errors import CommitConflictError, PartitionError
from cdc.model import PartitionField
from tests.spark.bare_table import EXPIRE, BareTable

ID = NestedField(1, "id", LongType(), required=True)
DAY = PartitionField("day", "at")
AT = datetime(2024, 2, 29, 23, 59, 59, 123456, UTC)
MICROS = 1709251199123456


def table_of(spark: SparkSession, kind: IcebergType, format_version: int = 2) -> BareTable:
    schema = Schema(ID, NestedField(2, "at", kind, required=False))
    return BareTable(spark, schema=schema, format_version=format_version)


@pytest.fixture
def daily(spark: SparkSession) -> BareTable:
    """A table by day, with a row of each of two days, and of none."""
    bare = table_of(spark, TimestamptzType())
    set_partition(bare.table, [DAY])
    bare.commit(
        day_file(bare, [1, 2], 19782), day_file(bare, [3], 19783), day_file(bare, [4], None)
    )
    return bare


def day_file(bare: BareTable, ids: list[int], day: int | None) -> Any:
    at = None if day is None else datetime.fromtimestamp(day * 86400 + 5, UTC)
    rows = [{"id": number, "at": at} for number in ids]
    return bare.write(rows, spec_id=bare.table.partition_spec[0], partition=(day,))


CASES: list[tuple[IcebergType, PartitionField, Any, Any, str]] = [
    (IntegerType(), PartitionField("identity", "at"), 7, 7, "at = 7"),
    (LongType(), PartitionField("identity", "at"), 7, 7, "at = 7"),
    (LongType(), PartitionField("identity", "at"), -(2**60), -(2**60), f"at = {-(2**60)}"),
    (BooleanType(), PartitionField("identity", "at"), True, True, "at"),
    (DoubleType(), PartitionField("identity", "at"), 1.5, 1.5, "at = 1.5"),
    (StringType(), PartitionField("identity", "at"), "ü/=x", "ü/=x", "at = 'ü/=x'"),
    (BinaryType(), PartitionField("identity", "at"), b"\0\xff", b"\0\xff", "at = X'00ff'"),
    (
        DecimalType(20, 2),
        PartitionField("identity", "at"),
        Decimal("-123.40"),
        Decimal("-123.40"),
        "at = -123.40",
    ),
    (DateType(), PartitionField("identity", "at"), date(2024, 2, 29), 19782, "at = '2024-02-29'"),
    (
        TimestampType(),
        PartitionField("identity", "at"),
        AT.replace(tzinfo=None),
        MICROS,
        "at = TIMESTAMP_NTZ '2024-02-29 23:59:59.123456'",
    ),
    (
        TimestamptzType(),
        PartitionField("identity", "at"),
        AT,
        MICROS,
        "at = TIMESTAMP '2024-02-29 23:59:59.123456Z'",
    ),
    (DateType(), PartitionField("year", "at"), date(2024, 2, 29), 54, "at = '2024-02-29'"),
    (DateType(), PartitionField("month", "at"), date(2024, 2, 29), 649, "at = '2024-02-29'"),
    (TimestamptzType(), PartitionField("year", "at"), AT, 54, "year(at) = 2024"),
    (TimestamptzType(), PartitionField("month", "at"), AT, 649, "month(at) = 2"),
    (TimestamptzType(), PartitionField("day", "at"), AT, 19782, "day(at) = 29"),
    (
        TimestamptzType(),
        PartitionField("hour", "at"),
        AT,
        474791,
        "at >= TIMESTAMP '2024-02-29 23:00:00Z'",
    ),
    # The example of Iceberg's specification: 34 hashes to 2017239379.
    (LongType(), PartitionField("bucket", "at", 16), 34, 2017239379 % 16, "at = 34"),
    (StringType(), PartitionField("truncate", "at", 2), "iceberg", "ic", "at = 'iceberg'"),
    (LongType(), PartitionField("truncate", "at", 10), 37, 30, "at = 37"),
    (
        DecimalType(9, 2),
        PartitionField("truncate", "at", 50),
        Decimal("10.65"),
        Decimal("10.50"),
        "at = 10.65",
    ),
    (StringType(), PartitionField("identity", "at"), None, None, "at IS NULL"),
    (TimestamptzType(), PartitionField("day", "at"), None, None, "at IS NULL"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[1]} {case[0]} {case[2]}")
def test_a_row_is_found_by_a_filter_on_its_partition(
    spark: SparkSession, case: tuple[IcebergType, PartitionField, Any, Any, str]
) -> None:
    kind, field, value, partition, condition = case
    bare = table_of(spark, kind)
    set_partition(bare.table, [field])

    bare.commit(bare.write([{"id": 1, "at": value}], spec_id=1, partition=(partition,)))

    found = spark.table(bare.sql_name).where(condition)
    assert [row.id for row in found.collect()] == [1]
    assert bare.table.partition_spec == (1, (field,))


def test_a_time_of_day_is_a_partition(spark: SparkSession) -> None:
    bare = table_of(spark, TimeType())  # Spark cannot read this type
    set_partition(bare.table, [PartitionField("identity", "at")])

    bare.commit(bare.write([{"id": 1, "at": time(0, 0, 1)}], spec_id=1, partition=(1_000_000,)))

    task = bare.table.java.newScan().planFiles().iterator().next()
    assert task.file().partition().toString() == "PartitionData{at=1000000}"


def test_an_equality_delete_holds_in_every_partition(daily: BareTable) -> None:
    daily.commit(daily.keys(2, 3, 4))

    assert daily.rows("id") == [(1,)]


def test_position_deletes_hold_in_the_partition_of_their_file(daily: BareTable) -> None:
    moved, lost = day_file(daily, [5, 6], 19782), day_file(daily, [7], None)
    daily.commit(moved, lost)

    daily.commit(
        day_file(daily, [6], 19783), daily.positions((moved, 1)), daily.positions((lost, 0))
    )

    assert daily.rows("id") == [(1,), (2,), (3,), (4,), (5,), (6,)]


def test_deletes_hit_files_of_an_older_spec(daily: BareTable) -> None:
    old = day_file(daily, [5, 6], 19782)
    daily.commit(old)

    set_partition(daily.table, [PartitionField("bucket", "id", 4)])
    new = daily.write([{"id": 9, "at": None}], spec_id=2, partition=(0,))
    daily.commit(new, daily.positions((old, 1)), daily.keys(1))

    assert daily.rows("id") == [(2,), (3,), (4,), (5,), (9,)]


def test_the_spec_changes_only_where_it_differs(daily: BareTable) -> None:
    bucket = PartitionField("bucket", "id", 4)

    set_partition(daily.table, [bucket, DAY])
    set_partition(daily.table, [DAY, bucket])
    both = daily.table.partition_spec
    set_partition(daily.table, [PartitionField("hour", "at")])
    other = daily.table.partition_spec
    set_partition(daily.table, [])

    assert both == (2, (DAY, bucket))
    assert other == (3, (PartitionField("hour", "at"),))
    assert daily.table.partition_spec == (0, ())


def test_a_field_may_have_the_name_of_a_column(spark: SparkSession) -> None:
    columns = (
        NestedField(2, "at", DateType(), required=False),
        NestedField(3, "at_day", StringType(), required=False),
    )
    bare = BareTable(spark, schema=Schema(ID, *columns))

    set_partition(bare.table, [DAY])

    assert bare.table.partition_spec == (1, (DAY,))


@pytest.mark.parametrize(
    "field", [PartitionField("day", "id"), DAY, PartitionField("bucket", "id", 0)], ids=str
)
def test_a_field_that_the_table_cannot_have_is_refused(
    spark: SparkSession, field: PartitionField
) -> None:
    bare = BareTable(spark)

    with pytest.raises(PartitionError) as caught:
        set_partition(bare.table, [field])

    assert not caught.value.retryable
    assert bare.table.partition_spec == (0, ())


def test_equality_deletes_need_no_spec_that_an_expiry_left(daily: BareTable) -> None:
    daily.call("expire_snapshots", f"{EXPIRE}, clean_expired_metadata => true")
    daily.table.refresh()
    assert list(daily.table.java.specs()) == [1]

    daily.commit(daily.keys(2, 3))

    assert daily.rows("id") == [(1,), (4,)]
    assert daily.table.partition_spec == (1, (DAY,))


def test_rows_are_added_under_an_older_spec(daily: BareTable) -> None:
    planned: RowChange = daily.change(day_file(daily, [5], 19782))
    set_partition(daily.table, [])

    commit_rows(daily.table, planned)

    assert daily.rows("id") == [(1,), (2,), (3,), (4,), (5,)]


def test_rows_of_a_spec_that_is_gone_are_a_conflict(daily: BareTable) -> None:
    change = daily.change(daily.write([{"id": 5, "at": None}], spec_id=7, partition=(None,)))

    with pytest.raises(CommitConflictError):
        commit_rows(daily.table, change)
