"""Many changes of a key become the one that counts."""

import random
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cdc.collapse import CollapsedChanges, collapse, touched_keys
from cdc.model import MISSING, NO_POSITION, OFFSET, OP, POSITION, PartitionMark

NEW_TABLE = None  # no mark: nothing of the partition has been applied


def changes_of(*rows: tuple[Any, ...], key_type: pa.DataType | None = None) -> pa.Table:
    """Make a change table of (id, value, op, offset) and, where it matters, position."""
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    positions = columns[4] if len(columns) > 4 else columns[3]
    return pa.table(
        {
            "id": pa.array(columns[0], key_type or pa.int64()),
            "value": pa.array(columns[1], pa.string()),
            OFFSET: pa.array(columns[3], pa.int64()),
            OP: pa.array(columns[2], pa.string()),
            POSITION: pa.array(positions, pa.int64()),
        }
    )


def ids(keys: pa.Table) -> list[Any]:
    assert keys.column_names == ["id"]
    return sorted(keys["id"].to_pylist())


def gone(collapsed: CollapsedChanges) -> list[Any]:
    """Give the keys of rows that go without another one in their place."""
    return [key for key in ids(collapsed.deleted_keys) if key not in live(collapsed)]


def applied(collapsed: CollapsedChanges) -> list[int]:
    offsets: list[int] = sorted(collapsed.applied.tolist())
    return offsets


def live(collapsed: CollapsedChanges) -> dict[Any, Any]:
    rows = collapsed.rows.to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["value"] for row in rows}


def test_the_newest_change_of_a_key_wins() -> None:
    changes = changes_of((1, "a", "c", 1), (2, "x", "c", 2), (1, "b", "u", 3), (1, "c", "u", 4))

    collapsed = collapse(changes, ["id"], NEW_TABLE, empty=False)

    assert live(collapsed) == {1: "c", 2: "x"}
    assert applied(collapsed) == [2, 4]


def test_a_row_inserted_deleted_and_inserted_again_is_there_and_replaces_nothing() -> None:
    changes = changes_of((1, "a", "c", 1), (1, None, "d", 2), (1, "b", "c", 3))

    collapsed = collapse(changes, ["id"], NEW_TABLE, empty=False)

    assert live(collapsed) == {1: "b"}
    assert ids(collapsed.deleted_keys) == []
    assert applied(collapsed) == [3]


def test_a_row_inserted_and_deleted_leaves_nothing() -> None:
    changes = changes_of((1, "a", "c", 1), (1, None, "d", 2))

    collapsed = collapse(changes, ["id"], NEW_TABLE, empty=False)

    assert live(collapsed) == {}
    assert ids(collapsed.deleted_keys) == []
    assert applied(collapsed) == [2]


def test_a_row_deleted_and_inserted_again_replaces_the_old_one() -> None:
    changes = changes_of((1, None, "d", 1), (1, "b", "c", 2))

    collapsed = collapse(changes, ["id"], NEW_TABLE, empty=False)

    assert live(collapsed) == {1: "b"}
    assert (ids(collapsed.deleted_keys), gone(collapsed)) == ([1], [])


def test_an_update_of_a_row_not_seen_before_replaces_the_old_one() -> None:
    changes = changes_of((1, "a", "u", 1), (2, "b", "c", 2))

    collapsed = collapse(changes, ["id"], NEW_TABLE, empty=False)

    assert live(collapsed) == {1: "a", 2: "b"}
    assert ids(collapsed.deleted_keys) == [1]


def test_a_snapshot_row_may_be_in_the_table_already() -> None:
    changes = changes_of((1, "a", "r", 1))

    collapsed = collapse(changes, ["id"], NEW_TABLE, empty=False)

    assert live(collapsed) == {1: "a"}
    assert ids(collapsed.deleted_keys) == [1]


def test_deletes_alone_leave_no_row() -> None:
    changes = changes_of((1, None, "d", 1), (2, None, "d", 2), (1, None, "d", 3))

    collapsed = collapse(changes, ["id"], NEW_TABLE, empty=False)

    assert live(collapsed) == {}
    assert (ids(collapsed.deleted_keys), gone(collapsed)) == ([1, 2], [1, 2])
    assert applied(collapsed) == [2, 3]


def test_in_an_empty_table_nothing_is_replaced() -> None:
    changes = changes_of((1, "a", "u", 1), (2, None, "d", 2), (3, "c", "r", 3), (1, "b", "u", 4))

    collapsed = collapse(changes, ["id"], PartitionMark(0, 99), empty=True)

    assert live(collapsed) == {1: "b", 3: "c"}
    assert ids(collapsed.deleted_keys) == []
    assert applied(collapsed) == [2, 3, 4]


