"""Rows of a partitioned table, and the deletes of them by position."""

import pickle
import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.types import PrimitiveType

from cdc.model import FileKind, LiveFile, PartitionField, WrittenFile, lane_of
from cdc.schema.arrow_schema import arrow_type
from cdc.schema.partitioning import TAKEN
from cdc.write import FileWriter
from tests.unit.partition_columns import WHOLE, scalar


def schema_of(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(
        [
            pa.field(name, kind, metadata={"PARQUET:field_id": str(place)})
            for place, (name, kind) in enumerate(columns.items(), 1)
        ]
    )


def rows_of(file: WrittenFile) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(file.path).to_pylist()
    return rows


ORDERS = schema_of(id=pa.int64(), status=pa.string(), at=pa.timestamp("us", "UTC"))
AT_DAY_AND_STATUS = (PartitionField("day", "at"), PartitionField("identity", "status"))


def order(id_: int, status: str | None, day: int | None) -> dict[str, Any]:
    at = None if day is None else datetime(2026, 1, day, 12, tzinfo=UTC)
    return {"id": id_, "status": status, "at": at}


def test_each_partition_has_a_file_with_its_rows_in_order(tmp_path: Path) -> None:
    writer = FileWriter(str(tmp_path), ORDERS, {}, 3, AT_DAY_AND_STATUS)
    rows = [
        order(1, "new", 1),
        order(2, "new", 2),
        order(3, None, None),
        order(4, "new", 1),
        order(5, "old", 1),
        order(6, None, None),
    ]

    written = writer.write_rows(pa.Table.from_pylist(rows, ORDERS), 4)

    day = (date(2026, 1, 1) - date(1970, 1, 1)).days
    assert {w.file.partition: [row["id"] for row in rows_of(w.file)] for w in written} == {
        (day, "new"): [1, 4],
        (day + 1, "new"): [2],
        (None, None): [3, 6],
        (day, "old"): [5],
    }
    assert {(w.file.spec_id, lane_of(w.file.path), w.file.kind) for w in written} == {
        (3, 4, FileKind.DATA)
    }
    for w in written:
        assert w.rows is not None
        assert rows_of(w.file) == [rows[place] for place in w.rows]
        assert (w.file.rows, w.file.size) == (len(w.rows), Path(w.file.path).stat().st_size)


def test_values_are_given_as_iceberg_keeps_them(tmp_path: Path) -> None:
    schema = schema_of(
        day=pa.date32(),
        time=pa.time64("us"),
        at=pa.timestamp("us", "UTC"),
        price=pa.decimal128(9, 2),
        flag=pa.bool_(),
        text=pa.string(),
        raw=pa.binary(),
        number=pa.int32(),
    )
    fields = tuple(PartitionField("identity", name) for name in schema.names)
    values = (-1, 5, -7, Decimal("1.50"), True, "a/b=ü\0", b"\xff", 3)
    columns = [pa.array([value], kind) for value, kind in zip(values, schema.types, strict=True)]
    writer = FileWriter(str(tmp_path), schema, {}, 1, fields)

    (written,) = writer.write_rows(pa.table(columns, schema=schema), 0)

    assert written.file.partition == values
    assert [type(value) for value in written.file.partition] == [type(value) for value in values]


@pytest.mark.parametrize(
    "value", ["", "/", "..", "../../x", "a=b&c", "%2F", "x" * 5000, "\n", "😀"]
)
def test_no_value_breaks_a_files_name(tmp_path: Path, value: str) -> None:
    fields = (PartitionField("identity", "status"),)
    rows = pa.Table.from_pylist([order(1, value, 1), order(2, "plain", 1)], ORDERS)
    writer = FileWriter(f"{tmp_path}/data", ORDERS, {}, 1, fields)

    odd, _ = writer.write_rows(rows, 0)

    assert odd.file.partition == (value,)
    assert [row["id"] for row in rows_of(odd.file)] == [1]
    assert Path(odd.file.path).parent == tmp_path / "data"


def test_a_thousand_partitions_are_written_one_after_the_other(tmp_path: Path) -> None:
    writer = FileWriter(str(tmp_path), ORDERS, {}, 1, (PartitionField("identity", "id"),))
    ids = [*range(1000), *range(1000)]
    rows = pa.Table.from_pylist([order(n, "new", 1) for n in ids], ORDERS)

    written = writer.write_rows(rows, 0)

    assert sorted(w.file.partition[0] for w in written) == list(range(1000))
    assert {w.file.rows for w in written} == {2}


def test_the_rows_of_a_partition_keep_their_order_among_many(tmp_path: Path) -> None:
    writer = FileWriter(str(tmp_path), ORDERS, {}, 1, (PartitionField("bucket", "id", 3),))
    ids = np.random.default_rng(1).integers(0, 100, 20_000)
    rows = pa.table([ids, ids.astype(str), pa.nulls(len(ids))], schema=ORDERS)

    for written in writer.write_rows(rows, 0):
        assert written.rows is not None
        assert (np.diff(written.rows) > 0).all()


def test_codes_of_many_fields_do_not_run_over(tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(12)]
    schema = schema_of(**dict.fromkeys(names, pa.int32()))
    columns = [pa.array(np.roll(np.arange(100), place), pa.int32()) for place in range(12)]
    fields = tuple(PartitionField("identity", name) for name in names)

    written = FileWriter(str(tmp_path), schema, {}, 1, fields).write_rows(
        pa.table(columns, schema=schema)
    )

    assert len(written) == 100
    for w in written:
        assert [tuple(row.values()) for row in rows_of(w.file)] == [w.file.partition]


def test_nested_columns_follow_their_rows(tmp_path: Path) -> None:
    schema = schema_of(
        id=pa.int64(),
        tags=pa.list_(pa.string()),
        more=pa.map_(pa.string(), pa.int32()),
        at=pa.struct([("x", pa.float64())]),
    )
    rows = [
        {"id": n, "tags": [str(n), None], "more": [("k", n)], "at": {"x": n / 2}} for n in range(9)
    ]
    writer = FileWriter(str(tmp_path), schema, {}, 1, (PartitionField("bucket", "id", 3),))

    written = writer.write_rows(pa.Table.from_pylist(rows, schema), 0)

    assert len(written) > 1
    assert sorted((row for w in written for row in rows_of(w.file)), key=lambda r: r["id"]) == rows


def test_a_partitioned_writer_goes_to_the_executors(tmp_path: Path) -> None:
    writer = FileWriter(str(tmp_path), ORDERS, {}, 3, AT_DAY_AND_STATUS)

    assert pickle.loads(pickle.dumps(writer)) == writer


@st.composite
def partitioned(
    draw: st.DrawFn,
) -> tuple[list[PrimitiveType], list[list[Any]], tuple[PartitionField, ...]]:
    """Draw the types and the values of some columns, and fields that they can be split by."""
    kinds = draw(st.lists(st.sampled_from(list(WHOLE)), min_size=1, max_size=3))
    size = draw(st.integers(1, 30))
    columns, fields = [], []
    for place, kind in enumerate(kinds):
        few = draw(st.lists(st.none() | WHOLE[kind], min_size=1, max_size=5))
        columns.append(draw(st.lists(st.sampled_from(few), min_size=size, max_size=size)))
        transform = draw(st.sampled_from(TAKEN[type(kind)]))
        numbered = transform in ("bucket", "truncate")
        argument = draw(st.integers(1, 9)) if numbered else None
        fields.append(PartitionField(transform, f"c{place}", argument))
    return kinds, columns, tuple(fields)


@settings(deadline=None, max_examples=150)
@given(partitioned())
def test_every_row_is_in_one_file_and_has_the_files_partition(
    drawn: tuple[list[PrimitiveType], list[list[Any]], tuple[PartitionField, ...]],
) -> None:
    kinds, columns, fields = drawn
    schema = schema_of(**{f"c{n}": arrow_type(kind, "t") for n, kind in enumerate(kinds)})
    arrays = [pa.array(*both) for both in zip(columns, schema.types, strict=True)]
    table = pa.table(arrays, schema=schema)

    with tempfile.TemporaryDirectory() as folder:
        written = FileWriter(folder, schema, {}, 1, fields).write_rows(table, 0)
        read = [pq.read_table(w.file.path) for w in written]

    places = [range(len(table)) if w.rows is None else w.rows for w in written]
    assert sorted(place for rows in places for place in rows) == list(range(len(table)))
    assert len({w.file.partition for w in written}) == len(written)
    for w, rows, file in zip(written, places, read, strict=True):
        assert file.equals(table.take(pa.array(rows, pa.int64())))
        for place in rows:
            values = [column[place] for column in columns]
            assert w.file.partition == tuple(
                scalar(*all_) for all_ in zip(fields, kinds, values, strict=True)
            )


def live(path: str, spec_id: int = 0, partition: tuple[Any, ...] = ()) -> LiveFile:
    return LiveFile(path, 1, 100, 0, spec_id, partition)


def positions(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_positions_are_sorted_by_path_and_place_without_doubles(tmp_path: Path) -> None:
    writer = FileWriter(str(tmp_path), ORDERS, {})

    (written,) = writer.write_positions(
        [
            (live("s3://b/ü"), positions(3)),
            (live("s3://b/a"), positions(9, 2, 9)),
            (live("s3://b/z"), positions(0)),
            (live("s3://b/a"), positions(2, 1)),
            (live("s3://b/none"), positions()),
        ]
    )

    assert [tuple(row.values()) for row in rows_of(written)] == [
        ("s3://b/a", 1),
        ("s3://b/a", 2),
        ("s3://b/a", 9),
        ("s3://b/z", 0),
        ("s3://b/ü", 3),
    ]
    assert written == WrittenFile(
        FileKind.POSITION_DELETES,
        written.path,
        Path(written.path).stat().st_size,
        5,
        referenced=("s3://b/a", "s3://b/z", "s3://b/ü"),
    )
    assert lane_of(written.path) is None


def test_each_partition_of_each_spec_has_its_own_deletes(tmp_path: Path) -> None:
    writer = FileWriter(str(tmp_path), ORDERS, {}, 2, AT_DAY_AND_STATUS)

    written = writer.write_positions(
        [
            (live("a", 0), positions(1)),
            (live("b", 1, (5,)), positions(2)),
            (live("c", 2, (5,)), positions(3)),
            (live("d", 1, (None,)), positions(4)),
            (live("e", 1, (5,)), positions(5)),
        ]
    )

    assert {(w.spec_id, w.partition): w.referenced for w in written} == {
        (0, ()): ("a",),
        (1, (5,)): ("b", "e"),
        (2, (5,)): ("c",),
        (1, (None,)): ("d",),
    }


def test_position_deletes_have_icebergs_own_columns(tmp_path: Path) -> None:
    (written,) = FileWriter(str(tmp_path), ORDERS, {}).write_positions(
        [(live("b"), positions(7)), (live("a"), positions(3))]
    )

    file = pq.ParquetFile(written.path)
    fields = [(f.name, f.type, f.nullable, f.metadata) for f in file.schema_arrow]
    assert fields == [
        ("file_path", pa.string(), False, {b"PARQUET:field_id": b"2147483546"}),
        ("pos", pa.int64(), False, {b"PARQUET:field_id": b"2147483545"}),
    ]
    paths = file.metadata.row_group(0).column(0).statistics
    assert (paths.min, paths.max) == ("a", "b")


def test_no_positions_make_no_file(tmp_path: Path) -> None:
    writer = FileWriter(str(tmp_path), ORDERS, {})

    assert writer.write_positions([]) == ()
    assert writer.write_positions([(live("a"), positions())]) == ()
    assert list(tmp_path.iterdir()) == []
