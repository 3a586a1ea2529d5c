"""One Iceberg table, as Java has it loaded."""

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Any

from pyiceberg.schema import Schema

from cdc.commit.java_errors import translated
from cdc.commit.java_values import java_class, joined_map, map_joiner
from cdc.commit.partition_spec import spec_fields
from cdc.errors import PartitionError
from cdc.model import PartitionField, TableName, WrittenFile
from cdc.state.ledger import PastSnapshot
from cdc.state.names import LEDGER_PROPERTY


class IcebergTable:
    """A loaded table; it sees other writers' commits only after `refresh`."""

    def __init__(self, name: TableName, table: Any, gateway: Any) -> None:
        self.name = name
        self.java = table
        self.gateway = gateway

    def refresh(self) -> None:
        """See the newest commit."""
        with translated(str(self.name)):
            self.java.refresh()

    @property
    def metadata_file(self) -> str:
        """The file of the table's metadata: another one with every commit, of whatever kind."""
        return str(self.java.operations().current().metadataFileLocation())

    @property
    def schema(self) -> Schema:
        """The table's columns."""
        return _parsed(self._class("SchemaParser").toJson(self.java.schema()))

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties."""
        return joined_map(self._map_joiner, self.java.properties())

    @cached_property
    def uuid(self) -> str:
        """What tells the table from another that had its name before."""
        return str(self.java.uuid())

    @property
    def location(self) -> str:
        """The table's folder."""
        return str(self.java.location())

    @property
    def data_location(self) -> str:
        """The folder into which data files go."""
        return str(self.java.locationProvider().newDataLocation("x")).removesuffix("/x")

    @property
    def snapshot_id(self) -> int | None:
        """The newest snapshot, if there is any."""
        snapshot = self.java.currentSnapshot()
        return None if snapshot is None else int(snapshot.snapshotId())

    @property
    def sequence_number(self) -> int:
        """The sequence number of the newest snapshot; 0 before the first."""
        snapshot = self.java.currentSnapshot()
        return 0 if snapshot is None else int(snapshot.sequenceNumber())

    @property
    def empty(self) -> bool:
        """Whether the table surely has no row."""
        snapshot = self.java.currentSnapshot()
        return snapshot is None or snapshot.summary().get("total-records") == "0"

    @property
    def partition_spec(self) -> tuple[int, tuple[PartitionField, ...]]:
        """The current partition spec's number and fields.

        Raises:
            PartitionError: A column that it needs is gone.
        """
        spec = self.java.spec()
        fields = spec_fields(self.gateway.jvm, spec, self.schema)
        for found in fields:
            if found.column is None:
                raise PartitionError(str(self.name), (f"the column of {found.name} is gone",))
        return int(spec.specId()), tuple(found.field for found in fields)

    def history(self) -> Iterator[PastSnapshot]:
        """Go through the snapshots that led to the current one, newest first, and it too."""
        snapshot = self.java.currentSnapshot()
        while snapshot is not None:
            text = snapshot.summary().get(LEDGER_PROPERTY)
            yield PastSnapshot(
                int(snapshot.snapshotId()),
                int(snapshot.sequenceNumber()),
                None if text is None else str(text),
            )
            parent = snapshot.parentId()
            snapshot = None if parent is None else self.java.snapshot(parent)

    def _class(self, name: str) -> Any:
        return java_class(self.gateway.jvm, f"org.apache.iceberg.{name}")

    @cached_property
    def _map_joiner(self) -> Any:
        return map_joiner(self.gateway.jvm)


def remove_files(table: IcebergTable, files: Iterable[WrittenFile]) -> None:
    """Delete files that no commit names. One that is gone already is no error."""
    with translated(str(table.name)):
        for file in files:
            table.java.io().deleteFile(file.path)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Schema:
    """Read a schema; the same few come again with every batch."""
    return Schema.model_validate_json(text)
