"""A deleted row stays with its last values, marked; every other row is not marked."""

import random
from typing import Any

import pyarrow as pa

from cdc.collapse import (
    CollapsedChanges,
    collapse_soft,
    fill,
    mark_deletes,
    unsent_values,
    with_deletes_at,
)
from cdc.model import DELETED, MISSING, OFFSET, OP, POSITION, TIME, Cutoff

Row = tuple[int, Any, Any, str]


def changes_of(*rows: Row, missing: list[list[str] | None] | None = None) -> pa.Table:
    """Make changes of id, a, b and op; their offsets are their places."""
    columns = list(zip(*rows, strict=True))
    kinds = [pa.int64(), pa.string(), pa.string(), pa.string()]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    places = pa.array(range(len(rows)), pa.int64())
    times = places.cast(pa.timestamp("us", "UTC"))
    names = ["id", "a", "b", OP, OFFSET, POSITION, TIME]
    table = pa.Table.from_arrays([*arrays, places, places, times], names)
    if missing is not None:
        table = table.append_column(MISSING, pa.array(missing, pa.list_(pa.string())))
    return table


def rows_of(*rows: tuple[int, Any, Any, bool]) -> pa.Table:
    """Make rows as they are looked up in the table."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 4
    kinds = [pa.int64(), pa.string(), pa.string(), pa.bool_()]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    return pa.Table.from_arrays(arrays, ["id", "a", "b", DELETED])


def applied(changes: pa.Table, rows: pa.Table | None = None) -> CollapsedChanges:
    filled = fill(mark_deletes(changes, ["id"]), ["id"], rows)
    return collapse_soft(filled, ["id"], empty=False, looked_up=rows is not None)


def live(collapsed: CollapsedChanges) -> dict[int, tuple[Any, Any, bool]]:
    return {row["id"]: (row["a"], row["b"], row[DELETED]) for row in collapsed.rows.to_pylist()}


def test_a_delete_keeps_the_last_values_of_the_batch() -> None:
    collapsed = applied(
        changes_of(
            (1, "a", "b", "c"), (1, "a2", None, "u"), (1, None, None, "d"), (2, "x", "", "c")
        )
    )

    assert live(collapsed) == {1: ("a2", None, True), 2: ("x", "", False)}
    assert MISSING not in collapsed.rows.column_names
    assert collapsed.deleted_keys["id"].to_pylist() == [1, 2]
    assert sorted(collapsed.applied) == [2, 3]


def test_a_delete_of_a_row_of_the_table_asks_for_all_of_it_first() -> None:
    collapsed = applied(changes_of((1, None, None, "d"), (2, "x", "y", "c")))

    asked = unsent_values(collapsed.rows, ["id"])

    assert asked is not None
    assert asked.to_pylist() == [{"id": 1, MISSING: [DELETED, "a", "b"]}]


def test_a_delete_keeps_the_values_of_the_table() -> None:
    collapsed = applied(changes_of((1, None, None, "d")), rows_of((1, "a", None, False)))

    assert live(collapsed) == {1: ("a", None, True)}
    assert collapsed.deleted_keys["id"].to_pylist() == [1]
    assert MISSING not in collapsed.rows.column_names


def test_a_delete_takes_what_an_update_left_out_from_the_table() -> None:
    changes = changes_of((1, None, "new", "u"), (1, None, None, "d"), missing=[["a"], None])

    assert live(applied(changes, rows_of((1, "a", "old", False)))) == {1: ("a", "new", True)}


def test_a_delete_of_a_marked_row_leaves_it_marked_with_its_values() -> None:
    collapsed = applied(changes_of((1, None, None, "d")), rows_of((1, "a", "b", True)))

    assert live(collapsed) == {1: ("a", "b", True)}


def test_a_second_delete_keeps_the_values_from_before_the_first() -> None:
    changes = changes_of((1, "a", "b", "c"), (1, None, None, "d"), (1, None, None, "d"))

    assert live(applied(changes)) == {1: ("a", "b", True)}


def test_a_delete_of_a_row_that_never_came_leaves_nothing() -> None:
    changes = changes_of((1, None, None, "d"), (2, "x", "y", "u"))

    collapsed = applied(changes, rows_of())

    assert live(collapsed) == {2: ("x", "y", False)}
    assert collapsed.deleted_keys["id"].to_pylist() == [2]
    assert collapsed.applied.tolist() == [1]


def test_an_empty_table_needs_not_be_asked() -> None:
    marked = mark_deletes(changes_of((1, None, None, "d"), (2, "x", "y", "c")), ["id"])

    collapsed = collapse_soft(fill(marked, ["id"]), ["id"], empty=True, looked_up=False)

    assert live(collapsed) == {2: ("x", "y", False)}
    assert len(collapsed.deleted_keys) == 0


def test_a_row_inserted_again_is_live_and_replaces_the_marked_one() -> None:
    collapsed = applied(changes_of((1, None, None, "d"), (1, None, "new", "c")))

    assert live(collapsed) == {1: (None, "new", False)}
    assert collapsed.deleted_keys["id"].to_pylist() == [1]
    # However new its position is: the marked row is in the table.
    assert applied(changes_of((1, "a", "b", "c"))).deleted_keys["id"].to_pylist() == [1]


def test_an_insert_takes_nothing_over_from_a_row_deleted_in_the_batch() -> None:
    changes = changes_of(
        (1, "a", "b", "c"), (1, None, None, "d"), (1, None, "x", "c"), missing=[None, None, ["a"]]
    )

    assert applied(changes).rows[MISSING].to_pylist() == [["a"]]


def test_an_insert_takes_nothing_over_from_a_marked_row_of_the_table() -> None:
    changes = changes_of((1, None, "x", "c"), missing=[["a"]])

    assert applied(changes, rows_of((1, "a", "b", True))).rows[MISSING].to_pylist() == [["a"]]
    assert live(applied(changes, rows_of((1, "a", "b", False)))) == {1: ("a", "x", False)}


def test_an_update_sent_again_finds_the_values_of_the_marked_row() -> None:
    # A connector that starts again sends an update of a row that is deleted by now.
    changes = changes_of((1, None, "x", "u"), missing=[["a"]])

    assert live(applied(changes, rows_of((1, "a", "b", True)))) == {1: ("a", "x", False)}


def test_rows_of_key_columns_alone_are_looked_up_too() -> None:
    changes = changes_of((1, None, None, "d"), (2, None, None, "d")).drop(["a", "b"])

    assert unsent_values(applied(changes).rows, ["id"]) is not None
    found = applied(changes, rows_of((1, None, None, False)).drop(["a", "b"]))
    assert [(row["id"], row[DELETED]) for row in found.rows.to_pylist()] == [(1, True)]
    assert found.applied.tolist() == [0]


def test_a_truncate_marks_what_came_before_it_and_is_no_record() -> None:
    changes = changes_of(
        (1, "a", "b", "c"), (2, "a", "b", "c"), (2, "c", "b", "c"), (3, "d", "b", "c")
    )

    collapsed = applied(with_deletes_at(changes, ["id"], 0, [Cutoff(0, offset=1, position=1)]))

    assert live(collapsed) == {
        1: ("a", "b", True),
        2: ("c", "b", False),
        3: ("d", "b", False),
    }
    assert sorted(collapsed.applied) == [0, 2, 3]


def test_batches_leave_what_applying_the_changes_one_by_one_leaves() -> None:
    dice = random.Random(5)
    table: dict[int, tuple[Any, Any, bool]] = {}
    wanted: dict[int, tuple[Any, Any, bool]] = {}
    for batch in range(40):
        rows: list[Row] = []
        missing: list[list[str] | None] = []
        for place in range(dice.randrange(1, 30)):
            key, value = dice.randrange(12), f"{batch}.{place}"
            old = wanted.get(key)
            if dice.random() < 0.4:
                rows.append((key, None, None, "d"))
                missing.append(None)
                if old is not None:
                    wanted[key] = (*old[:2], True)
            elif old is not None and not old[2] and dice.random() < 0.5:
                rows.append((key, None, value, "u"))
                missing.append(["a"])
                wanted[key] = (old[0], value, False)
            else:
                rows.append((key, value, value, "c"))
                missing.append(None)
                wanted[key] = (value, value, False)
        changes = changes_of(*rows, missing=missing)
        collapsed = applied(changes)
        asked = unsent_values(collapsed.rows, ["id"])
        if asked is not None:
            keys = asked["id"].to_pylist()
            collapsed = applied(changes, rows_of(*((k, *table[k]) for k in keys if k in table)))
        assert unsent_values(collapsed.rows, ["id"]) is None
        for key in collapsed.deleted_keys["id"].to_pylist():
            table.pop(key, None)
        assert not table.keys() & live(collapsed).keys()
        table |= live(collapsed)
        assert table == wanted
