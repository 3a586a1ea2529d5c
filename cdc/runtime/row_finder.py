"""The rows of keys, found by the write task itself in an index of its table's data files."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cdc.index import Found, KeyIndex, read_rows
from cdc.model import LiveFile
from cdc.write import FileWriter, WrittenRows


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """Where a table's index is kept, and which data files the table has."""

    folder: str
    # Pickled, since a task is told of all tables and looks into those of its own records only.
    files: bytes

    @staticmethod
    def of(folder: str, files: Sequence[LiveFile]) -> "IndexPlan":
        """Describe a table as it is now."""
        return IndexPlan(folder, pickle.dumps(tuple(files)))


class RowFinder:
    """Finds and reads rows of one table whose keys came through one Kafka partition."""

    def __init__(
        self, plan: IndexPlan, writer: FileWriter, key: tuple[str, ...], partition: int
    ) -> None:
        self._files: tuple[LiveFile, ...] = pickle.loads(plan.files)
        self._writer = writer
        self._key = key
        self._lane = partition
        schema = pa.schema([writer.schema.field(name) for name in key])
        self._index = KeyIndex(plan.folder, schema, writer.open)

    def rows(self, keys: pa.Table, names: Sequence[str]) -> pa.Table:
        """Read key and some columns of the newest rows of keys, dead ones among them.

        A key that has several rows in its newest file gives all of them, in the file's order.
        """
        return self._read(self._find(keys), dict.fromkeys((*self._key, *names)))

    def positions(
        self, keys: pa.Table, only: str | None = None
    ) -> Iterator[tuple[LiveFile, npt.NDArray[np.int64]]]:
        """Give the data files that hold the rows of keys, each with the rows' positions.

        Args:
            keys: The key columns, no key twice.
            only: A column of yes and no: of rows that have no there nothing is given.
        """
        found = self._find(keys)
        files, positions = found.files, found.positions
        if only is not None:
            wanted = self._read(found, (only,))[only].fill_null(False)
            kept = wanted.to_numpy().astype(bool)
            files, positions = files[kept], positions[kept]
        for number in np.unique(files).tolist():
            yield self._files[number], positions[files == number]

    def add(self, written: WrittenRows, rows: pa.Table) -> None:
        """Take a data file that was just written into the index."""
        keys = rows.select(list(self._key))
        self._index.add(
            written.file.path, keys if written.rows is None else keys.take(written.rows)
        )

    def _find(self, keys: pa.Table) -> Found:
        return self._index.find(keys.select(list(self._key)), self._files, self._lane)

    def _read(self, found: Found, names: Sequence[str] | dict[str, None]) -> pa.Table:
        schema = pa.schema([self._writer.schema.field(name) for name in names])
        paths = [file.path for file in self._files]
        return read_rows(self._writer.open, paths, found.files, found.positions, schema)
