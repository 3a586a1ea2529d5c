"""Commits that may have been made although they seem to have failed."""

from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from cdc.commit.table import IcebergTable


def commit_or_recognise(table: IcebergTable, transaction: Any, is_done: Callable[[], bool]) -> bool:
    """Commit, and if that fails look whether it is done all the same.

    The answer to a commit may be lost after the catalog has made it. Then Iceberg says that it does
    not know, or the catalog's client tries again and meets its own commit as another writer's.

    Args:
        table: The table; it is refreshed when the commit fails.
        transaction: Iceberg's transaction, complete.
        is_done: Whether the refreshed table holds this very commit, or one that is just like it.

    Returns:
        Whether it surely is this very commit.
    """
    try:
        transaction.commitTransaction()
    except (Py4JJavaError, CapturedException):
        table.java.refresh()
        if not is_done():
            raise
        return False
    return True
