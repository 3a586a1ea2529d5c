"""The Parquet files that a task writes."""

import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cdc.model import (
    OFFSET,
    OP,
    FileKind,
    SourceColumn,
    SourceSchema,
    SourceType,
    WrittenFile,
    lane_of,
)
from cdc.schema import arrow_schema, iceberg_schema, mirror_columns
from cdc.write import FileWriter
from connectors import DIALECTS

SOURCE = SourceSchema(
    (
        SourceColumn("note", SourceType("string")),
        SourceColumn("id", SourceType("int64")),
        SourceColumn("tags", SourceType("array", element=SourceType("string"))),
        SourceColumn("at", SourceType("struct", fields=(SourceColumn("x", SourceType("double")),))),
        SourceColumn("region", SourceType("string")),
    ),
    ("region", "id"),
)
KEY = ("region", "id")
SCHEMA = arrow_schema(iceberg_schema(mirror_columns(SOURCE, "t", DIALECTS["mysql"])), "t")
ROWS = [
    {"region": "eu", "id": 1, "note": "a", "tags": ["x", None], "at": {"x": 1.5}},
    {"region": "us", "id": 2, "note": None, "tags": None, "at": None},
]


def changes(rows: list[dict[str, Any]]) -> pa.Table:
    """Make a change table: the table's columns and the mirror's own."""
    table = pa.Table.from_pylist(rows, pa.schema([f.with_nullable(True) for f in SCHEMA]))
    marked = table.append_column(OFFSET, pa.array(range(len(rows)), pa.int64()))
    return marked.append_column(OP, pa.array(["c"] * len(rows), pa.string()))


def local(written: WrittenFile) -> Path:
    return Path("/" + written.path.removeprefix("file:").lstrip("/"))


def one_file(writer: FileWriter, rows: pa.Table, lane: int | None = None) -> WrittenFile:
    """Write rows that lie in one partition."""
    (written,) = writer.write_rows(rows, lane)
    assert written.rows is None  # all rows, in their order
    return written.file


@pytest.fixture
def writer(tmp_path: Path) -> FileWriter:
    return FileWriter(f"{tmp_path}/data", SCHEMA, {})


def test_rows_come_back_without_the_mirrors_own_columns(writer: FileWriter) -> None:
    written = one_file(writer, changes(ROWS))

    assert pq.read_table(local(written)).to_pylist() == ROWS
    assert written.kind is FileKind.DATA


def test_a_files_description_has_its_true_size_and_rows(writer: FileWriter) -> None:
    written = one_file(writer, changes(ROWS * 1000))

    assert written.size == local(written).stat().st_size
    assert written.rows == 2000


def field_ids(file: Path) -> dict[str, int]:
    """Read the field ids of all leaves and groups from a file's own schema."""

    def walk(field: pa.Field, prefix: str) -> dict[str, int]:
        name = f"{prefix}{field.name}"
        found = {name: int(field.metadata[b"PARQUET:field_id"])}
        inner = [field.type.value_field] if pa.types.is_list(field.type) else []
        inner = list(field.type) if pa.types.is_struct(field.type) else inner
        for member in inner:
            found |= walk(member, name + ".")
        return found

    return {k: v for field in pq.read_schema(file) for k, v in walk(field, "").items()}


def test_every_column_carries_its_field_id_at_every_depth(writer: FileWriter) -> None:
    written = one_file(writer, changes(ROWS))

    columns = ["region", "id", "note", "tags", "at", "tags.element", "at.x"]
    assert field_ids(local(written)) == {name: id_ for id_, name in enumerate(columns, 1)}


def test_the_key_is_required_and_the_rest_optional(writer: FileWriter) -> None:
    written = one_file(writer, changes(ROWS))

    schema = pq.ParquetFile(local(written)).schema_arrow
    assert {field.name: field.nullable for field in schema} == {
        "region": False,
        "id": False,
        "note": True,
        "tags": True,
        "at": True,
    }


def test_every_column_is_compressed_with_zstd(writer: FileWriter) -> None:
    written = one_file(writer, changes(ROWS))

    group = pq.ParquetFile(local(written)).metadata.row_group(0)
    assert {group.column(n).compression for n in range(group.num_columns)} == {"ZSTD"}


