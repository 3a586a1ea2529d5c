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
        # As plain tuples: tables have many files, and an object takes ten times as long.
        plain = [(f.path, f.sequence, f.rows, f.lane, f.spec_id, f.partition) for f in files]
        return IndexPlan(folder, pickle.dumps(plain))

    def of_lane(self, lane: int | None) -> tuple[LiveFile, ...]:
        """Give the data files that may hold keys of one Kafka partition."""
        return tuple(LiveFile(*f) for f in pickle.loads(self.files) if f[3] in (lane, None))


class RowFinder:
    """Finds and reads rows of one table whose keys came through one Kafka partition."""

    def __init__(
        self,
        plan: IndexPlan,
        writer: FileWriter,
        key: tuple[str, ...],
        partition: int | None,
        replaceable: str | None = None,
    ) -> None:
        """Open the index.

        Args:
            plan: Where it is, and the table's data files.
            writer: Opens data files, and knows the table's columns.
            key: The key columns.
            partition: The Kafka partition of the keys; None for those of all partitions.
            replaceable: A column of yes and no: rows that have no there are never looked for.
        """
        self._files = plan.of_lane(partition)
        self._writer = writer
        self._key = key
        self._lane = partition
        schema = pa.schema([writer.schema.field(name) for name in key])
        chosen = None if replaceable is None else writer.schema.field(replaceable)
        self._columns = (*key, *([] if replaceable is None else [replaceable]))
        self._index = KeyIndex(plan.folder, schema, writer.open, only=chosen)

    def rows(self, keys: pa.Table, names: Sequence[str]) -> pa.Table:
        """Read the key and some columns of the newest row of each key.

        A row that was deleted gives its last values: its key has no other.
        """
        found = self._find(keys)
        columns = dict.fromkeys((*self._key, *names))
        schema = pa.schema([self._writer.schema.field(name) for name in columns])
        paths = [file.path for file in self._files]
        return read_rows(self._writer.open, paths, found.files, found.positions, schema)

    def positions(self, keys: pa.Table) -> Iterator[tuple[LiveFile, npt.NDArray[np.int64]]]:
        """Give the data files that hold the newest rows of keys, each with the rows' positions."""
        found = self._find(keys)
        for number in np.unique(found.files).tolist():
            yield self._files[number], found.positions[found.files == number]

    def add(self, written: WrittenRows, rows: pa.Table) -> None:
        """Take a data file that was just written into the index."""
        rows = rows.select(list(self._columns))
        self._index.add(
            written.file.path, rows if written.rows is None else rows.take(written.rows)
        )

    def _find(self, keys: pa.Table) -> Found:
        return self._index.find(keys.select(list(self._key)), self._files, self._lane)
