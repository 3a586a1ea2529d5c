"""Rows, deletes and ledger in one atomic commit."""

from dataclasses import dataclass

from cdc.commit.data_files import data_file, equality_deletes
from cdc.commit.java_errors import translated
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
                delta.addRows(data_file(table, file))
            else:
                delta.addDeletes(equality_deletes(table, file, change.key))
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
