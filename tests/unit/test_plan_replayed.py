"""Changes that were put aside: which are overtaken, and which a history has already."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from cdc.collapse import has_newer, without_applied
from cdc.model import (
    CURRENT,
    MISSING,
    NO_POSITION,
    OFFSET,
    OP,
    PARTITION,
    POSITION,
    TIME,
    VALID_FROM,
    VALID_TO,
)

MOMENT = pa.timestamp("us", "UTC")


def moment(second: int | None) -> datetime | None:
    return None if second is None else datetime.fromtimestamp(second, UTC)


def waiting(*changes: tuple[Any, int, int, int]) -> pa.Table:
    """Make changes of id, partition, offset and position."""
    ids, partitions, offsets, positions = zip(*changes, strict=True)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            PARTITION: pa.array(partitions, pa.int32()),
            OFFSET: pa.array(offsets, pa.int64()),
            POSITION: pa.array(positions, pa.int64()),
        }
    )


def applied(*changes: tuple[Any, int, int]) -> pa.Table:
    """Make changes of id, offset and position."""
    ids, offsets, positions = zip(*changes, strict=True)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            OFFSET: pa.array(offsets, pa.int64()),
            POSITION: pa.array(positions, pa.int64()),
        }
    )


@pytest.mark.parametrize(
    ("put_aside", "other", "newer"),
    [
        ((1, 0, 5, 50), (1, 6, 60), True),
        ((1, 0, 5, 50), (1, 4, 60), False),
        ((1, 0, 5, 50), (2, 6, 60), False),
        ((1, 0, 5, 50), (1, 6, 40), True),  # a failover: Kafka's order alone counts
        ((1, 1, 5, 50), (1, 9, 60), True),  # in another partition the position tells
        ((1, 1, 5, 50), (1, 9, 40), False),
        ((1, 1, 5, NO_POSITION), (1, 9, 60), False),  # and without one nobody can
        ((None, 0, 5, 50), (None, 6, 60), True),
    ],
)
def test_a_newer_change_of_the_same_row_is_found(
    put_aside: tuple[Any, int, int, int], other: tuple[Any, int, int], newer: bool
) -> None:
    found = has_newer(waiting(put_aside), applied(other), ["id"], 0)

    assert found.tolist() == [newer]


def test_each_change_is_compared_with_the_last_of_its_row() -> None:
    found = has_newer(
        waiting((1, 0, 5, 50), (2, 0, 6, 51), (3, 0, 7, 52)),
        applied((1, 8, 60), (1, 2, 20), (2, 3, 30), (4, 9, 70)),
        ["id"],
        0,
    )

    assert found.tolist() == [True, False, False]


def test_nothing_is_newer_than_anything_among_no_changes() -> None:
    assert has_newer(waiting((1, 0, 5, 50)), applied((1, 6, 60)).slice(0, 0), ["id"], 0).sum() == 0


def changes(*rows: tuple[int, str | None, str, int, int]) -> pa.Table:
    """Make changes of id, name, op, offset and second."""
    ids, names, ops, offsets, seconds = zip(*rows, strict=True)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array(names, pa.string()),
            OFFSET: pa.array(offsets, pa.int64()),
            OP: pa.array(ops, pa.string()),
            POSITION: pa.array(offsets, pa.int64()),
            TIME: pa.array([moment(s) for s in seconds], MOMENT),
        }
    )


def versions(*rows: tuple[int, str, int, int | None]) -> pa.Table:
    """Make versions of id, name, start and end."""
    ids, names, starts, ends = zip(*rows, strict=True)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array(names, pa.string()),
            VALID_FROM: pa.array([moment(s) for s in starts], MOMENT),
            VALID_TO: pa.array([moment(e) for e in ends], MOMENT),
            CURRENT: pa.array([e is None for e in ends]),
        }
    )


def left(given: pa.Table, newest: pa.Table) -> list[int]:
    found: list[int] = without_applied(given, ["id"], newest)[OFFSET].to_pylist()
    return found


def test_all_changes_of_a_row_are_left_out_where_the_table_is_as_the_last_left_it() -> None:
    given = changes((1, "a", "u", 1, 10), (1, "b", "u", 2, 20), (2, "c", "u", 3, 30))

    assert left(given, versions((1, "b", 20, None), (2, "old", 5, None))) == [3]


def test_a_deleted_row_is_known_by_the_end_of_its_last_version() -> None:
    given = changes((1, "a", "u", 1, 10), (1, None, "d", 2, 20), (2, None, "d", 3, 30))

    assert left(given, versions((1, "a", 10, 20), (2, "x", 5, 7))) == [3]


def test_the_same_values_from_before_do_not_count() -> None:
    given = changes((1, "b", "u", 1, 10), (1, "a", "u", 2, 20))

    assert left(given, versions((1, "a", 5, None))) == [1, 2]


def test_a_row_that_the_table_does_not_have_is_new() -> None:
    given = changes((1, "a", "c", 1, 10), (1, None, "d", 2, 20))

    assert left(given, versions((9, "a", 20, None))) == [1, 2]


def test_what_a_change_leaves_out_may_be_anything() -> None:
    given = changes((1, "a", "u", 1, 10))
    given = given.append_column(MISSING, pa.array([["name"]], pa.list_(pa.string())))

    assert left(given, versions((1, "a", 10, None))) == [1]
