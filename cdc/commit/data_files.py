"""Written Parquet files as Iceberg describes them."""

from typing import Any

from cdc.commit.java_values import java_array
from cdc.commit.table import IcebergTable
from cdc.model import WrittenFile


def data_file(table: IcebergTable, file: WrittenFile) -> Any:
    """Describe a file of rows."""
    builder = table.jvm.org.apache.iceberg.DataFiles.builder(table.java.spec())
    return _described(builder, table, file).build()


def equality_deletes(table: IcebergTable, file: WrittenFile, key: tuple[str, ...]) -> Any:
    """Describe a file of keys whose rows are gone."""
    schema = table.java.schema()
    fields = [schema.findField(name).fieldId() for name in key]
    ids = java_array(table.gateway, table.jvm.int, fields)
    # Under the unpartitioned spec a delete holds in every partition.
    builder = table.jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.java.specs().get(0))
    return _described(builder.ofEqualityDeletes(ids), table, file).build()


def _described(builder: Any, table: IcebergTable, file: WrittenFile) -> Any:
    jvm = table.jvm.org.apache.iceberg
    metrics = jvm.parquet.ParquetUtil.fileMetrics(
        table.java.io().newInputFile(file.path), jvm.MetricsConfig.forTable(table.java)
    )
    return (
        builder.withPath(file.path)
        .withFormat(jvm.FileFormat.PARQUET)
        .withFileSizeInBytes(file.size)
        .withMetrics(metrics)
    )
