"""Which columns lack values in rows that the source still has."""

from collections.abc import Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cdc.model import CURRENT, DELETED
from cdc.sql.names import quoted


def columns_with_nulls(spark: SparkSession, table: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Name the columns that are null in some row; ended versions and deleted rows do not count.

    Args:
        spark: Any session.
        table: The table's quoted name.
        columns: Some of its columns.
    """
    if not columns:
        return ()
    rows = spark.newSession().sql(f"SELECT * FROM {table}")
    if CURRENT in rows.columns:
        rows = rows.where(F.col(CURRENT))
    if DELETED in rows.columns:
        rows = rows.where(~F.col(DELETED))
    found = rows.agg(*(F.bool_or(F.col(quoted(name)).isNull()) for name in columns)).first()
    return tuple(name for name, null in zip(columns, found or (), strict=True) if null)