@pytest.mark.parametrize(
    ("position", "replaced"), [(99, [1]), (100, [1]), (101, []), (NO_POSITION, [1])]
)
def test_an_insert_is_new_only_beyond_the_position_already_applied(
    position: int, replaced: list[int]
) -> None:
    # A connector that starts again may send an insert a second time, with a new offset.
    changes = changes_of((1, "a", "c", 500, position))

    collapsed = collapse(changes, ["id"], PartitionMark(400, 100), empty=False)

    assert live(collapsed) == {1: "a"}
    assert ids(collapsed.deleted_keys) == replaced


def test_an_insert_may_repeat_a_row_of_a_snapshot_that_is_not_exact() -> None:
    changes = changes_of((1, "a", "c", 500, 101), (2, "b", "c", 501, 102), (2, None, "d", 502, 103))

    collapsed = collapse(
        changes, ["id"], PartitionMark(400, 100), empty=False, inserts_are_new=False
    )

    assert live(collapsed) == {1: "a"}
    assert ids(collapsed.deleted_keys) == [1, 2]
    assert gone(collapsed) == [2]


def test_a_redelivered_insert_that_is_deleted_again_deletes_the_row() -> None:
    changes = changes_of((1, "a", "c", 500, 90), (1, None, "d", 501, 101))

    collapsed = collapse(changes, ["id"], PartitionMark(400, 100), empty=False)

    assert gone(collapsed) == [1]


def test_offsets_decide_and_not_source_positions() -> None:
    # After a failover positions may start again from a smaller number.
    changes = changes_of((1, "old", "u", 1, 1000), (1, "new", "u", 2, 5))

    collapsed = collapse(changes, ["id"], NEW_TABLE, empty=False)

    assert live(collapsed) == {1: "new"}


def test_changes_may_come_in_any_order() -> None:
    rows = [
        (1, "a", "c", 1),
        (1, "b", "u", 2),
        (1, None, "d", 3),
        (1, "c", "c", 4),
        (2, "x", "u", 5),
    ]
    random_ = random.Random(1)

    for _ in range(20):
        random_.shuffle(rows)
        collapsed = collapse(changes_of(*rows), ["id"], NEW_TABLE, empty=False)

        assert live(collapsed) == {1: "c", 2: "x"}
        assert ids(collapsed.deleted_keys) == [2]


def test_all_columns_of_a_composite_key_count() -> None:
    changes = changes_of((1, "a", "c", 1), (1, "b", "c", 2), (2, "a", "c", 3), (1, "a", "u", 4))

    collapsed = collapse(changes, ["id", "value"], NEW_TABLE, empty=False)

    pairs = [(row["id"], row["value"]) for row in collapsed.rows.to_pylist()]
    assert sorted(pairs) == [(1, "a"), (1, "b"), (2, "a")]
    assert applied(collapsed) == [2, 3, 4]


def test_the_keys_columns_come_in_the_keys_order() -> None:
    changes = changes_of((1, "a", "u", 1))

    collapsed = collapse(changes, ["value", "id"], NEW_TABLE, empty=False)

    assert collapsed.deleted_keys.column_names == ["value", "id"]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int32(), [-1, 0]),
        (pa.string(), ["", "é", "e"]),
        (pa.decimal128(38, 10), [Decimal("-1E-10"), Decimal("1E-10")]),
        (pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
        (pa.timestamp("us"), [datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 0, 1)]),
        (
            pa.timestamp("us", "UTC"),
            [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)],
        ),
        (pa.bool_(), [True, False]),
        (pa.binary(), [b"", b"\x00", b"\x00\x00"]),
        (pa.float64(), [0.5, -0.5, 0.0]),
        (pa.float32(), [0.5, -0.5]),
        (pa.time64("us"), [time(0), time(0, 0, 0, 1), time(23, 59, 59, 999_999)]),
        (pa.binary(2), [b"ab", b"ac"]),
        (pa.large_string(), ["a", "b"]),
    ],
    ids=str,
)
def test_keys_of_every_type_are_told_apart(kind: pa.DataType, values: list[Any]) -> None:
    inserts = [(value, "a", "c", place) for place, value in enumerate(values)]
    deletes = [(values[0], None, "d", 100)]

    collapsed = collapse(
        changes_of(*inserts, *deletes, (values[-1], "b", "u", 101), key_type=kind),
        ["id"],
        PartitionMark(0, 1000),
        empty=False,
    )

    assert live(collapsed) == {**dict.fromkeys(values[1:], "a"), values[-1]: "b"}
    assert gone(collapsed) == [values[0]]
    assert ids(collapsed.deleted_keys) == sorted(values)


