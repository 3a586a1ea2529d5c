"""One Iceberg table: what the stages need to know of it, and its columns' changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import IcebergType, NestedField

from cdc.commit.alter import Noted, alter
from cdc.commit.java_errors import translated
from cdc.commit.java_values import java_class, joined_map, map_joiner
from cdc.commit.live_files import FileChanges, read_changed_files, read_live_files
from cdc.commit.partition_spec import change_spec, spec_fields
from cdc.errors import PartitionError
from cdc.model import LiveFile, PartitionField, TableName, WrittenFile
from cdc.model.column_steps import ColumnStep


class IcebergTable:
    """A loaded table; it sees other writers' commits only after `refresh`."""

    def __init__(self, name: TableName, table: Any, gateway: Any) -> None:
        self.name = name
        self.java = table
        self.gateway = gateway
        self.jvm = gateway.jvm

    def refresh(self) -> None:
        """See the newest commit."""
        with translated(str(self.name)):
            self.java.refresh()

    @property
    def schema(self) -> Schema:
        """The table's columns."""
        return _parsed(self._schema_parser.toJson(self.java.schema()))

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties."""
        return joined_map(self._map_joiner, self.java.properties())

    @cached_property
    def uuid(self) -> str:
        """What tells the table from another that had its name before."""
        return str(self.java.uuid())

    @property
    def format_version(self) -> int:
        """The version of Iceberg's format; 3 has deletion vectors for position deletes."""
        return int(self._class("TableUtil").formatVersion(self.java))

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
    def parent_id(self) -> int | None:
        """The snapshot that the newest one was made from, if there is any."""
        snapshot = self.java.currentSnapshot()
        parent = None if snapshot is None else snapshot.parentId()
        return None if parent is None else int(parent)

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

    def ancestors(self) -> Iterator[Any]:
        """Go through the Java snapshots that led to the current one, newest first, and it too."""
        snapshot = self.java.currentSnapshot()
        while snapshot is not None:
            yield snapshot
            parent = snapshot.parentId()
            snapshot = None if parent is None else self.java.snapshot(parent)

    def summaries(self) -> Iterator[dict[str, str]]:
        """Go through the summaries of the snapshots that led to the current one, newest first."""
        return (joined_map(self._map_joiner, s.summary()) for s in self.ancestors())

    def alter(self, steps: Iterable[ColumnStep], noted: Noted) -> None:
        """Change columns and set properties, in one commit. Done twice, the second time fails."""
        with translated(str(self.name)):
            alter(self.java, self.gateway, steps, noted, self._java_type)

    def add_columns(self, columns: Sequence[tuple[str, IcebergType]]) -> None:
        """Add optional columns at the end, in one commit. One that is there already is left."""
        with translated(str(self.name)):
            self.java.refresh()
            update = self.java.updateSchema()
            known = {column.name for column in self.schema.fields}
            for name, kind in columns:
                if name not in known:
                    # With a parent of null a dot in the name makes no path.
                    update = update.addColumn(None, name, self._java_type(kind))
            update.commit()

    @property
    def partition_spec(self) -> tuple[int, tuple[PartitionField, ...]]:
        """The current partition spec's number and fields.

        Raises:
            PartitionError: A column that it needs is gone.
        """
        spec = self.java.spec()
        fields = spec_fields(self.jvm, spec, self.schema)
        for found in fields:
            if found.column is None:
                raise PartitionError(str(self.name), (f"the column of {found.name} is gone",))
        return int(spec.specId()), tuple(found.field for found in fields)

    def set_partition(self, fields: Iterable[PartitionField]) -> None:
        """Partition what is written from now on, in one commit. Done twice, it is done once.

        Raises:
            PartitionError: The table cannot have such a field.
        """
        with translated(str(self.name)):
            self.java.refresh()
            change_spec(self.jvm, str(self.name), self.java, self.schema, fields)

    def live_files(self) -> list[LiveFile]:
        """List the data files of the current snapshot, which `snapshot_id` names.

        Raises:
            NotParquetError: Somebody wrote one in another format.
        """
        with translated(str(self.name)):
            return read_live_files(str(self.name), self.java)

    def changed_files(self, since: int | None) -> FileChanges | None:
        """List what was added and removed between a snapshot and the current one.

        None where the one does not lead to the other: after a rollback, or where a snapshot in
        between has expired.

        Raises:
            NotParquetError: Somebody added a data file in another format.
        """
        with translated(str(self.name)):
            return read_changed_files(str(self.name), self.java, since)

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set table properties, in one commit. Done twice, it is done once."""
        with translated(str(self.name)):
            update = self.java.updateProperties()
            for name, value in properties.items():
                update.set(name, value)
            update.commit()

    def remove(self, files: Iterable[WrittenFile]) -> None:
        """Delete files that no commit names. One that is gone already is no error."""
        with translated(str(self.name)):
            for file in files:
                self.java.io().deleteFile(file.path)

    def _java_type(self, kind: IcebergType) -> Any:
        # Within the type, too, each part needs a number of its own.
        schema = assign_fresh_schema_ids(Schema(NestedField(1, "x", kind, required=False)))
        return self._schema_parser.fromJson(schema.model_dump_json()).findType("x")

    def _class(self, name: str) -> Any:
        return java_class(self.jvm, f"org.apache.iceberg.{name}")

    @cached_property
    def _schema_parser(self) -> Any:
        return self._class("SchemaParser")

    @cached_property
    def _map_joiner(self) -> Any:
        return map_joiner(self.jvm)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Schema:
    """Read a schema; the same few come again with every batch."""
    return Schema.model_validate_json(text)
