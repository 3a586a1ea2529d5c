"""Rows, deletes and ledger in one atomic commit."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError

from cdc.commit.data_files import FileDescriber
from cdc.commit.deletion_vectors import Vectors, write_vectors
from cdc.commit.java_errors import translated, was_refused
from cdc.commit.java_values import java_class, java_strings
from cdc.commit.ledger import put_ledger, read_ledger
from cdc.commit.live_files import live_files
from cdc.commit.lost_answers import commit_or_recognise
from cdc.commit.table import IcebergTable, remove_files
from cdc.errors import CommitConflictError, NotParquetError
from cdc.model import FileKind, WrittenFile
from cdc.state.ledger import Ledger
from cdc.state.names import LEDGER_PROPERTY

# The first version of Iceberg's format in which position deletes are deletion vectors.
VECTORS_SINCE: Final = 3


@dataclass(frozen=True, slots=True)
class RowChange:
    """What one batch does to one table."""

    files: tuple[WrittenFile, ...]
    ledger: Ledger
    key: tuple[str, ...]
    # The snapshot at which the ledger was read: rows that somebody added since are a conflict.
    since: int | None
    truncate: bool = False
    # Nobody may have committed anything since: what was found out about the table would be wrong.
    alone: bool = False


def commit_rows(table: IcebergTable, change: RowChange) -> bool:
    """Add rows and deletes and write the ledger, all or nothing.

    Run twice, the second run changes nothing: it finds its own ledger. So a commit whose answer was
    lost is recognised, too, and not repeated.

    Returns:
        Whether the change's own files are surely in the table. A second mirror of the same config
        writes the same ledger: then the same rows are there, in files of its own.

    Raises:
        CommitConflictError: Somebody else wrote to the table since the ledger was read.
    """
    with translated(str(table.name)):
        positions = _deletes(change, FileKind.POSITION_DELETES)
        as_vectors = bool(positions) and _format_version(table) >= VECTORS_SINCE
        plain = _deletes(change, FileKind.EQUALITY_DELETES) + ([] if as_vectors else positions)
        describer = FileDescriber(table, change.key)
        rows = [describer.data_file(file) for file in change.files if file.kind is FileKind.DATA]
        deletes = [describer.delete_file(file) for file in plain]
        surely = False
        transaction = table.java.newTransaction()  # sees the newest commit
        if table.snapshot_id == change.since or read_ledger(table) != change.ledger:
            if change.alone and table.snapshot_id != change.since:
                raise CommitConflictError(str(table.name), "it was written to in the meantime")
            delta = _begin(table, transaction, change)
            for file in rows:
                delta.addRows(file)
            for file in deletes:
                delta.addDeletes(file)
            vectors = write_vectors(table, describer, positions) if as_vectors else Vectors()
            for file in vectors.removed:
                delta.removeDeletes(file)
            for file in vectors.added:
                delta.addDeletes(file)
            try:
                surely = _commit_with_ledger(table, transaction, delta, change.ledger)
            except Py4JJavaError as error:
                if vectors.path is not None and was_refused(error):
                    table.java.io().deleteFile(vectors.path)
                raise
        # What no commit names: a truncate needs no deletes, and vectors stand for positions.
        remove_files(
            table, (f for f in change.files if f.kind is not FileKind.DATA and f not in plain)
        )
        return surely


def _begin(table: IcebergTable, transaction: Any, change: RowChange) -> Any:
    """Begin the row delta, and make it fail if it is not true any more when it comes to it.

    Iceberg checks this again whenever it repeats the commit on top of another writer's.
    """
    if change.truncate and table.snapshot_id is not None:
        expressions = java_class(table.gateway.jvm, "org.apache.iceberg.expressions.Expressions")
        transaction.newDelete().deleteFromRowFilter(expressions.alwaysTrue()).commit()
    delta = transaction.newRowDelta()
    if change.since is not None:
        delta.validateFromSnapshot(change.since)
    # A compaction adds no rows and is no conflict; a second mirror does, and is one.
    delta.validateNoConflictingDataFiles()
    positions = _deletes(change, FileKind.POSITION_DELETES)
    referenced = {path for file in positions for path in file.referenced}
    if change.alone:
        delta.validateNoConflictingDeleteFiles()
        with suppress(NotParquetError):  # a truncate removes files, and adds none
            referenced |= {file.path for file in live_files(table)}
    if referenced:
        # Rows that moved to another file meanwhile would come back to life.
        delta.validateDataFilesExist(java_strings(table.gateway.jvm, referenced))
        delta.validateDeletedFiles()
    return delta


def _commit_with_ledger(table: IcebergTable, transaction: Any, delta: Any, ledger: Ledger) -> bool:
    text = ledger.to_json()
    delta.set(LEDGER_PROPERTY, text)
    delta.commit()
    snapshot = transaction.table().currentSnapshot()
    number, sequence = snapshot.snapshotId(), int(snapshot.sequenceNumber())
    update = transaction.updateProperties()
    put_ledger(update, text, sequence)
    update.commit()
    surely = commit_or_recognise(table, transaction, lambda: read_ledger(table) == ledger)
    made = table.java.snapshot(number)
    if made is not None and int(made.sequenceNumber()) != sequence:
        # Another writer's commit came first and took that number.
        update = table.java.updateProperties()
        put_ledger(update, text, int(made.sequenceNumber()))
        update.commit()
    return surely


def _deletes(change: RowChange, kind: FileKind) -> list[WrittenFile]:
    # A truncate removes all data files that older deletes could hit.
    return [f for f in change.files if f.kind is kind and not change.truncate]


def _format_version(table: IcebergTable) -> int:
    util = java_class(table.gateway.jvm, "org.apache.iceberg.TableUtil")
    return int(util.formatVersion(table.java))