@pytest.mark.parametrize("kind", [FileKind.EQUALITY_DELETES, FileKind.DELETED_KEYS])
def test_a_key_file_has_the_key_alone_with_its_ids(writer: FileWriter, kind: FileKind) -> None:
    written = writer.write_keys(kind, changes(ROWS), KEY)

    assert written.kind is kind
    assert pq.read_table(local(written)).to_pylist() == [
        {"region": "eu", "id": 1},
        {"region": "us", "id": 2},
    ]
    assert field_ids(local(written)) == {"region": 1, "id": 2}


def test_equality_deletes_can_be_told_by_their_name(writer: FileWriter) -> None:
    deletes = writer.write_keys(FileKind.EQUALITY_DELETES, changes(ROWS), KEY)
    rows = one_file(writer, changes(ROWS))

    assert deletes.path.endswith("-deletes.parquet")
    assert not rows.path.endswith("-deletes.parquet")


def test_writing_twice_writes_two_files(writer: FileWriter) -> None:
    first, second = (one_file(writer, changes(ROWS)) for _ in range(2))

    assert first.path != second.path
    assert local(first).read_bytes() == local(second).read_bytes()


def test_a_file_of_rows_is_named_after_its_kafka_partition(writer: FileWriter) -> None:
    assert lane_of(one_file(writer, changes(ROWS), 7).path) == 7
    assert lane_of(one_file(writer, changes(ROWS), 123456).path) == 123456
    assert lane_of(one_file(writer, changes(ROWS)).path) is None


def test_no_rows_make_no_file(writer: FileWriter, tmp_path: Path) -> None:
    assert writer.write_rows(changes([]), 0) == ()
    assert list(tmp_path.rglob("*.parquet")) == []


def test_quarantined_rows_are_one_file(writer: FileWriter) -> None:
    written = writer.write_quarantined(changes(ROWS))

    assert written.kind is FileKind.QUARANTINED
    assert pq.read_table(local(written)).to_pylist() == ROWS


@pytest.mark.parametrize("scheme", ["", "file:", "file://", "file:///"])
def test_a_file_lies_under_the_location_in_the_locations_own_words(
    tmp_path: Path, scheme: str
) -> None:
    location = f"{scheme}{str(tmp_path).lstrip('/') if scheme == 'file:///' else tmp_path}/a b/data"

    written = one_file(FileWriter(location, SCHEMA, {}), changes(ROWS))

    assert written.path.startswith(location + "/")
    with FileWriter(location, SCHEMA, {}).open(written.path) as file:
        assert pq.read_table(file).to_pylist() == ROWS
    assert [file.parent for file in tmp_path.rglob("*.parquet")] == [tmp_path / "a b" / "data"]


def test_chunked_and_sliced_changes_are_written_whole(writer: FileWriter) -> None:
    table = pa.concat_tables([changes(ROWS), changes(ROWS).slice(1), changes([])])

    written = one_file(writer, table)

    assert pq.read_table(local(written))["id"].to_pylist() == [1, 2, 2]


def test_the_columns_order_is_the_tables(writer: FileWriter) -> None:
    table = changes(ROWS).select(["note", "at", "id", "tags", "region"])

    written = one_file(writer, table)

    assert pq.read_schema(local(written)).names == SCHEMA.names


def test_a_writer_goes_to_the_executors(writer: FileWriter) -> None:
    copy = pickle.loads(pickle.dumps(writer))

    assert copy == writer
    assert copy.schema.equals(SCHEMA, check_metadata=True)


def test_wide_decimals_and_timestamps_keep_their_logical_types(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("d", pa.decimal128(38, 10), metadata={"PARQUET:field_id": "1"}),
            pa.field("z", pa.timestamp("us", "UTC"), metadata={"PARQUET:field_id": "2"}),
            pa.field("t", pa.timestamp("us"), metadata={"PARQUET:field_id": "3"}),
        ]
    )
    least = -62135596800000000
    table = pa.table(
        {
            "d": pa.array([Decimal("-1E-10")], pa.decimal128(38, 10)),
            "z": pa.array([least], pa.timestamp("us", "UTC")),
            "t": pa.array([least], pa.timestamp("us")),
        }
    )

    written = one_file(FileWriter(str(tmp_path), schema, {}), table)

    assert pq.read_table(local(written)).schema.types == schema.types
    assert pq.read_table(local(written)).equals(table)
