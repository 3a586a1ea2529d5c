"""An Iceberg table without a mirror around it: files written by hand, commits as the mirror's."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from pyspark.sql import SparkSession

from cdc.commit import IcebergCatalog, RowChange, commit_rows
from cdc.model import FileKind, PartitionMark, TableName, WrittenFile
from cdc.schema import arrow_schema
from cdc.state.ledger import Ledger

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "name", StringType(), required=False),
)
POSITION_DELETES = pa.schema(
    [
        pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
    ]
)
COMPACT = "options => map('rewrite-all', 'true')"
EXPIRE = "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"


def local(path: str) -> Path:
    """Give the place of a file on this machine."""
    return Path("/" + path.removeprefix("file:").lstrip("/"))


class BareTable:
    """A table of the shared catalog, under a name of its own."""

    def __init__(
        self, spark: SparkSession, *, schema: Schema = SCHEMA, format_version: int = 2
    ) -> None:
        self.spark = spark
        self.catalog = IcebergCatalog(spark, "shop")
        self.name = TableName(("bare",), f"t{uuid.uuid4().hex[:8]}")
        properties = {
            "format-version": str(format_version),
            "write.delete.mode": "merge-on-read",
            "write.update.mode": "merge-on-read",
        }
        self.table = self.catalog.create(self.name, schema, properties, None)
        self.batch = 0

    @property
    def sql_name(self) -> str:
        return f"shop.{self.name}"

    def write(
        self,
        rows: Sequence[dict[str, Any]],
        *,
        lane: int = 0,
        spec_id: int = 0,
        partition: tuple[Any, ...] = (),
    ) -> WrittenFile:
        """Write a data file, as a task of the mirror would."""
        path = f"{self.table.data_location}/p{lane:05}-{uuid.uuid4()}.parquet"
        schema = arrow_schema(self.table.schema, str(self.name))
        size = self._put(path, pa.Table.from_pylist(list(rows), schema))
        return WrittenFile(FileKind.DATA, path, size, len(rows), spec_id, partition)

    def keys(self, *ids: int) -> WrittenFile:
        """Write equality deletes of ids."""
        path = f"{self.table.data_location}/{uuid.uuid4()}-deletes.parquet"
        schema = pa.schema([arrow_schema(self.table.schema, str(self.name)).field("id")])
        size = self._put(path, pa.table({"id": list(ids)}, schema))
        return WrittenFile(FileKind.EQUALITY_DELETES, path, size, len(ids))

    def positions(self, *hits: tuple[WrittenFile, int]) -> WrittenFile:
        """Write position deletes of rows in data files of one partition."""
        path = f"{self.table.data_location}/{uuid.uuid4()}-deletes.parquet"
        pairs = sorted((file.path, position) for file, position in hits)
        columns = {"file_path": [p for p, _ in pairs], "pos": [n for _, n in pairs]}
        size = self._put(path, pa.table(columns, POSITION_DELETES))
        first = hits[0][0]
        return WrittenFile(
            FileKind.POSITION_DELETES,
            path,
            size,
            len(pairs),
            first.spec_id,
            first.partition,
            tuple(dict.fromkeys(p for p, _ in pairs)),
        )

    def change(
        self, *files: WrittenFile, since: int | None = None, truncate: bool = False
    ) -> RowChange:
        """Describe the next commit; without `since`, from the table's state as it is loaded."""
        self.batch += 1
        ledger = Ledger("m", "t", self.batch, {0: PartitionMark(self.batch)})
        since = self.table.snapshot_id if since is None else since
        return RowChange(files, ledger, ("id",), since, truncate)

    def commit(self, *files: WrittenFile, truncate: bool = False) -> RowChange:
        """Commit files to the newest state."""
        change = self.change(*files, truncate=truncate)
        commit_rows(self.table, change)
        self.table.refresh()
        return change

    def call(self, procedure: str, arguments: str = "") -> None:
        """Let Spark run one of Iceberg's procedures on the table; the loaded one is left as is."""
        more = f", {arguments}" if arguments else ""
        self.spark.sql(f"CALL shop.system.{procedure}(table => '{self.name}'{more})").collect()

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Read the table by Spark."""
        found = self.spark.table(self.sql_name).select(*(columns or ("id", "name"))).collect()
        return sorted(tuple(row) for row in found)

    def operations(self) -> list[str]:
        """List what every snapshot did, oldest first."""
        found = self.spark.table(f"{self.sql_name}.snapshots").orderBy("committed_at").collect()
        return [row.operation for row in found]

    def _put(self, path: str, table: pa.Table) -> int:
        place = local(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, place)
        return place.stat().st_size


def named(*ids: int, name: str = "new") -> list[dict[str, Any]]:
    """Make rows."""
    return [{"id": number, "name": name} for number in ids]
