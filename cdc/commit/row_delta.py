"""Rows, deletes and ledger in one atomic commit."""

from dataclasses import dataclass
from typing import Any

from cdc.commit.java_errors import translated
from cdc.commit.java_values import java_array
from cdc.commit.table import IcebergTable
from cdc.model import LEDGER_PROPERTY, FileKind, Ledger, WrittenFile


@dataclass(frozen=True, slots=True)
class RowChange:
    """What one batch does to one table."""

    files: tuple[WrittenFile, ...]
    ledger: Ledger
    key: tuple[str, ...]
    # The snapshot at which the ledger was read: rows that somebody added since are a conflict.
    since: int | None
    truncate: bool = False


def commit_rows(table: IcebergTable, change: RowChange) -> None:
    """Add rows and deletes and write the ledger, all or nothing.

    Run twice with rows, the second run raises: the first moved the table past `since`.

    Raises:
        CommitConflictError: Somebody else wrote to the table since the ledger was read.
    """
    with translated(str(table.name)):
        transaction = table.java.newTransaction()
        if change.truncate and table.snapshot_id is not None:
            always = table.jvm.org.apache.iceberg.expressions.Expressions.alwaysTrue()
            transaction.newDelete().deleteFromRowFilter(always).commit()
        delta = transaction.newRowDelta()
        for file in change.files:
            if file.kind is FileKind.DATA:
                delta.addRows(_data_file(table, file))
            else:
                delta.addDeletes(_equality_deletes(table, file, change.key))
        if not change.truncate:
            if change.since is not None:
                delta.validateFromSnapshot(change.since)
            # A compaction adds no rows and is no conflict; a second mirror does, and is one.
            delta.validateNoConflictingDataFiles()
        ledger = change.ledger.to_json()
        delta.set(LEDGER_PROPERTY, ledger)
        delta.commit()
        transaction.updateProperties().set(LEDGER_PROPERTY, ledger).commit()
        transaction.commitTransaction()


def _data_file(table: IcebergTable, file: WrittenFile) -> Any:
    builder = table.jvm.org.apache.iceberg.DataFiles.builder(table.java.spec())
    return _described(builder, table, file).build()


def _equality_deletes(table: IcebergTable, file: WrittenFile, key: tuple[str, ...]) -> Any:
    schema = table.java.schema()
    fields = [schema.findField(name).fieldId() for name in key]
    ids = java_array(table.gateway, table.jvm.int, fields)
    # Under the unpartitioned spec a delete holds in every partition.
    builder = table.jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.java.specs().get(0))
    return _described(builder.ofEqualityDeletes(ids), table, file).build()


def _described(builder: Any, table: IcebergTable, file: WrittenFile) -> Any:
    jvm = table.jvm.org.apache.iceberg
    metrics = jvm.parquet.ParquetUtil.fileMetrics(
        table.java.io().newInputFile(file.path), jvm.MetricsConfig.forTable(table.java)
    )
    return (
        builder.withPath(file.path)
        .withFormat(jvm.FileFormat.PARQUET)
        .withFileSizeInBytes(file.size)
        .withMetrics(metrics)
    )