@pytest.mark.parametrize(
    ("position", "looked_up", "kept"),
    [(90, True, []), (90, False, [1]), (101, True, [1]), (NO_POSITION, True, [1])],
)
def test_an_update_sent_again_after_its_row_was_deleted_leaves_nothing(
    position: int, looked_up: bool, kept: list[int]
) -> None:
    changes = changes_of((1, None, "u", 500, position), (2, "b", "u", 501, 90))
    missing = pa.array([["value"], None], pa.list_(pa.string()))

    collapsed = collapse(
        changes.append_column(MISSING, missing),
        ["id"],
        PartitionMark(400, 100),
        empty=False,
        looked_up=looked_up,
    )

    assert ids(collapsed.rows.select(["id"])) == [*kept, 2]
    assert ids(collapsed.deleted_keys) == [*kept, 2]
    assert applied(collapsed) == [*(500 for _ in kept), 501]


def test_null_is_a_key_like_any_other() -> None:
    changes = changes_of(
        (None, "a", "c", 1), (1, "b", "c", 2), (None, "c", "u", 3), (2, None, "d", 4)
    )

    collapsed = collapse(changes, ["id"], PartitionMark(0, 1000), empty=False)

    assert live(collapsed) == {None: "c", 1: "b"}
    assert set(collapsed.deleted_keys["id"].to_pylist()) == {None, 1, 2}
    assert applied(collapsed) == [2, 3, 4]


def test_nulls_in_a_composite_key_are_told_apart_by_the_other_columns() -> None:
    changes = changes_of(
        (None, "a", "c", 1),
        (None, None, "c", 2),
        (1, None, "c", 3),
        (None, "a", "d", 4),
        (None, None, "u", 5),
    )

    collapsed = collapse(changes, ["id", "value"], PartitionMark(0, 1000), empty=False)

    pairs = {(row["id"], row["value"]) for row in collapsed.rows.to_pylist()}
    assert pairs == {(None, None), (1, None)}
    assert {"id": None, "value": "a"} in collapsed.deleted_keys.to_pylist()


@pytest.mark.parametrize("name", ["row", "_row", "min", "offset"])
def test_a_key_column_may_have_any_name(name: str) -> None:
    changes = changes_of((1, "a", "c", 1), (1, "b", "u", 2), (2, "c", "c", 3))
    changes = changes.rename_columns([name, *changes.column_names[1:]])

    assert collapse(changes, [name], NEW_TABLE, empty=False).rows["value"].to_pylist() == ["b", "c"]


def test_not_a_number_is_one_key() -> None:
    nan = float("nan")
    changes = changes_of((nan, "a", "c", 1), (nan, "b", "u", 2), key_type=pa.float64())

    assert collapse(changes, ["id"], NEW_TABLE, empty=False).rows["value"].to_pylist() == ["b"]


def test_of_equal_offsets_the_later_in_the_table_wins() -> None:
    # What stands for a truncate has the offset of the change that it follows.
    changes = changes_of((2, "x", "c", 9), (1, "a", "c", 5), (1, None, "d", 5), (1, "b", "c", 5))

    assert live(collapse(changes, ["id"], NEW_TABLE, empty=False)) == {1: "b", 2: "x"}


def test_every_key_with_a_change_is_touched_once() -> None:
    changes = changes_of((1, "a", "c", 1), (None, "b", "c", 2), (1, None, "d", 3))

    assert touched_keys(changes, ["id"]).to_pylist() == [{"id": 1}, {"id": None}]


def test_no_change_collapses_to_nothing() -> None:
    collapsed = collapse(changes_of(), ["id"], NEW_TABLE, empty=False)

    assert (len(collapsed.rows), len(collapsed.deleted_keys)) == (0, 0)
    assert applied(collapsed) == []


@pytest.mark.parametrize("seed", range(5))
def test_the_end_is_that_of_applying_the_changes_one_by_one(seed: int) -> None:
    random_ = random.Random(seed)
    before = dict.fromkeys(range(10), "old")
    rows = dict(before)
    changes: list[tuple[Any, ...]] = []
    for offset in range(100):
        key = random_.randrange(20)
        if key in rows and random_.random() < 0.5:
            del rows[key]
            changes.append((key, None, "d", offset))
        else:
            changes.append((key, f"v{offset}", "u" if key in rows else "c", offset))
            rows[key] = f"v{offset}"

    collapsed = collapse(changes_of(*changes), ["id"], NEW_TABLE, empty=False)

    kept = {key: value for key, value in before.items() if key not in ids(collapsed.deleted_keys)}
    assert {**kept, **live(collapsed)} == rows
    assert not kept.keys() & live(collapsed).keys()
    touched = {change[0] for change in changes}
    assert len(applied(collapsed)) == len(touched)
    assert set(gone(collapsed)) == {key for key in before if key in touched - rows.keys()}
