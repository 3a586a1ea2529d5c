"""The data files of one table, listed once and then kept up to date."""

from collections.abc import Iterable
from itertools import islice

from cdc.commit import IcebergTable, changed_files, live_files
from cdc.model import FileKind, LiveFile, WrittenFile, lane_of


class DataFiles:
    """What the current snapshot of a table has, as far as it has been looked at."""

    def __init__(self, table: IcebergTable) -> None:
        self._table = table
        self._files: dict[str, LiveFile] = {}
        self._listed: int | None = None  # the snapshot for which that is true

    def current(self) -> Iterable[LiveFile]:
        """List the data files of the table as it is loaded.

        Raises:
            NotParquetError: Somebody wrote one in another format.
        """
        snapshot = self._table.snapshot_id
        if snapshot is None:
            self._files = {}
        elif snapshot != self._listed:
            changes = changed_files(self._table, self._listed) if self._listed is not None else None
            if changes is None:  # first seen, or rolled back: what is known leads nowhere
                self._files = {file.path: file for file in live_files(self._table)}
            else:
                for path in changes.removed:
                    self._files.pop(path, None)
                self._files |= {file.path: file for file in changes.added}
        self._listed = snapshot
        return self._files.values()

    def added(self, files: Iterable[WrittenFile]) -> None:
        """Take note of what the newest commit added, so that it need not be listed."""
        newest = list(islice(self._table.history(), 2))
        if len(newest) < 2 or newest[1].id != self._listed:
            return  # somebody else's commit is in between, or nothing was listed yet
        for file in files:
            if file.kind is FileKind.DATA:
                self._files[file.path] = LiveFile(
                    file.path,
                    newest[0].sequence,
                    file.rows,
                    lane_of(file.path),
                    file.spec_id,
                    file.partition,
                )
        self._listed = newest[0].id
