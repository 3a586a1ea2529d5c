"""What came before a truncate is wiped out or ended, and nothing that came after it."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from cdc.collapse import after_cutoff, survivors, with_deletes_at
from cdc.model import OFFSET, OP, POSITION, TIME, Cutoff

OWN, OTHER = 0, 1
TRUNCATE = Cutoff(OWN, offset=5, position=500, time=50)


def changes_of(*rows: tuple[Any, ...]) -> pa.Table:
    """Make changes of id, value, op, offset, position and time in microseconds."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    kinds = [pa.int64(), pa.string(), pa.string(), pa.int64(), pa.int64()]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=False)]
    times = pa.array(columns[5], pa.timestamp("us", "UTC"))
    return pa.Table.from_arrays([*arrays, times], ["id", "value", OP, OFFSET, POSITION, TIME])


def moment(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1_000_000, UTC)


def kept(changes: pa.Table, partition: int, truncate: Cutoff = TRUNCATE) -> list[int]:
    ids: list[int] = after_cutoff(changes, partition, truncate)["id"].to_pylist()
    return ids


def test_in_its_own_partition_a_truncate_wipes_what_came_before_it() -> None:
    changes = changes_of(
        (1, "a", "c", 4, 999, 99), (2, "b", "c", 5, 999, 99), (3, "c", "c", 6, 1, 1)
    )

    assert kept(changes, OWN) == [3]


def test_in_another_partition_it_wipes_by_position() -> None:
    changes = changes_of(
        (1, "a", "c", 999, 499, 49),
        (2, "b", "c", 999, 500, 50),
        (3, "c", "c", 1, 501, 50),
        (4, "d", "c", 2, -1, 49),
    )

    assert kept(changes, OTHER) == [3]


@pytest.mark.parametrize(
    ("time", "truncated", "wiped"),
    [(51, 50, False), (50, 50, True), (None, 50, True), (51, None, True)],
)
def test_a_smaller_position_after_a_failover_is_not_wiped_where_the_time_says_later(
    time: int | None, truncated: int | None, wiped: bool
) -> None:
    changes = changes_of((1, "a", "c", 9, 3, time))

    assert kept(changes, OTHER, Cutoff(OWN, 5, 500, truncated)) == ([] if wiped else [1])


def test_changes_without_a_time_are_wiped_by_position_alone() -> None:
    changes = changes_of((1, "a", "c", 9, 3, None), (2, "a", "c", 9, 501, None)).drop([TIME])

    assert kept(changes, OTHER) == [2]


def test_rows_alive_at_the_truncate_get_a_delete_there() -> None:
    changes = changes_of(
        (1, "a", "c", 1, 1, 10),
        (2, "b", "c", 2, 2, 20),
        (2, None, "d", 3, 3, 30),
        (1, "c", "u", 4, 4, 40),
        (1, "again", "c", 6, 6, 60),
        (3, "new", "c", 7, 7, 70),
    )

    ended = with_deletes_at(changes, ["id"], OWN, [TRUNCATE])

    found = [(row["id"], row["value"], row[OP], row[OFFSET]) for row in ended.to_pylist()]
    assert found == [
        (1, "a", "c", 1),
        (2, "b", "c", 2),
        (2, None, "d", 3),
        (1, "c", "u", 4),
        (1, None, "t", 4),
        (1, "again", "c", 6),
        (3, "new", "c", 7),
    ]
    assert ended[TIME].to_pylist()[4] == moment(50)


def test_rows_of_the_table_get_a_delete_before_all_changes() -> None:
    changes = changes_of((1, "a", "u", 1, 1, 10), (2, "b", "c", 6, 6, 60))
    rows = pa.table({"id": pa.array([2, 1, None], pa.int64()), "value": ["x", "y", "z"]})

    ended = with_deletes_at(changes, ["id"], OWN, [TRUNCATE], rows)

    found = [(row["id"], row[OP]) for row in ended.to_pylist()]
    assert found == [(2, "t"), (None, "t"), (1, "u"), (1, "t"), (2, "c")]


def test_a_truncate_without_a_time_ends_rows_when_they_last_changed() -> None:
    changes = changes_of((1, "a", "c", 1, 1, 10))

    ended = with_deletes_at(changes, ["id"], OTHER, [Cutoff(OWN, 5, 500)])

    assert ended[TIME].to_pylist() == [moment(10), moment(10)]


def test_without_a_change_before_it_nothing_is_put_in() -> None:
    changes = changes_of((1, "a", "c", 6, 501, 60))

    for partition in (OWN, OTHER):
        assert with_deletes_at(changes, ["id"], partition, [TRUNCATE]).equals(changes)
        assert len(with_deletes_at(changes.slice(0, 0), ["id"], partition, [TRUNCATE])) == 0


def test_each_of_two_truncates_ends_the_rows_that_it_meets() -> None:
    first, second = Cutoff(OWN, 3, 300, time=30), Cutoff(OWN, 6, 600, time=60)
    changes = changes_of((1, "a", "u", 2, 2, 20), (2, "b", "c", 4, 4, 40), (3, "c", "c", 7, 7, 70))
    rows = pa.table({"id": pa.array([3], pa.int64())})

    ended = with_deletes_at(changes, ["id"], OWN, [first, second], rows)

    found = [(row["id"], row[OP], row[TIME]) for row in ended.to_pylist()]
    assert found == [
        (3, "t", moment(30)),
        (1, "u", moment(20)),
        (1, "t", moment(30)),
        (2, "c", moment(40)),
        (2, "t", moment(60)),
        (3, "c", moment(70)),
    ]


def test_a_row_from_after_a_truncate_that_came_late_is_not_ended_by_it() -> None:
    changes = changes_of((1, "x", "u", 8, 800, 80), (2, "y", "u", 9, 900, 90))
    rows = pa.table({"id": pa.array([1, 2], pa.int64())})
    reread = changes_of((1, "new", "c", 6, 600, 60), (2, "old", "c", 4, 400, 40))

    ended = with_deletes_at(changes, ["id"], OTHER, [TRUNCATE], rows, survivors(reread, ["id"]))

    assert [(row["id"], row[OP]) for row in ended.to_pylist()] == [(2, "t"), (1, "u"), (2, "u")]


def test_places_are_of_the_last_change_and_only_of_rows_that_live() -> None:
    changes = changes_of(
        (1, "a", "c", 1, 1, 10),
        (1, "b", "u", 3, 3, 30),
        (2, "a", "c", 2, 2, 20),
        (2, None, "d", 4, 4, 40),
    )

    places = survivors(changes, ["id"])

    assert [(row["id"], row[OFFSET]) for row in places.to_pylist()] == [(1, 3)]
