"""The data files of a table's current snapshot, and how they changed since another."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyiceberg.manifest import FileFormat as Format
from pyiceberg.manifest import ManifestContent, ManifestEntry, ManifestEntryStatus

from cdc.commit.java_errors import translated
from cdc.commit.manifests import ManifestReader
from cdc.commit.table import IcebergTable
from cdc.errors import NotParquetError
from cdc.model import LiveFile, lane_of


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What happened to a table's data files between two snapshots."""

    added: tuple[LiveFile, ...]
    removed: tuple[str, ...]  # paths


def live_files(table: IcebergTable) -> list[LiveFile]:
    """List the data files of the current snapshot, which `snapshot_id` names.

    Raises:
        NotParquetError: Somebody wrote one in another format.
    """
    with translated(str(table.name)):
        snapshot = table.java.currentSnapshot()
        if snapshot is None:
            return []
        reader = ManifestReader(table.java)
        return [
            _live_file(str(table.name), entry)
            for manifest in reader.manifests(snapshot, ManifestContent.DATA)
            for entry in manifest.fetch_manifest_entry(reader.files)
        ]


def changed_files(table: IcebergTable, since: int | None) -> FileChanges | None:
    """List what was added and removed between a snapshot and the current one.

    None where the one does not lead to the other: after a rollback, or where a snapshot in
    between has expired.

    Raises:
        NotParquetError: Somebody added a data file in another format.
    """
    with translated(str(table.name)):
        between = _snapshots_since(table.java, since)
        if between is None:
            return None
        reader = ManifestReader(table.java)
        added: dict[str, LiveFile] = {}
        removed: list[str] = []
        for snapshot in reversed(between):
            for entry in _own_entries(reader, snapshot):
                path = entry.data_file.file_path
                if entry.status == ManifestEntryStatus.ADDED:
                    added[path] = _live_file(str(table.name), entry)
                elif added.pop(path, None) is None:
                    removed.append(path)
        return FileChanges(tuple(added.values()), tuple(removed))


def _snapshots_since(java: Any, since: int | None) -> list[Any] | None:
    """Go back from the current snapshot, newest first; None if that does not lead to `since`."""
    found: list[Any] = []
    snapshot = java.currentSnapshot()
    while snapshot is not None:
        if since is not None and snapshot.snapshotId() == since:
            return found
        found.append(snapshot)
        parent = snapshot.parentId()
        if parent is None and since is None:
            return found
        snapshot = None if parent is None else java.snapshot(parent)
    return found if since is None and not found else None


def _own_entries(reader: ManifestReader, snapshot: Any) -> Iterator[ManifestEntry]:
    """Go through the files that a snapshot itself added or removed."""
    number = int(snapshot.snapshotId())
    for manifest in reader.manifests(snapshot, ManifestContent.DATA):
        if manifest.added_snapshot_id == number:
            for entry in manifest.fetch_manifest_entry(reader.files, discard_deleted=False):
                if entry.snapshot_id == number and entry.status != ManifestEntryStatus.EXISTING:
                    yield entry


def _live_file(table: str, entry: ManifestEntry) -> LiveFile:
    file = entry.data_file
    if file.file_format != Format.PARQUET:
        raise NotParquetError(table, file.file_path, str(file.file_format.value))
    return LiveFile(
        path=file.file_path,
        sequence=entry.sequence_number or 0,
        rows=file.record_count,
        lane=lane_of(file.file_path),
        spec_id=file.spec_id,
        partition=tuple(file.partition[place] for place in range(len(file.partition))),
    )
