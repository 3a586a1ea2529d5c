"""Values that a change leaves out come from earlier changes of the same key, and from no other."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cdc.collapse import fill, unsent_values
from cdc.model import MISSING, OFFSET, OP

NAMES = ["id", "a", "b", OP, OFFSET, MISSING]


def changes(*rows: tuple[int, Any, Any, str, list[str] | None]) -> pa.Table:
    """Make changes of id, a, b, op and what is missing; their offsets are their places."""
    columns = list(zip(*rows, strict=True))
    types = [pa.int64(), pa.string(), pa.string(), pa.string()]
    arrays = [pa.array(values, kind) for values, kind in zip(columns[:4], types, strict=True)]
    offsets = pa.array(range(len(rows)), pa.int64())
    missing = pa.array(columns[4], pa.list_(pa.string()))
    return pa.Table.from_arrays([*arrays, offsets, missing], NAMES)


def values(table: pa.Table) -> list[tuple[Any, ...]]:
    return [(row["id"], row["a"], row["b"]) for row in table.to_pylist()]


def test_a_value_comes_from_the_last_change_that_has_it() -> None:
    filled = fill(
        changes(
            (1, "old", "b0", "c", None),
            (1, "new", None, "u", ["b"]),
            (1, None, "b2", "u", ["a"]),
            (1, None, None, "u", ["a", "b"]),
        ),
        ["id"],
    )

    assert values(filled) == [
        (1, "old", "b0"),
        (1, "new", "b0"),
        (1, "new", "b2"),
        (1, "new", "b2"),
    ]
    assert MISSING not in filled.column_names


def test_a_null_that_was_sent_is_a_value() -> None:
    filled = fill(changes((1, None, "b", "c", None), (1, None, None, "u", ["a", "b"])), ["id"])

    assert values(filled)[1] == (1, None, "b")


def test_another_key_gives_nothing() -> None:
    filled = fill(changes((1, "a", "b", "c", None), (2, None, "x", "u", ["a"])), ["id"])

    assert filled[MISSING].to_pylist() == [None, ["a"]]
    assert values(filled)[1] == (2, None, "x")


def test_a_deleted_row_gives_nothing() -> None:
    filled = fill(
        changes((1, "a", "b", "c", None), (1, None, None, "d", None), (1, None, "x", "u", ["a"])),
        ["id"],
    )

    assert filled[MISSING].to_pylist() == [None, None, ["a"]]


def test_changes_are_told_apart_by_offset_and_not_by_their_order_in_memory() -> None:
    ordered = changes(
        (1, "a", "b", "c", None), (1, None, "x", "u", ["a"]), (1, "z", "y", "u", None)
    )

    filled = fill(ordered.take(pa.array([2, 1, 0])), ["id"])

    assert values(filled) == [(1, "a", "b"), (1, "a", "x"), (1, "z", "y")]


def test_what_no_change_has_comes_from_the_table() -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "a": ["table", "unused"]})
    batch = changes(
        (1, None, "x", "u", ["a"]), (1, "new", "y", "u", None), (1, None, "z", "u", ["a"])
    )

    filled = fill(batch, ["id"], rows)

    assert values(filled) == [(1, "table", "x"), (1, "new", "y"), (1, "new", "z")]
    assert MISSING not in filled.column_names


def test_what_was_not_read_from_the_table_stays_missing() -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "a": ["table"]})

    filled = fill(changes((1, None, None, "u", ["a", "b"])), ["id"], rows)

    assert filled[MISSING].to_pylist() == [["b"]]
    assert values(filled) == [(1, "table", None)]


def test_a_row_deleted_in_the_batch_takes_nothing_from_the_table() -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "a": ["table"]})

    filled = fill(changes((1, None, None, "d", None), (1, None, "x", "u", ["a"])), ["id"], rows)

    assert filled[MISSING].to_pylist() == [None, ["a"]]


def test_a_row_of_the_table_is_found_by_a_key_of_null() -> None:
    rows = pa.table({"id": pa.array([None], pa.int64()), "a": ["table"]})
    batch = changes((1, None, "x", "u", ["a"]))
    batch = batch.set_column(0, "id", pa.array([None], pa.int64()))

    assert values(fill(batch, ["id"], rows)) == [(None, "table", "x")]


def test_a_key_column_may_be_named_row() -> None:
    batch = changes((1, "a", "b", "c", None), (1, None, "x", "u", ["a"]))

    filled = fill(batch.rename_columns(["row", *NAMES[1:]]), ["row"])

    assert filled["a"].to_pylist() == ["a", "a"]


def test_changes_of_a_table_without_a_key_stay_as_they_are() -> None:
    batch = changes((1, "a", "b", "c", None), (1, None, "x", "u", ["a"]))

    assert fill(batch, []) is batch


def test_what_is_still_unsent_values_is_named_with_its_key() -> None:
    filled = fill(
        changes(
            (1, "a", "b", "c", None),
            (2, None, None, "u", ["b", "a"]),
            (1, None, "x", "u", ["a"]),
            (3, "a", None, "u", ["b"]),
        ),
        ["id"],
    )

    found = unsent_values(filled, ["id"])

    assert found is not None
    assert found.to_pylist() == [{"id": 2, MISSING: ["a", "b"]}, {"id": 3, MISSING: ["b"]}]
    assert unsent_values(filled.slice(0, 1), ["id"]) is None
    assert unsent_values(filled.drop([MISSING]), ["id"]) is None


def test_whole_changes_are_left_alone() -> None:
    whole = changes((1, "a", "b", "c", None)).drop([MISSING])

    assert fill(whole, ["id"]) is whole


def test_the_changes_of_a_key_stay_in_order_however_many_there_are() -> None:
    size, keys = 200_000, 8  # more rows than Arrow groups at a time
    places = np.arange(size)
    sent = (places // keys) % 3 == 0
    missing = pa.array([None if whole else ["a"] for whole in sent], pa.list_(pa.string()))
    batch = pa.table({"id": places % keys, "a": places, OP: pa.repeat("u", size), OFFSET: places})

    filled = fill(batch.append_column(MISSING, missing), ["id"])

    wanted = np.maximum.accumulate(np.where(sent, places, -1).reshape(-1, keys), axis=0)
    assert (filled["a"].to_numpy() == wanted.ravel()).all()


@pytest.mark.parametrize("seed", range(5))
def test_filling_equals_going_through_the_changes_one_by_one(seed: int) -> None:
    dice = np.random.default_rng(seed)
    rows: list[tuple[int, Any, Any, str, list[str] | None]] = []
    state: dict[int, dict[str, Any] | None] = {}
    wanted = []
    for place in range(300):
        key = int(dice.integers(0, 20))
        known = state.get(key)
        if known is not None and dice.random() < 0.2:
            rows.append((key, None, None, "d", None))
            state[key] = None
            wanted.append((key, None, None))
            continue
        row = {"a": f"a{place}", "b": f"b{place}" if dice.random() < 0.8 else None}
        missing = [n for n in ("a", "b") if known is not None and dice.random() < 0.4]
        sent = {n: None if n in missing else v for n, v in row.items()}
        rows.append((key, sent["a"], sent["b"], "u", missing or None))
        state[key] = {n: known[n] if known and n in missing else v for n, v in row.items()}
        wanted.append((key, *state[key].values()))  # type: ignore[union-attr]

    filled = fill(changes(*rows), ["id"])

    assert values(filled) == wanted
    assert MISSING not in filled.column_names
