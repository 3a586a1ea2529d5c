"""Written Parquet files as Iceberg describes them."""

from typing import Any

from cdc.commit.footers import FooterReader
from cdc.commit.java_values import java_array, java_class
from cdc.commit.partitions import Partitions
from cdc.commit.table import IcebergTable
from cdc.model import FileKind, WrittenFile


class FileDescriber:
    """Describes the files of one commit to a table."""

    def __init__(self, table: IcebergTable, key: tuple[str, ...] = ()) -> None:
        self.partitions = Partitions(table)
        self._table = table
        self._footers = FooterReader(table.gateway.jvm, table.java.io())
        self._key = key

    def data_file(self, file: WrittenFile) -> Any:
        """Describe a file of rows."""
        spec = self.partitions.spec(file.spec_id)
        builder = self._class("DataFiles").builder(spec)
        return self._described(self._placed(builder, file), file).build()

    def delete_file(self, file: WrittenFile) -> Any:
        """Describe a file of keys or of positions whose rows are gone."""
        if file.kind is FileKind.POSITION_DELETES:
            return self._position_deletes(file)
        return self._equality_deletes(file)

    def deletion_vector(
        self,
        path: str,
        size: int,
        rows: int,
        partition: tuple[int, tuple[Any, ...]],
        data_file: str,
        start: int | None,
        length: int | None,
    ) -> Any:
        """Describe the vector of a data file, which is a part of a Puffin file."""
        spec_id, values = partition
        builder = (
            self._class("FileMetadata")
            .deleteFileBuilder(self.partitions.spec(spec_id))
            .ofPositionDeletes()
            .withPath(path)
            .withFormat("PUFFIN")
            .withFileSizeInBytes(size)
            .withRecordCount(rows)
            .withReferencedDataFile(data_file)
            .withContentOffset(start)
            .withContentSizeInBytes(length)
        )
        if values:
            builder = builder.withPartition(self.partitions.values(spec_id, values))
        return builder.build()

    def _equality_deletes(self, file: WrittenFile) -> Any:
        schema = self._table.java.schema()
        fields = [schema.findField(name).fieldId() for name in self._key]
        ids = java_array(self._table.gateway, java_class(self._table.gateway.jvm, "int"), fields)
        # Under the unpartitioned spec a delete holds in every partition.
        spec = self.partitions.unpartitioned()
        builder = self._class("FileMetadata").deleteFileBuilder(spec).ofEqualityDeletes(ids)
        return self._described(builder, file).build()

    def _position_deletes(self, file: WrittenFile) -> Any:
        spec = self.partitions.spec(file.spec_id)
        builder = self._class("FileMetadata").deleteFileBuilder(spec).ofPositionDeletes()
        if len(file.referenced) == 1:
            # Readers of other data files need not open it.
            builder = builder.withReferencedDataFile(file.referenced[0])
        return self._described(self._placed(builder, file), file).build()

    def _placed(self, builder: Any, file: WrittenFile) -> Any:
        if not file.partition:
            return builder
        return builder.withPartition(self.partitions.values(file.spec_id, file.partition))

    def _described(self, builder: Any, file: WrittenFile) -> Any:
        kinds = self._class("MetricsConfig")
        table = self._table.java
        if file.kind is FileKind.POSITION_DELETES:
            config = kinds.forPositionDelete(table)
        else:
            config = kinds.forTable(table)
        return (
            builder.withPath(file.path)
            .withFormat("PARQUET")
            .withFileSizeInBytes(file.size)
            .withMetrics(self._footers.metrics(file, config))
        )

    def _class(self, name: str) -> Any:
        return java_class(self._table.gateway.jvm, f"org.apache.iceberg.{name}")
