"""Positional deletes by MERGE INTO, merge-on-read: the reference form."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc.model import LEDGER_PROPERTY, OP, FileKind, Ledger, Op, WrittenFile

KeyBounds = Mapping[str, tuple[Any, Any]]
SNAPSHOT_PROPERTY: Final = "spark.sql.iceberg.snapshot-property."


def merge_changes(
    spark: SparkSession,
    table: str,
    files: Sequence[WrittenFile],
    key: Sequence[str],
    bounds: KeyBounds,
    ledger: Ledger,
) -> None:
    """Replace the rows that changed, in one commit that carries the ledger.

    Run twice, the rows are the same but files are written again: the ledger must skip the batch.

    Args:
        spark: Any session; the work is done in a new one of its own.
        table: The table's quoted name.
        files: The new rows, and the keys that are gone.
        key: The key columns.
        bounds: The least and the greatest value of key columns; files beyond them are not read.
        ledger: What the commit carries.
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
    text, arguments = merge_sql(table, columns.names, key, bounds)
    session.sql(text, arguments, changes=changes)


def merge_sql(
    table: str, columns: Sequence[str], key: Sequence[str], bounds: KeyBounds
) -> tuple[str, dict[str, Any]]:
    """Render the MERGE and its arguments; Spark puts the changes in place of `{changes}`."""
    table = _doubled(table)
    matches = [f"t.{_quoted(name)} = s.{_quoted(name)}" for name in key]
    arguments: dict[str, Any] = {}
    for place, (name, (least, greatest)) in enumerate(bounds.items()):
        # Without literal bounds on the target's side every file of the table is read.
        matches.append(f"t.{_quoted(name)} BETWEEN :least{place} AND :greatest{place}")
        arguments |= {f"least{place}": least, f"greatest{place}": greatest}
    names = ", ".join(_quoted(name) for name in columns)
    values = ", ".join(f"s.{_quoted(name)}" for name in columns)
    assignments = ", ".join(f"t.{_quoted(n)} = s.{_quoted(n)}" for n in columns if n not in key)
    update = f"WHEN MATCHED THEN UPDATE SET {assignments} " if assignments else ""
    text = (
        f"MERGE INTO {table} t USING {{changes}} s ON {' AND '.join(matches)} "
        f"WHEN MATCHED AND s.{OP} = '{Op.DELETE}' THEN DELETE "
        f"{update}"
        f"WHEN NOT MATCHED AND s.{OP} <> '{Op.DELETE}' THEN INSERT ({names}) VALUES ({values})"
    )
    return text, arguments


def _with_op(rows: DataFrame, op: Op) -> DataFrame:
    return rows.withColumn(OP, F.lit(op.value))


def _quoted(name: str) -> str:
    return "`" + _doubled(name.replace("`", "``")) + "`"


def _doubled(text: str) -> str:
    """Keep the braces in a name from being taken for a place to fill."""
    return text.replace("{", "{{").replace("}", "}}")
