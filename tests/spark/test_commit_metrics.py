"""What a commit notes of its files' columns, for readers to skip what they need not read."""

import datetime as dt
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
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)
from pyspark.sql import SparkSession

from cdc.commit.footers import FooterReader
from cdc.commit.java_values import java_class
from cdc.model import FileKind, WrittenFile
from tests.spark.bare_table import BareTable

VALUES: dict[str, tuple[Any, list[Any]]] = {
    "flag": (BooleanType(), [True, False, None]),
    "small": (IntegerType(), [-7, None, 7]),
    "ratio": (FloatType(), [1.5, float("nan"), None]),
    "share": (DoubleType(), [-0.0, float("inf"), None]),
    "price": (DecimalType(20, 2), [Decimal("-3.10"), Decimal("12345678901234567.89"), None]),
    # Longer than what Iceberg keeps of a bound.
    "text": (StringType(), ["ä" * 40, "", None]),
    "nothing": (StringType(), [None, None, None]),
    "raw": (BinaryType(), [b"\xff" * 40, b"", None]),
    "day": (DateType(), [dt.date(1969, 7, 20), None, dt.date(2038, 1, 19)]),
    "at": (TimestamptzType(), [dt.datetime(2024, 2, 29, tzinfo=dt.UTC), None, None]),
    "tags": (ListType(99, StringType(), element_required=False), [["a", None], [], None]),
}


@pytest.fixture(scope="module")
def bare(spark: SparkSession) -> BareTable:
    fields = [
        NestedField(number, name, kind, required=False)
        for number, (name, (kind, _)) in enumerate(VALUES.items(), start=2)
    ]
    return BareTable(spark, schema=Schema(NestedField(1, "id", LongType(), required=True), *fields))


def test_metrics_of_a_file_are_those_that_iceberg_reads_itself(bare: BareTable) -> None:
    rows = [
        {"id": row, **{name: values[row] for name, (_, values) in VALUES.items()}}
        for row in range(3)
    ]
    data = bare.write(rows)

    for file in (data, bare.keys(1, 2), bare.positions((data, 0), (data, 2))):
        assert noted(bare, file) == read_by_iceberg(bare, file), file.kind


def noted(bare: BareTable, file: WrittenFile) -> list[str]:
    table = bare.table
    return shown(FooterReader(table.gateway.jvm, table.java.io()).metrics(file, wanted(bare, file)))


def read_by_iceberg(bare: BareTable, file: WrittenFile) -> list[str]:
    util = java_class(bare.table.gateway.jvm, "org.apache.iceberg.parquet.ParquetUtil")
    found = bare.table.java.io().newInputFile(file.path)
    return shown(util.fileMetrics(found, wanted(bare, file)))


def wanted(bare: BareTable, file: WrittenFile) -> Any:
    kinds = java_class(bare.table.gateway.jvm, "org.apache.iceberg.MetricsConfig")
    positions = file.kind is FileKind.POSITION_DELETES
    return (kinds.forPositionDelete if positions else kinds.forTable)(bare.table.java)


def shown(metrics: Any) -> list[str]:
    """Write metrics as text; of bounds, their bytes."""
    bounds = (metrics.lowerBounds(), metrics.upperBounds())
    parts = (
        metrics.recordCount(),
        metrics.columnSizes(),
        metrics.valueCounts(),
        metrics.nullValueCounts(),
        metrics.nanValueCounts(),
    )
    texts = [
        str(part) if isinstance(part, int) else str(part and part.toString()) for part in parts
    ]
    return texts + [
        str({number: bytes(buffer.array()) for number, buffer in bound.items()}) for bound in bounds
    ]
