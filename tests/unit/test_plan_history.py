"""Versions of a row follow one another without overlap, and what was sent again makes none."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from cdc.collapse import CollapsedChanges, versions, with_deletes_at
from cdc.model import (
    CURRENT,
    MISSING,
    NO_POSITION,
    OFFSET,
    OP,
    POSITION,
    TIME,
    VALID_FROM,
    VALID_TO,
    Cutoff,
    CutoffCause,
    PartitionMark,
)

MOMENT = pa.timestamp("us", "UTC")
# id, value, op, position, time
Change = tuple[Any, Any, str, int, int]
# id, value, from, to, current
Version = tuple[Any, Any, int, int | None, bool]


def changes_of(
    rows: Iterable[Change], first: int = 0, value_type: pa.DataType | None = None
) -> pa.Table:
    """Make changes; their offsets are their places."""
    rows = list(rows)
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    return pa.table(
        {
            "id": pa.array(columns[0], pa.int64()),
            "value": pa.array(columns[1], value_type or pa.string()),
            OFFSET: pa.array(range(first, first + len(rows)), pa.int64()),
            OP: pa.array(columns[2], pa.string()),
            POSITION: pa.array(columns[3], pa.int64()),
            TIME: pa.array(columns[4], MOMENT),
        }
    )


def table_of(rows: Iterable[Version], value_type: pa.DataType | None = None) -> pa.Table:
    """Make rows as they are looked up in the table."""
    columns = list(zip(*rows, strict=True)) or [()] * 5
    return pa.table(
        {
            "id": pa.array(columns[0], pa.int64()),
            "value": pa.array(columns[1], value_type or pa.string()),
            VALID_FROM: pa.array(columns[2], MOMENT),
            VALID_TO: pa.array(columns[3], MOMENT),
            CURRENT: pa.array(columns[4], pa.bool_()),
        }
    )


def applied(found: CollapsedChanges) -> list[int]:
    offsets: list[int] = sorted(found.applied.tolist())
    return offsets


def written(found: CollapsedChanges) -> list[Version]:
    columns = ("id", "value", VALID_FROM, VALID_TO, CURRENT)
    table = found.rows.select(columns)
    for name in (VALID_FROM, VALID_TO):
        assert table.schema.field(name).type == MOMENT
        table = table.set_column(columns.index(name), name, table[name].cast(pa.int64()))
    return [tuple(row.values()) for row in table.to_pylist()]


def history(
    changes: Iterable[Change],
    newest: Iterable[Version] | None = None,
    mark: PartitionMark | None = None,
) -> CollapsedChanges:
    rows = None if newest is None else table_of(newest)
    return versions(changes_of(changes), ["id"], mark, rows)


def test_every_change_of_a_row_is_a_version_until_the_next() -> None:
    found = history([(1, "a", "c", 1, 10), (1, "b", "u", 2, 20), (1, "c", "u", 3, 30)])

    assert written(found) == [
        (1, "a", 10, 20, False),
        (1, "b", 20, 30, False),
        (1, "c", 30, None, True),
    ]
    assert (len(found.deleted_keys), applied(found)) == (0, [0, 1, 2])


def test_the_current_version_of_the_table_is_closed() -> None:
    found = history([(1, "b", "u", 2, 20)], [(1, "a", 10, None, True)])

    assert written(found) == [(1, "a", 10, 20, False), (1, "b", 20, None, True)]
    assert found.deleted_keys.to_pylist() == [{"id": 1}]


def test_a_delete_closes_and_leaves_no_current_version() -> None:
    found = history(
        [(1, None, "d", 3, 30), (2, "x", "c", 4, 40), (2, None, "d", 5, 50)],
        [(1, "a", 10, None, True)],
    )

    assert written(found) == [(1, "a", 10, 30, False), (2, "x", 40, 50, False)]
    assert found.deleted_keys.to_pylist() == [{"id": 1}]
    assert applied(found) == [0, 1, 2]


def test_a_row_inserted_again_leaves_a_gap() -> None:
    found = history([(1, "a", "c", 1, 10), (1, None, "d", 2, 20), (1, "a", "c", 3, 30)])

    assert written(found) == [(1, "a", 10, 20, False), (1, "a", 30, None, True)]


def test_a_delete_of_a_row_that_is_not_there_is_superseded() -> None:
    found = history([(1, None, "d", 1, 10), (2, None, "d", 2, 20)], [(2, "x", 5, 9, False)])

    assert written(found) == []
    assert (len(found.deleted_keys), applied(found)) == (0, [])


def test_versions_of_one_transaction_have_empty_intervals() -> None:
    found = history([(1, "a", "c", 1, 10), (1, "b", "u", 2, 10), (1, "c", "u", 3, 10)])

    assert written(found) == [
        (1, "a", 10, 10, False),
        (1, "b", 10, 10, False),
        (1, "c", 10, None, True),
    ]


def test_a_clock_that_goes_back_makes_no_overlap() -> None:
    found = history(
        [(1, "b", "u", 2, 5), (1, None, "d", 3, 4), (1, "c", "c", 4, 3)],
        [(1, "a", 10, None, True)],
    )

    assert written(found) == [
        (1, "a", 10, 10, False),
        (1, "b", 10, 10, False),
        (1, "c", 10, None, True),
    ]


def test_a_row_inserted_again_by_a_clock_that_went_back_starts_where_the_closed_one_ends() -> None:
    found = history([(1, "b", "c", 2, 15)], [(1, "a", 10, 20, False)])

    assert written(found) == [(1, "b", 20, None, True)]
    assert len(found.deleted_keys) == 0


def test_a_change_that_changes_nothing_makes_no_version() -> None:
    found = history(
        [(1, "a", "r", 7, 70), (1, "a", "u", 8, 80), (2, None, "c", 9, 90), (2, None, "u", 10, 95)],
        [(1, "a", 10, None, True)],
    )

    assert written(found) == [(2, None, 90, None, True)]
    assert (len(found.deleted_keys), applied(found)) == (0, [2])


def test_null_and_a_value_are_different() -> None:
    found = history([(1, None, "u", 2, 20), (1, "a", "u", 3, 30)], [(1, "a", 10, None, True)])

    assert [row[1] for row in written(found)] == ["a", None, "a"]


def test_what_was_sent_again_makes_no_version() -> None:
    mark = PartitionMark(100, 3)
    again: list[Change] = [
        (1, "a", "c", 1, 10),
        (1, "b", "u", 2, 20),
        (1, "c", "u", 3, 30),
        (1, "d", "u", 4, 40),
    ]

    found = history(again, [(1, "c", 30, None, True)], mark)

    assert written(found) == [(1, "c", 30, 40, False), (1, "d", 40, None, True)]
    assert applied(found) == [3]


def test_a_deleted_row_sent_again_stays_closed() -> None:
    again: list[Change] = [(1, "a", "c", 1, 10), (1, "b", "u", 2, 20), (1, None, "d", 3, 30)]

    found = history(again, [(1, "b", 20, 30, False)], PartitionMark(100, 3))

    assert written(found) == []
    assert applied(found) == []


def test_a_delete_sent_again_does_not_close_the_row_inserted_after_it() -> None:
    changes: list[Change] = [(1, None, "d", 2, 20), (1, "b", "c", 3, 30)]

    found = history(changes, [(1, "b", 30, None, True)], PartitionMark(100, 3))

    assert written(found) == []
    assert applied(found) == []


@pytest.mark.parametrize(
    ("position", "time", "counts"),
    [(3, 29, False), (4, 29, True), (3, 30, True), (3, 31, True), (NO_POSITION, 29, True)],
)
def test_a_change_is_dropped_only_where_neither_its_position_nor_its_time_is_new(
    position: int, time: int, counts: bool
) -> None:
    found = history(
        [(1, "b", "u", position, time)], [(1, "a", 30, None, True)], PartitionMark(9, 3)
    )

    assert bool(applied(found)) is counts


def test_what_is_sent_again_within_the_batch_makes_no_version() -> None:
    first: list[Change] = [(1, "a", "c", 1, 10), (1, "b", "u", 2, 20), (2, "x", "c", 3, 25)]

    found = history([*first, *first])

    assert written(found) == [
        (1, "a", 10, 20, False),
        (1, "b", 20, None, True),
        (2, "x", 25, None, True),
    ]
    assert applied(found) == [0, 1, 2]


def test_a_key_of_null_has_versions_too() -> None:
    found = history([(None, "b", "u", 2, 20)], [(None, "a", 10, None, True)])

    assert written(found) == [(None, "a", 10, 20, False), (None, "b", 20, None, True)]
    assert found.deleted_keys.to_pylist() == [{"id": None}]


def test_a_change_that_still_lacks_a_value_is_never_taken_for_the_same() -> None:
    changes = changes_of([(1, None, "u", 2, 20)])
    changes = changes.append_column(MISSING, pa.array([["value"]], pa.list_(pa.string())))

    found = versions(changes, ["id"], None, table_of([(1, None, 10, None, True)]))

    assert found.rows[MISSING].to_pylist() == [None, ["value"]]


@pytest.mark.parametrize(
    ("kind", "value", "other"),
    [
        (pa.float64(), float("nan"), 0.0),
        (pa.float32(), 0.0, -0.0),
        (pa.binary(), b"a", b"b"),
        (pa.bool_(), True, False),
        (pa.decimal128(38, 2), 1, 2),
        (pa.list_(pa.float64()), [float("nan"), None], [None, 1.0]),
        (pa.struct([("a", pa.int64())]), {"a": 1}, {"a": None}),
        (pa.map_(pa.string(), pa.string()), [("a", "b")], [("a", None)]),
        (pa.timestamp("us", "UTC"), 5, 6),
    ],
    ids=str,
)
def test_values_of_every_type_are_compared(kind: pa.DataType, value: Any, other: Any) -> None:
    rows: list[Change] = [
        (1, value, "c", 1, 10),
        (1, value, "u", 2, 20),
        (1, other, "u", 3, 30),
        (1, other, "u", 4, 40),
        (1, None, "u", 5, 50),
        (1, None, "u", 6, 60),
    ]

    found = versions(changes_of(rows, value_type=kind), ["id"], None, None)

    assert [row[2:] for row in written(found)] == [
        (10, 30, False),
        (30, 50, False),
        (50, None, True),
    ]


def test_a_truncate_closes_the_rows_of_the_batch_and_of_the_table() -> None:
    changes = changes_of(
        [(1, "b", "u", 2, 20), (3, "x", "c", 3, 25), (2, "new", "c", 9, 90), (4, "y", "c", 10, 95)]
    )
    newest = table_of([(1, "a", 10, None, True), (2, "old", 11, None, True)])
    truncate = Cutoff(0, offset=1, position=5, time=50)

    found = versions(with_deletes_at(changes, ["id"], 0, [truncate], newest), ["id"], None, newest)

    assert sorted(written(found), key=lambda row: row[:1] + row[2:3]) == [
        (1, "a", 10, 20, False),
        (1, "b", 20, 50, False),
        (2, "old", 11, 50, False),
        (2, "new", 90, None, True),
        (3, "x", 25, 50, False),
        (4, "y", 95, None, True),
    ]
    assert found.deleted_keys["id"].to_pylist() == [1, 2]
    assert applied(found) == [0, 1, 2, 3]


def test_a_new_snapshot_closes_what_it_lacks_and_leaves_alone_what_it_finds_unchanged() -> None:
    # Its rows are at position 9, behind its begin.
    changes = changes_of(
        [
            (5, "e2", "u", 7, 40),  # and 5 is gone when the snapshot is taken
            (1, "a", "r", 9, 50),
            (2, "b2", "r", 9, 50),
            (3, "again", "c", 10, 60),
        ]
    )
    versions_known = [(n, v, 10, None, True) for n, v in enumerate("abcde", 1)]
    newest = table_of(versions_known)
    begin = Cutoff(0, offset=0, position=8, time=50, cause=CutoffCause.NEW_SNAPSHOT)

    ended = with_deletes_at(changes, ["id"], 0, [begin], newest)
    found = versions(ended, ["id"], None, newest)

    # 4 has no change here: it is for the driver to close.
    mine = [row for row in written(found) if row[0] != 4]
    assert sorted(mine, key=lambda row: row[:1] + row[2:3]) == [
        (2, "b", 10, 50, False),
        (2, "b2", 50, None, True),
        (3, "c", 10, 50, False),
        (3, "again", 60, None, True),
        (5, "e", 10, 40, False),
        (5, "e2", 40, 50, False),
    ]


def test_no_change_makes_no_version() -> None:
    assert written(history([])) == []
    assert written(history([], [(1, "a", 10, None, True)])) == []


@dataclass
class Model:
    """A history that is kept one change after the other."""

    versions: dict[int, list[list[Any]]] = field(default_factory=dict)
    position: int = NO_POSITION
    superseded: int = 0

    def apply(self, change: Change) -> None:
        key, value, op, position, time = change
        rows = self.versions.setdefault(key, [])
        last = rows[-1] if rows else [key, None, None, None, False]
        lives = last[4]
        known = last[2] if lives else last[3]
        old = position <= self.position and position != NO_POSITION
        again = old and known is not None and time < known
        self.position = max(self.position, position)
        same = lives and op != "d" and last[1] == value
        if again or same or (op == "d" and not lives):
            self.superseded += 1
            return
        start = time if known is None else max(time, known)
        if lives:
            last[3], last[4] = start, False
        if op != "d":
            rows.append([key, value, start, None, True])


def stream(dice: random.Random) -> list[Change]:
    """Make changes as a source and a connector send them that both fail now and then."""
    sent: list[Change] = []
    position, clock = 0, 100
    for _ in range(dice.randrange(1, 120)):
        chance = dice.random()
        if chance < 0.08 and sent:  # a connector that starts again
            start = dice.randrange(len(sent))
            sent += sent[start : start + dice.randrange(1, 20)]
            continue
        if chance < 0.10:  # a failover
            position = dice.randrange(max(1, position))
        clock += dice.choice((0, 0, 1, 5, -3))
        position += dice.randrange(1, 3)
        key = min(dice.randrange(6), dice.randrange(6))
        op = dice.choice("cuuurd")
        value = None if op == "d" else dice.choice(["a", "b", "c", None])
        given = NO_POSITION if dice.random() < 0.03 else position
        sent.append((key, value, op, given, clock))
    return sent


@pytest.mark.parametrize("seed", range(150))
def test_batches_leave_the_history_of_the_changes_one_by_one(seed: int) -> None:
    dice = random.Random(seed)
    changes, model = stream(dice), Model()
    table: list[Version] = []
    done, superseded, position = 0, 0, NO_POSITION
    while done < len(changes):
        batch = changes[done : done + dice.randrange(1, 40)]
        touched = {change[0] for change in batch}
        last = {row[0]: row for row in table if row[0] in touched}  # in the order of time
        found = versions(
            changes_of(batch, done),
            ["id"],
            PartitionMark(done, position),
            table_of(last.values()),
        )
        closed = set(found.deleted_keys["id"].to_pylist())
        table = [row for row in table if not (row[4] and row[0] in closed)]
        table += written(found)
        done += len(batch)
        superseded += len(batch) - len(found.applied)
        position = max(position, *(change[3] for change in batch))

    for change in changes:
        model.apply(change)
    wanted = [tuple(row) for rows in model.versions.values() for row in rows]
    assert sorted(table, key=str) == sorted(wanted, key=str)
    assert superseded == model.superseded
    for key in {row[0] for row in table}:
        rows = [row for row in table if row[0] == key]
        for row, following in pairwise(rows):
            assert row[3] is not None
            assert row[2] <= row[3] <= following[2]
            assert not row[4]
        assert rows[-1][4] is (rows[-1][3] is None)
