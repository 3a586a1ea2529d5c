"""The log has a row for every change, and no change is replaced by another."""

import pyarrow as pa

from cdc.collapse import fill, log_rows, unsent_values
from cdc.model import MISSING, OFFSET, OP, PARTITION, POSITION, TIME

NAMES = ["id", "a", OP, OFFSET, POSITION, TIME]


def changes_of(*rows: tuple[int | None, str | None, str, int]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 4
    kinds = [pa.int64(), pa.string(), pa.string(), pa.int64()]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    times = arrays[3].cast(pa.timestamp("us", "UTC"))
    return pa.Table.from_arrays([*arrays, arrays[3], times], NAMES)


def test_every_change_is_a_row_with_where_it_came_from() -> None:
    changes = changes_of((1, "a", "c", 5), (1, "b", "u", 6), (1, None, "d", 7), (1, "c", "c", 8))

    logged = log_rows(changes, 3)

    assert logged.rows.drop([PARTITION]).equals(changes)
    assert logged.rows[PARTITION].to_pylist() == [3, 3, 3, 3]
    assert logged.rows.schema.field(PARTITION).type == pa.int32()
    assert (len(logged.deleted_keys), logged.applied.tolist()) == (0, [5, 6, 7, 8])


def test_no_change_is_no_row() -> None:
    assert len(log_rows(changes_of(), 0).rows) == 0


def test_every_change_has_the_values_that_it_left_out() -> None:
    changes = changes_of((1, None, "u", 5), (1, None, "u", 6), (2, None, "u", 7)).append_column(
        MISSING, pa.array([["a"]] * 3, pa.list_(pa.string()))
    )

    asked = unsent_values(log_rows(fill(changes, ["id"]), 0).rows, ["id"])
    assert asked is not None
    assert asked["id"].to_pylist() == [1, 1, 2]

    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "a": ["one", "two"]})
    logged = log_rows(fill(changes, ["id"], rows), 0)
    assert logged.rows["a"].to_pylist() == ["one", "one", "two"]
    assert unsent_values(logged.rows, ["id"]) is None
