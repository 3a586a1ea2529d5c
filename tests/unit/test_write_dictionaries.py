"""Which columns of a Parquet file have a dictionary."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cdc.write import FileWriter

RANDOM = np.random.default_rng(5)


def with_dictionary(tmp_path: Path, table: pa.Table) -> set[str]:
    """Write a table and name the leaves that have a dictionary in the file."""
    (written,) = FileWriter(str(tmp_path), table.schema, {}).write_rows(table)
    assert pq.read_table(written.file.path).equals(table)
    group = pq.ParquetFile(written.file.path).metadata.row_group(0)
    columns = (group.column(place) for place in range(group.num_columns))
    return {column.path_in_schema for column in columns if column.has_dictionary_page}


@pytest.mark.parametrize("size", [10, 1000, 1001, 5000, 200_000])
def test_values_that_repeat_have_one_and_others_none(tmp_path: Path, size: int) -> None:
    numbers = np.arange(size)
    table = pa.table(
        {
            "key": RANDOM.permutation(size),
            "text": pa.array(numbers).cast(pa.string()),
            "status": pa.array(np.array(["new", "old"])[numbers % 2]),
            "empty": pa.nulls(size, pa.int32()),
            "runs": numbers // 5,  # sorted, each value five times
            "tenth": RANDOM.integers(0, max(size // 10, 1), size),
        }
    )

    assert with_dictionary(tmp_path, table) == {"status", "empty", "runs", "tenth"}


@pytest.mark.parametrize(("size", "expected"), [(1, set()), (3, {"s"})])
def test_so_do_a_handful_of_rows(tmp_path: Path, size: int, expected: set[str]) -> None:
    table = pa.table({"key": np.arange(size), "s": ["x"] * size})

    assert with_dictionary(tmp_path, table) == expected


def test_values_within_nested_columns_have_one(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "tags": ["a", "b"],
        "more": [("k", [1, 2])],
        "at": {"x": 1.5, "deep": {"y": "z"}},
    }
    member = pa.struct([("x", pa.float64()), ("deep", pa.struct([("y", pa.string())]))])
    schema = pa.schema(
        [
            ("tags", pa.list_(pa.field("element", pa.string()))),
            ("more", pa.map_(pa.string(), pa.list_(pa.field("element", pa.int32())))),
            ("at", member),
        ]
    )

    assert with_dictionary(tmp_path, pa.Table.from_pylist([row] * 50, schema)) == {
        "tags.list.element",
        "more.key_value.key",
        "more.key_value.value.list.element",
        "at.x",
        "at.deep.y",
    }
