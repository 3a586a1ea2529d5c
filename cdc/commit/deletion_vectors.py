"""Position deletes as deletion vectors: the only form that tables of format 3 take.

A data file has one vector at most, so the rows that are gone already are joined with the new ones,
and the new vector takes the old one's place. All of a commit's vectors share one Puffin file.
"""

import io
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.avro.file import AvroFile
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.manifest import FileFormat as Format
from pyroaring import BitMap64

from cdc.commit.data_files import FileDescriber
from cdc.commit.manifests import ManifestReader, TableFiles
from cdc.commit.puffin import puffin_bytes, read_vector
from cdc.commit.table import IcebergTable
from cdc.model import WrittenFile

# Fields that pyiceberg reads and has no names for.
FIELDS: Final = [field.name for field in DATA_FILE_TYPE[3].fields]
PLACES: Final = [
    FIELDS.index(name)
    for name in ("referenced_data_file", "content_offset", "content_size_in_bytes")
]

Partition = tuple[int, tuple[Any, ...]]  # spec and values


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one commit as Iceberg describes them, and their file."""

    added: tuple[Any, ...] = ()
    removed: tuple[Any, ...] = ()
    path: str | None = None


@dataclass(frozen=True, slots=True)
class _OldDeletes:
    """A file of position deletes, or a vector in one, that the table has."""

    path: str
    partition: Partition
    size: int
    rows: int
    referenced: str | None
    start: int | None  # of a vector
    length: int | None


def write_vectors(
    table: IcebergTable, describer: FileDescriber, files: Iterable[WrittenFile]
) -> Vectors:
    """Write position deletes as vectors, joined with those of the current snapshot.

    Run twice, it writes two Puffin files.
    """
    reader = ManifestReader(table.java)
    hits: dict[str, BitMap64] = {}
    partitions: dict[str, Partition] = {}
    for file in files:
        for path, positions in _positions(reader.files, file.path):
            hits[path] = hits.get(path, BitMap64()) | positions
            partitions[path] = (file.spec_id, file.partition)
    replaced = _join_old(table, reader, hits, partitions)
    content, places = puffin_bytes(hits)
    path = f"{table.data_location}/{uuid.uuid4()}-deletes.puffin"
    reader.files.write(path, content)
    added = [
        describer.deletion_vector(
            path, len(content), blob.rows, partitions[data], data, blob.start, blob.length
        )
        for data, blob in places.items()
    ]
    removed = [
        describer.deletion_vector(
            old.path, old.size, old.rows, old.partition, data, old.start, old.length
        )
        for data, old in replaced.items()
    ]
    return Vectors(tuple(added), tuple(removed), path)


def _join_old(
    table: IcebergTable,
    reader: ManifestReader,
    hits: dict[str, BitMap64],
    partitions: Mapping[str, Partition],
) -> dict[str, _OldDeletes]:
    """Add the rows that are gone already; give the vectors that said so, by data file."""
    vectors: dict[str, _OldDeletes] = {}
    touched = set(partitions.values())
    for old in _old_deletes(table, reader):
        if old.start is not None and old.length is not None:
            if old.referenced in hits:
                vectors[old.referenced] = old
                content = reader.files.read_range(old.path, old.start, old.length)
                hits[old.referenced] |= read_vector(content)
        elif old.partition in touched and (old.referenced is None or old.referenced in hits):
            # From before the table had format 3: where there is a vector, nobody reads it again.
            for path, positions in _positions(reader.files, old.path):
                if path in hits:
                    hits[path] |= positions
    return vectors


def _old_deletes(table: IcebergTable, reader: ManifestReader) -> Iterator[_OldDeletes]:
    snapshot = table.java.currentSnapshot()
    if snapshot is None:
        return
    for manifest in reader.manifests(snapshot, ManifestContent.DELETES):
        for entry in _entries(reader, manifest):
            file = entry.data_file
            if (
                entry.status != ManifestEntryStatus.DELETED
                and file.content == DataFileContent.POSITION_DELETES
            ):
                values = tuple(file.partition[place] for place in range(len(file.partition)))
                referenced, start, length = (file[place] for place in PLACES)
                if file.file_format != Format.PUFFIN:
                    start = length = None
                yield _OldDeletes(
                    file.file_path,
                    (manifest.partition_spec_id, values),
                    file.file_size_in_bytes,
                    file.record_count,
                    referenced,
                    start,
                    length,
                )


def _entries(reader: ManifestReader, manifest: ManifestFile) -> list[ManifestEntry]:
    with AvroFile[ManifestEntry](
        reader.files.new_input(manifest.manifest_path),
        MANIFEST_ENTRY_SCHEMAS[3],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: Format, 134: DataFileContent},
    ) as entries:
        return list(entries)


def _positions(files: TableFiles, path: str) -> Iterator[tuple[str, BitMap64]]:
    """Read the positions in a file of position deletes, by data file."""
    found = pq.read_table(io.BytesIO(files.read(path)), columns=["file_path", "pos"])
    paths = found["file_path"].combine_chunks().dictionary_encode()
    if isinstance(paths, pa.ChunkedArray):
        paths = paths.combine_chunks()
    codes = paths.indices.to_numpy()
    positions = found["pos"].to_numpy().astype(np.uint64)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(paths.dictionary) + 1))
    for code, name in enumerate(paths.dictionary.to_pylist()):
        yield name, BitMap64(positions[order[bounds[code] : bounds[code + 1]]])
