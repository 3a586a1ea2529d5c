"""Positional deletes by MERGE INTO, merge-on-read: the reference form."""

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc.model import CURRENT, OP, FileKind, Op, WrittenFile
from cdc.sql.names import KeyBounds, doubled, quoted, same_key, within
from cdc.state.ledger import Ledger
from cdc.state.names import LEDGER_PROPERTY

SNAPSHOT_PROPERTY: Final = "spark.sql.iceberg.snapshot-property."


def merge_changes(
    spark: SparkSession,
    table: str,
    files: Sequence[WrittenFile],
    key: Sequence[str],
    bounds: KeyBounds,
    ledger: Ledger,
    *,
    current_only: bool = False,
) -> None:
    """Replace the rows that changed, in one commit that carries the ledger.

    Run twice, the rows are the same but files are written again: the ledger must skip the batch.

    Args:
        spark: Any session; the work is done in a new one of its own.
        table: The table's quoted name.
        files: The new rows, and the keys of all rows that go.
        key: The key columns.
        bounds: The least and the greatest value of key columns; files beyond them are not read.
        ledger: What the commit carries.
        current_only: Of the rows with such a key, only the current version goes.
    """
    # The ledger reaches the snapshot through the session's settings: no other commit may share it.
    session = spark.newSession()
    session.conf.set(SNAPSHOT_PROPERTY + LEDGER_PROPERTY, ledger.to_json())
    # Not `session.table`: in a thread without an active session it ignores the session's settings.
    columns = session.sql(f"SELECT * FROM {table}").schema
    rows = [file.path for file in files if file.kind is FileKind.DATA]
    gone = [file.path for file in files if file.kind is FileKind.DELETED_KEYS]
    changes = _with_op(session.read.schema(columns).parquet(*rows), Op.UPDATE) if rows else None
    if gone:
        deletes = _with_op(session.read.schema(columns).parquet(*gone), Op.DELETE)
        changes = deletes if changes is None else changes.unionByName(deletes)
    text, arguments = merge_sql(table, columns.names, key, bounds, current_only=current_only)
    session.sql(text, arguments, changes=changes)


def merge_sql(
    table: str,
    columns: Sequence[str],
    key: Sequence[str],
    bounds: KeyBounds,
    *,
    current_only: bool = False,
) -> tuple[str, dict[str, Any]]:
    """Render the MERGE and its arguments; Spark puts the changes in place of `{changes}`."""
    limits, arguments = within(bounds)
    # New rows match nothing: several of one key may come, as the versions of a history do.
    matches = [*same_key(key), f"s.{OP} = '{Op.DELETE}'", *limits]
    if current_only:
        matches.append(f"t.{quoted(CURRENT)}")
    names = ", ".join(quoted(name) for name in columns)
    values = ", ".join(f"s.{quoted(name)}" for name in columns)
    text = (
        f"MERGE INTO {doubled(table)} t USING {{changes}} s ON {doubled(' AND '.join(matches))} "
        "WHEN MATCHED THEN DELETE "
        f"WHEN NOT MATCHED AND s.{OP} <> '{Op.DELETE}' "
        f"THEN INSERT ({doubled(names)}) VALUES ({doubled(values)})"
    )
    return text, arguments


def _with_op(rows: DataFrame, op: Op) -> DataFrame:
    return rows.withColumn(OP, F.lit(op.value))
