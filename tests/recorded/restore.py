"""Put the recorded warehouse into a folder, where Iceberg's metadata has absolute paths.

    python -m tests.recorded.restore FOLDER [SERVERS]

Every path in it begins with a root that no machine has. It stands in the catalog, in the metadata,
in manifests and their lists, and in the rows of position deletes. Files whose length changes with
it have another length in the manifest, or the list, that names them.
"""

import json
import sqlite3
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.compute as pc
import pyarrow.parquet as pq

RECORDED = Path(__file__).parent / "warehouse"
ROOT = "/recorded/warehouse"
ARCHIVE = RECORDED / "warehouse.tar.xz"
CONFIG = "recorded.toml"
CATALOG = "catalog.db"
SERVERS = "localhost:9092"  # as the recorded config has it

# What Iceberg says of the columns of position deletes, and of a file that has them.
PATH_FIELD_ID = 2147483546
POSITION_DELETES = 1

Row = dict[str, Any]


def restore(folder: Path, servers: str = SERVERS) -> Path:
    """Put the warehouse and its config into a folder.

    Args:
        folder: An empty one, or one that is not there yet.
        servers: Where Kafka is.

    Returns:
        The config file, to run the mirror with.
    """
    warehouse = folder / "warehouse"
    warehouse.mkdir(parents=True)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(warehouse, filter="data")
    relocate(warehouse, ROOT, str(warehouse.resolve()))
    config = folder / CONFIG
    config.write_text((RECORDED / CONFIG).read_text().replace(SERVERS, servers))
    return config


def pack(warehouse: Path) -> None:
    """Keep a warehouse, whose paths begin with the recorded root already."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(ARCHIVE, "w:xz") as archive:
        for path in sorted(warehouse.rglob("*")):
            if path.is_file():
                archive.add(path, str(path.relative_to(warehouse)), filter=plain)


def relocate(folder: Path, old: str, new: str) -> None:
    """Give all paths in a warehouse another root. Its files stay where they are.

    Args:
        folder: Where the catalog and the tables are now.
        old: What their paths begin with.
        new: What they begin with from then on.
    """
    _Relocation(folder, old, new).run()


@dataclass(frozen=True, slots=True)
class _Relocation:
    folder: Path
    old: str
    new: str

    def run(self) -> None:
        """Rewrite what is named before what names it, since lengths change."""
        avro = sorted(self.folder.rglob("*.avro"))
        for path in sorted(self.folder.rglob("*.parquet")):
            self._position_deletes(path)
        for path in avro:
            if not path.name.startswith("snap-"):
                _rewrite_avro(path, self._manifest_entry)
        for path in avro:
            if path.name.startswith("snap-"):
                _rewrite_avro(path, self._listed_manifest)
        for path in sorted(self.folder.rglob("*.metadata.json")):
            path.write_text(path.read_text().replace(self.old, self.new))
        self._catalog()

    def _moved(self, path: str) -> str:
        return path.replace(self.old, self.new, 1)

    def _length(self, path: str, known: int) -> int:
        """Give the length of a file by its new path; one that is gone had the known one."""
        here = self.folder / path[path.index(self.new) + len(self.new) + 1 :]
        return here.stat().st_size if here.exists() else known

    def _position_deletes(self, path: Path) -> None:
        """Rewrite a file of position deletes; any other stays as it is."""
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            ids = [(f.metadata or {}).get(b"PARQUET:field_id") for f in schema]
            if str(PATH_FIELD_ID).encode() not in ids:
                return
            codec = file.metadata.row_group(0).column(0).compression
            rows = file.read()
        place = ids.index(str(PATH_FIELD_ID).encode())
        paths = pc.replace_substring(rows.column(place), self.old, self.new, max_replacements=1)
        rows = rows.set_column(place, schema.field(place), paths.cast(schema.field(place).type))
        pq.write_table(rows.cast(schema), path, compression=codec.lower(), store_schema=False)

    def _manifest_entry(self, entry: Row) -> None:
        file = entry["data_file"]
        file["file_path"] = self._moved(file["file_path"])
        file["file_size_in_bytes"] = self._length(file["file_path"], file["file_size_in_bytes"])
        if file.get("referenced_data_file"):
            file["referenced_data_file"] = self._moved(file["referenced_data_file"])
        if file.get("content") == POSITION_DELETES:
            for bounds in (file["lower_bounds"], file["upper_bounds"]):
                for bound in bounds or ():
                    if bound["key"] == PATH_FIELD_ID:
                        bound["value"] = self._moved(bound["value"].decode()).encode()

    def _listed_manifest(self, manifest: Row) -> None:
        manifest["manifest_path"] = self._moved(manifest["manifest_path"])
        manifest["manifest_length"] = self._length(
            manifest["manifest_path"], manifest["manifest_length"]
        )

    def _catalog(self) -> None:
        columns = (
            ("iceberg_tables", "metadata_location"),
            ("iceberg_tables", "previous_metadata_location"),
            ("iceberg_namespace_properties", "property_value"),
        )
        with closing(sqlite3.connect(self.folder / CATALOG)) as database:
            for table, column in columns:
                database.execute(
                    f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (self.old, self.new)
                )
            database.commit()
            database.execute("VACUUM")  # what was in free pages is no part of a recording


def read_avro(path: Path) -> tuple[list[Row], dict[str, str]]:
    """Read the records of a manifest, or of a list of manifests, and its metadata."""
    with path.open("rb") as file:
        reader: Any = fastavro.reader(file)
        return list(reader), dict(reader.metadata)


def _rewrite_avro(path: Path, change: Callable[[Row], None]) -> None:
    """Change the records of an Avro file, and leave its schema, metadata and codec as they are."""
    records, metadata = read_avro(path)
    for record in records:
        change(record)
    schema = json.loads(metadata.pop("avro.schema"))
    codec: Any = metadata.pop("avro.codec", "null")
    with path.open("wb") as file:
        fastavro.writer(file, schema, records, codec=codec, metadata=metadata)


if __name__ == "__main__":
    print(restore(Path(sys.argv[1]), *sys.argv[2:3]))
