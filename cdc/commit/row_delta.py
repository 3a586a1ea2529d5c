"""Rows, deletes and ledger in one atomic commit."""

from dataclasses import dataclass
from typing import Any

from cdc.commit.data_files import FileDescriber
from cdc.commit.java_errors import translated
from cdc.commit.java_values import java_strings
from cdc.commit.ledger import put_ledger, read_ledger
from cdc.commit.lost_answers import commit_or_recognise
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

    Run twice, the second run changes nothing: it finds its own ledger. So a commit whose answer was
    lost is recognised, too, and not repeated.

    Raises:
        CommitConflictError: Somebody else wrote to the table since the ledger was read.
    """
    with translated(str(table.name)):
        describer = FileDescriber(table, change.key)
        rows = [describer.data_file(f) for f in change.files if f.kind is FileKind.DATA]
        deletes = [describer.delete_file(file) for file in _deletes(change)]
        transaction = table.java.newTransaction()  # sees the newest commit
        if table.snapshot_id != change.since and read_ledger(table) == change.ledger:
            return
        if change.truncate and table.snapshot_id is not None:
            always = table.jvm.org.apache.iceberg.expressions.Expressions.alwaysTrue()
            transaction.newDelete().deleteFromRowFilter(always).commit()
        delta = transaction.newRowDelta()
        for file in rows:
            delta.addRows(file)
        for file in deletes:
            delta.addDeletes(file)
        _validate(table, delta, change)
        _commit_with_ledger(table, transaction, delta, change.ledger)
        if change.truncate:
            table.remove(file for file in change.files if file.kind is not FileKind.DATA)


def _commit_with_ledger(table: IcebergTable, transaction: Any, delta: Any, ledger: Ledger) -> None:
    text = ledger.to_json()
    delta.set(LEDGER_PROPERTY, text)
    delta.commit()
    snapshot = transaction.table().currentSnapshot()
    number, sequence = snapshot.snapshotId(), int(snapshot.sequenceNumber())
    update = transaction.updateProperties()
    put_ledger(update, text, sequence)
    update.commit()
    commit_or_recognise(table, transaction, lambda: read_ledger(table) == ledger)
    made = table.java.snapshot(number)
    if made is not None and int(made.sequenceNumber()) != sequence:
        # Another writer's commit came first and took that number.
        update = table.java.updateProperties()
        put_ledger(update, text, int(made.sequenceNumber()))
        update.commit()


def _deletes(change: RowChange) -> list[WrittenFile]:
    # A truncate removes all data files that older deletes could hit.
    return [f for f in change.files if f.kind is not FileKind.DATA and not change.truncate]


def _validate(table: IcebergTable, delta: Any, change: RowChange) -> None:
    """Make the commit fail if it is not true any more when it comes to it.

    Iceberg checks this again whenever it repeats the commit on top of another writer's.
    """
    if change.since is not None:
        delta.validateFromSnapshot(change.since)
    # A compaction adds no rows and is no conflict; a second mirror does, and is one.
    delta.validateNoConflictingDataFiles()
    referenced = {path for file in _deletes(change) for path in file.referenced}
    if referenced:
        # Rows that moved to another file meanwhile would come back to life.
        delta.validateDataFilesExist(java_strings(table.jvm, referenced))
        delta.validateDeletedFiles()
