"""Truncates of tables that keep the rows which are gone in the source."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession

from cdc.model import CURRENT, DELETED, VALID_FROM, VALID_TO
from cdc.sql.names import doubled, quoted, same_key

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def mark_all_deleted(spark: SparkSession, table: str) -> None:
    """Mark every row as deleted. Run twice, the second run changes no row.

    Args:
        spark: Any session.
        table: The table's quoted name.
    """
    # In a new session, since settings of another may put a ledger into the commit.
    spark.newSession().sql(mark_sql(table))


def close_all(
    spark: SparkSession,
    table: str,
    time: int,
    key: Sequence[str] = (),
    kept: pa.Table | None = None,
) -> None:
    """End every current version. Run twice, the second run changes no row.

    Args:
        spark: Any session.
        table: The table's quoted name.
        time: When they end, in microseconds since 1970; none ends before it starts.
        key: The key columns.
        kept: Keys whose versions the batch itself ends, some of them before that time.
    """
    session = spark.newSession()
    text = close_sql(table, key if kept is not None else ())
    arguments = {"time": EPOCH + timedelta(microseconds=time)}
    given: dict[str, Any] = {} if kept is None else {"kept": session.createDataFrame(kept)}
    session.sql(text, arguments, **given)


def mark_sql(table: str) -> str:
    """Render the statement that marks all rows; one without a mark, as of old, counts as live."""
    mark = quoted(DELETED)
    return f"UPDATE {table} SET {mark} = true WHERE {mark} IS NOT TRUE"


def close_sql(table: str, key: Sequence[str] = ()) -> str:
    """Render the statement that ends all versions; Spark puts the keys in place of `{kept}`."""
    start, end, current = quoted(VALID_FROM), quoted(VALID_TO), quoted(CURRENT)
    text = (
        f"UPDATE {table} t SET t.{end} = greatest(:time, t.{start}), t.{current} = false "
        f"WHERE t.{current}"
    )
    if not key:
        return text
    same = doubled(" AND ".join(same_key(key)))
    return f"{doubled(text)} AND NOT EXISTS (SELECT 1 FROM {{kept}} s WHERE {same})"
