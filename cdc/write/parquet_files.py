"""Parquet files for a table: rows, position deletes, equality deletes, deleted keys."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from cdc.model import FileKind, LiveFile, PartitionField, WrittenFile
from cdc.write.dictionaries import dictionary_columns
from cdc.write.partitions import split
from cdc.write.storage import LOCAL, filesystem

COMPRESSION: Final = "zstd"
# Iceberg's own columns of a file of position deletes, with the ids that it reserves for them.
POSITIONS: Final = pa.schema(
    [
        pa.field(
            "file_path",
            pa.dictionary(pa.int32(), pa.string()),
            nullable=False,
            metadata={"PARQUET:field_id": "2147483546"},
        ),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "2147483545"}),
    ]
)


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """A file of rows, and which of the given rows are in it, in the file's order."""

    file: WrittenFile
    rows: npt.NDArray[np.int64] | None  # None: all of them, as they were given


@dataclass(frozen=True, slots=True)
class FileWriter:
    """Writes the files of one table under its data folder.

    Writing twice writes two files: one that no commit names is removed by the driver, or falls to
    the orphan clean-up if the driver died.
    """

    location: str
    schema: pa.Schema  # field ids in the metadata
    properties: Mapping[str, str]  # how to reach the storage, as pyiceberg names it
    spec_id: int = 0
    partition: tuple[PartitionField, ...] = ()

    def write_rows(self, rows: pa.Table, lane: int | None = None) -> tuple[WrittenRows, ...]:
        """Write rows of the table, a file for each partition that they are in.

        The files are written one after the other: many partitions cost time, but no memory. Their
        paths do not tell the partition, since no storage takes every value in a name.

        Args:
            rows: Rows with all columns of the table; other columns are left out.
            lane: The Kafka partition whose keys alone these are.
        """
        whole = _fitted(rows, self.schema)
        name = "" if lane is None else f"p{lane:05d}-"
        parts = split(self.partition, whole)
        if len(parts) > 1:
            whole = whole.take(np.concatenate([part.rows for part in parts]))
        written = []
        start = 0
        for part in parts:
            count = len(whole) if part.rows is None else len(part.rows)
            path = f"{self.location}/{name}{uuid.uuid4()}.parquet"
            size = self._write(path, whole.slice(start, count))
            file = WrittenFile(FileKind.DATA, path, size, count, self.spec_id, part.values)
            written.append(WrittenRows(file, part.rows))
            start += count
        return tuple(written)

    def write_quarantined(self, rows: pa.Table) -> WrittenFile:
        """Write records that could not be applied."""
        return self._write_whole(FileKind.QUARANTINED, rows, self.schema)

    def write_keys(self, kind: FileKind, keys: pa.Table, names: Sequence[str]) -> WrittenFile:
        """Write key columns alone, as equality deletes or for a MERGE.

        They belong to no partition: under the unpartitioned spec a delete holds in all of them.
        """
        return self._write_whole(kind, keys, pa.schema([self.schema.field(n) for n in names]))

    def write_positions(
        self, hits: Iterable[tuple[LiveFile, npt.NDArray[np.integer[Any]]]]
    ) -> tuple[WrittenFile, ...]:
        """Write position deletes, a file for each partition of the data files that they hit.

        Args:
            hits: Data files, each with the positions of rows in it that are gone. A file may come
                more than once, and so may a position.
        """
        partitions: dict[tuple[int, tuple[Any, ...]], dict[str, list[npt.NDArray[Any]]]] = {}
        for file, positions in hits:
            if len(positions):
                files = partitions.setdefault((file.spec_id, file.partition), {})
                files.setdefault(file.path, []).append(positions)
        written = []
        for (spec_id, values), files in partitions.items():
            paths = sorted(files)
            gone = [np.unique(np.concatenate(files[path])) for path in paths]
            places = np.repeat(np.arange(len(paths), dtype=np.int32), [len(g) for g in gone])
            table = pa.table(
                [
                    pa.DictionaryArray.from_arrays(places, pa.array(paths)),
                    pa.array(np.concatenate(gone), pa.int64()),
                ],
                schema=POSITIONS,
            )
            path = f"{self.location}/{uuid.uuid4()}-deletes.parquet"
            size = self._write(path, table)
            kind = FileKind.POSITION_DELETES
            written.append(WrittenFile(kind, path, size, len(table), spec_id, values, tuple(paths)))
        return tuple(written)

    def open(self, path: str) -> pa.NativeFile:
        """Open a file of the table for reading at any place."""
        storage, place = filesystem(path, self.properties)
        return storage.open_input_file(place)

    def _write_whole(self, kind: FileKind, table: pa.Table, schema: pa.Schema) -> WrittenFile:
        suffix = "-deletes" if kind is FileKind.EQUALITY_DELETES else ""
        path = f"{self.location}/{uuid.uuid4()}{suffix}.parquet"
        size = self._write(path, _fitted(table, schema))
        return WrittenFile(kind, path, size, len(table))

    def _write(self, path: str, table: pa.Table) -> int:
        storage, place = filesystem(path, self.properties)
        if storage is LOCAL:
            storage.create_dir(place.rpartition("/")[0], recursive=True)
        with storage.open_output_stream(place) as sink:
            # Arrow's own schema would tell readers nothing but what Parquet's tells them, and is a
            # good part of a small file.
            pq.write_table(
                table,
                sink,
                compression=COMPRESSION,
                use_dictionary=dictionary_columns(table),
                store_schema=False,
            )
            return int(sink.tell())


def _fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return table.select(schema.names).combine_chunks().cast(schema)
