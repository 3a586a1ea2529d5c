"""Rows of a mirrored table by their keys."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cdc.model import CURRENT, OFFSET, OP, VALID_FROM, VALID_TO, Op
from cdc.sql.names import KeyBounds, quoted

# What tells the newest row of a key, where a table keeps several.
NEWEST_IN_LOG: Final = (OFFSET,)
NEWEST_VERSION: Final = (VALID_FROM, CURRENT, VALID_TO)
# A delete in the log has a key and no other value.
WITH_VALUES: Final = f"{quoted(OP)} <> '{Op.DELETE}'"
FOUND: Final = "found"


def rows_of_keys(
    spark: SparkSession,
    table: str,
    keys: pa.Table,
    columns: Sequence[str],
    bounds: KeyBounds,
    *,
    newest_by: Sequence[str] = (),
    only: str | None = None,
) -> pa.Table:
    """Read some columns of the rows that have one of the given keys; nulls in keys are equal.

    Args:
        spark: Any session.
        table: The table's quoted name.
        keys: The key columns; a key may come twice.
        columns: The columns to read beside the key.
        bounds: The least and the greatest value of key columns; files beyond them are not read.
        newest_by: Give of each key only the row that is the greatest by these columns.
        only: A condition in SQL; other rows are not seen.
    """
    names = keys.column_names
    target = spark.sql(f"SELECT * FROM {table}")
    if only is not None:
        target = target.where(only)
    for name, (least, greatest) in bounds.items():
        column = target[quoted(name)]
        target = target.where(column.between(least, greatest) | column.isNull())
    wanted = spark.createDataFrame(keys)
    same = [target[quoted(name)].eqNullSafe(wanted[quoted(name)]) for name in names]
    found = target.join(F.broadcast(wanted), same, "left_semi")
    read = [quoted(name) for name in (*names, *columns)]
    if newest_by:
        newest = F.max_by(F.struct(*read), F.struct(*(quoted(name) for name in newest_by)))
        by_key = found.groupBy(*(quoted(name) for name in names))
        found = by_key.agg(newest.alias(FOUND)).select(f"{FOUND}.*")
    rows: pa.Table = found.select(*read).toArrow()
    return rows
