"""Rows of a mirrored table by their keys."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cdc.apply.merge import KeyBounds


def rows_of_keys(
    spark: SparkSession, table: str, keys: pa.Table, columns: Sequence[str], bounds: KeyBounds
) -> pa.Table:
    """Read some columns of the rows that have one of the given keys.

    Args:
        spark: Any session.
        table: The table's quoted name.
        keys: The key columns, no key twice.
        columns: The columns to read beside the key.
        bounds: The least and the greatest value of key columns; files beyond them are not read.
    """
    names = keys.column_names
    target = spark.sql(f"SELECT * FROM {table}")
    for name, (least, greatest) in bounds.items():
        target = target.where(target[_quoted(name)].between(least, greatest))
    wanted = spark.createDataFrame(keys)
    same = [target[_quoted(name)] == wanted[_quoted(name)] for name in names]
    found = target.join(F.broadcast(wanted), same, "left_semi")
    rows: pa.Table = found.select(*(_quoted(name) for name in (*names, *columns))).toArrow()
    return rows


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
