"""Parquet files for a table: rows, equality deletes, deleted keys."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from cdc.model import FileKind, WrittenFile

COMPRESSION = "zstd"


@dataclass(frozen=True, slots=True)
class FileWriter:
    """Writes the files of one table under its data folder.

    Writing twice writes two files: one that no commit names is removed by the driver, or falls to
    the orphan clean-up if the driver died.
    """

    location: str
    schema: pa.Schema  # field ids in the metadata
    properties: Mapping[str, str]  # how to reach the storage, as pyiceberg names it

    def write_rows(self, rows: pa.Table, kind: FileKind = FileKind.DATA) -> WrittenFile:
        """Write rows of the table."""
        return self._write(kind, rows, self.schema)

    def write_keys(self, kind: FileKind, keys: pa.Table, names: Sequence[str]) -> WrittenFile:
        """Write key columns alone, as equality deletes or for a MERGE."""
        return self._write(kind, keys, pa.schema([self.schema.field(name) for name in names]))

    def _write(self, kind: FileKind, table: pa.Table, schema: pa.Schema) -> WrittenFile:
        suffix = "-deletes" if kind is FileKind.EQUALITY_DELETES else ""
        path = f"{self.location}/{uuid.uuid4()}{suffix}.parquet"
        whole = table.select(schema.names).combine_chunks().cast(schema)
        filesystem, place = self._filesystem(path)
        with filesystem.open_output_stream(place) as sink:
            pq.write_table(whole, sink, compression=COMPRESSION)
            size = sink.tell()
        return WrittenFile(kind, path, size, len(whole))

    def _filesystem(self, path: str) -> tuple[pafs.FileSystem, str]:
        scheme, separator, rest = path.partition(":")
        if not separator or scheme == "file":
            place = "/" + rest.lstrip("/") if separator else path
            local = pafs.LocalFileSystem()
            local.create_dir(place.rpartition("/")[0], recursive=True)
            return local, place
        from pyiceberg.io.pyarrow import PyArrowFileIO  # costs half a second: only where needed

        scheme, host, place = PyArrowFileIO.parse_location(path)
        return PyArrowFileIO(dict(self.properties)).fs_by_scheme(scheme, host), place
