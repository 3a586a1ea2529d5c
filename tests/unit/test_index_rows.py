"""Rows read back by file and position, and keys of files that an older schema wrote."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cdc.index import KeyIndex, read_rows
from cdc.model import LiveFile
from tests.unit.index_tables import open_file


def field(name: str, kind: pa.DataType, number: int, nullable: bool = True) -> pa.Field:
    return pa.field(name, kind, nullable, metadata={"PARQUET:field_id": str(number)})


ID = field("id", pa.int64(), 1, False)
NOTE = field("note", pa.string(), 2)


def write(path: Path, rows: list[dict[str, Any]], *fields: pa.Field, groups: int = 3) -> str:
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(fields)), path, row_group_size=groups)
    return str(path)


def read(paths: list[str], places: list[tuple[int, int]], *fields: pa.Field) -> list[Any]:
    files = np.array([file for file, _ in places], np.int64)
    positions = np.array([position for _, position in places], np.int64)
    found = read_rows(open_file, paths, files, positions, pa.schema(fields))
    assert found.schema.equals(pa.schema(fields), check_metadata=True)
    rows: list[Any] = found.to_pylist()
    return rows


def test_rows_come_in_the_order_in_which_they_are_asked_for(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{n}", [{"id": 100 * n + i, "note": None} for i in range(10)], ID, NOTE)
        for n in range(3)
    ]
    places = [(2, 9), (0, 0), (2, 0), (0, 7), (2, 9), (0, 3), (0, 2)]

    rows = read(paths, places, ID)

    assert [row["id"] for row in rows] == [209, 0, 200, 7, 209, 3, 2]


def test_no_row_asked_for_opens_no_file() -> None:
    assert read([], [], ID, NOTE) == []
    assert read(["nowhere"], [], ID, NOTE) == []


def test_columns_are_found_by_id_under_an_older_name_and_type(tmp_path: Path) -> None:
    old = [
        field("number", pa.int32(), 1, False),
        field("id", pa.string(), 7),  # dropped since; its name has come to the key
        field("day", pa.decimal128(4, 2), 3),
    ]
    path = write(tmp_path / "old", [{"number": 5, "id": "x", "day": 1}], *old)

    rows = read([path], [(0, 0)], NOTE, ID, field("amount", pa.decimal128(20, 2), 3))

    assert rows == [{"note": None, "id": 5, "amount": 1}]


def test_a_file_without_any_id_is_read_by_names(tmp_path: Path) -> None:
    path = write(tmp_path / "plain", [{"id": 5}], pa.field("id", pa.int32()))

    assert read([path], [(0, 0)], NOTE, ID) == [{"note": None, "id": 5}]


def test_nested_columns_are_fitted_by_id_at_every_depth(tmp_path: Path) -> None:
    before = pa.struct([field("x", pa.int32(), 11), field("y", pa.string(), 12)])
    after = pa.struct([field("y", pa.int64(), 11), field("z", pa.string(), 13)])

    def columns(inner: pa.DataType) -> list[pa.Field]:
        return [
            field("at", inner, 4),
            field("list", pa.list_(field("element", inner, 14)), 5),
            field(
                "map",
                pa.map_(field("key", pa.string(), 15, False), field("value", inner, 16)),
                6,
            ),
        ]

    old = {"x": 1, "y": "dropped"}
    rows: list[dict[str, Any]] = [
        {"at": old, "list": [old, None], "map": [("k", old)]},
        {"at": None, "list": None, "map": None},
        {"at": old, "list": [], "map": []},
        {"at": {"x": 2, "y": None}, "list": [old], "map": [("a", None), ("b", {"x": 3, "y": ""})]},
    ]
    path = write(tmp_path / "nested", rows, *columns(before), groups=2)

    found = read([path], [(0, n) for n in (3, 2, 1, 0)], *columns(after))

    new = {"y": 1, "z": None}
    assert found == [
        {
            "at": {"y": 2, "z": None},
            "list": [new],
            "map": [("a", None), ("b", {"y": 3, "z": None})],
        },
        {"at": new, "list": [], "map": []},
        {"at": None, "list": None, "map": None},
        {"at": new, "list": [new, None], "map": [("k", new)]},
    ]


def test_names_with_dots_are_no_paths(tmp_path: Path) -> None:
    dotted = field("a.b", pa.int64(), 2)
    nested = field("a", pa.struct([field("b", pa.int64(), 4)]), 3)
    path = write(tmp_path / "dots", [{"a.b": 1, "a": {"b": 2}}], nested, dotted)

    assert read([path], [(0, 0)], dotted) == [{"a.b": 1}]
    assert read([path], [(0, 0)], nested) == [{"a": {"b": 2}}]


def test_a_position_beyond_the_file_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "short", [{"id": 1}], ID)

    with pytest.raises(IndexError):
        read([path], [(0, 1)], ID)


def find(tmp_path: Path, path: str, rows: int, keys: list[Any], *fields: pa.Field) -> list[Any]:
    index = KeyIndex(str(tmp_path / "cache"), pa.schema(fields), open_file)
    table = pa.Table.from_pylist(keys, pa.schema([f.with_nullable(True) for f in fields]))
    found = index.find(table, [LiveFile(path, 1, rows)], 0)
    return list(zip(found.rows.tolist(), found.positions.tolist(), strict=True))


def test_keys_of_files_from_before_a_rename_and_a_widening_are_found(tmp_path: Path) -> None:
    old = [field("number", pa.int32(), 1, False), field("id", pa.int64(), 7)]
    path = write(tmp_path / "old", [{"number": n, "id": 9 - n} for n in range(9)], *old)

    assert find(tmp_path, path, 9, [{"id": 2}, {"id": 40}], ID) == [(0, 2)]


def test_a_key_column_that_a_file_is_older_than_is_null_there(tmp_path: Path) -> None:
    path = write(tmp_path / "old", [{"id": 1}, {"id": 2}], ID)
    keys = [{"id": 2, "note": None}, {"id": 1, "note": ""}]

    assert find(tmp_path, path, 2, keys, ID, NOTE) == [(0, 1)]


def test_null_is_not_found_where_the_table_has_none(tmp_path: Path) -> None:
    loose = ID.with_nullable(True)
    path = write(tmp_path / "loose", [{"id": None}, {"id": 0}], loose)

    assert find(tmp_path, path, 2, [{"id": None}, {"id": 0}], ID) == [(1, 1)]


def test_a_day_that_became_a_moment_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "days", [{"id": date(1970, 1, 2)}], field("id", pa.date32(), 1, False))
    moment = field("id", pa.timestamp("us"), 1, False)

    assert find(tmp_path, path, 1, [{"id": datetime(1970, 1, 2)}], moment) == [(0, 0)]


def test_nothing_is_found_in_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "empty", [], ID)

    assert find(tmp_path, path, 0, [{"id": 1}], ID) == []
    assert find(tmp_path, path, 0, [], ID) == []
