"""Files added to a table together with a note of what they are."""

from collections.abc import Iterable

from cdc.commit.data_files import FileDescriber
from cdc.commit.java_errors import translated
from cdc.commit.lost_answers import commit_or_recognise
from cdc.commit.table import IcebergTable
from cdc.model import WrittenFile


def append_files(table: IcebergTable, files: Iterable[WrittenFile], name: str, value: str) -> None:
    """Add data files and set a table property, all or nothing. Run twice, the rows are doubled.

    Raises:
        CommitConflictError: Somebody else has added rows since the table was loaded.
    """
    with translated(str(table.name)):
        since = table.snapshot_id
        transaction = table.java.newTransaction()
        append = transaction.newRowDelta()
        if since is not None:
            append.validateFromSnapshot(since)
        append.validateNoConflictingDataFiles()
        describer = FileDescriber(table)
        for file in files:
            append.addRows(describer.data_file(file))
        append.commit()
        transaction.updateProperties().set(name, value).commit()
        commit_or_recognise(table, transaction, lambda: table.properties.get(name) == value)
        table.java.refresh()
