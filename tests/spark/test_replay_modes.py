"""Replays in every mode, and cut off between the two commits."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.conftest import Configure
from tests.spark.replays import Scene
from tests.unit.messages import ORDERS, Table, delete, insert, update

WAYS = {
    "index": 'deletes = "positional"',
    "equality": 'deletes = "equality"',
    "merge": 'deletes = "positional"\nlookup = "merge"',
}
MODES = {
    "mirror": 'mode = "mirror"',
    "soft": 'on_delete = "soft"',
    "history": 'mode = "history"',
    "append": 'mode = "append"',
}
FINAL: dict[str, list[tuple[Any, ...]]] = {
    "mirror": [(1, "newer"), (2, "b3"), (4, "d"), (5, "e")],
    "soft": [
        (1, "newer", False),
        (2, "b3", False),
        (3, "c", True),
        (4, "d", False),
        (5, "e", False),
    ],
    "history": [
        (1, "a", 10, 30),
        (1, "newer", 30, None),
        (2, "b", 11, 21),
        (2, "b2", 21, 22),
        (2, "b3", 22, None),
        (3, "c", 12, 23),
        (4, "d", 24, None),
        (5, "e", 31, None),
    ],
    "append": [
        ("c", 1, "a", 0),
        ("c", 2, "b", 1),
        ("c", 3, "c", 2),
        ("u", 1, "stale", 3),
        ("u", 2, "b2", 4),
        ("u", 2, "b3", 5),
        ("d", 3, None, 6),
        ("c", 4, "d", 7),
        ("u", 1, "newer", 8),
        ("c", 5, "e", 9),
    ],
}
COLUMNS = {
    "mirror": ("id", "name"),
    "soft": ("id", "name", "_mirror_deleted"),
    "history": ("id", "name", "_mirror_valid_from", "_mirror_valid_to"),
    "append": ("_mirror_op", "id", "name", "_mirror_offset"),
}


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def at(second: int) -> dict[str, int]:
    return {"ts_ms": second * 1000}


def play(scene: Scene) -> None:
    """Let five changes of a batch go into quarantine; one of them is overtaken."""
    table = scene.table
    scene.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=0, source=at(10)),
        insert({"id": 2, "name": "b"}, table=table, offset=1, source=at(11)),
        insert({"id": 3, "name": "c"}, table=table, offset=2, source=at(12)),
    )
    scene.spoil(
        update({"id": 1, "name": "stale"}, table=table, offset=3, source=at(20)),
        update({"id": 2, "name": "b2"}, table=table, offset=4, source=at(21)),
        update({"id": 2, "name": "b3"}, table=table, offset=5, source=at(22)),
        delete({"id": 3}, table=table, offset=6, source=at(23)),
        insert({"id": 4, "name": "d"}, table=table, offset=7, source=at(24)),
    )
    scene.apply(
        update({"id": 1, "name": "newer"}, table=table, offset=8, source=at(30)),
        insert({"id": 5, "name": "e"}, table=table, offset=9, source=at(31)),
    )


def state(scene: Scene, mode: str) -> list[tuple[Any, ...]]:
    def plain(value: Any) -> Any:
        if isinstance(value, datetime):
            return int((value - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
        return value

    found = [tuple(plain(value) for value in row) for row in scene.rows(*COLUMNS[mode])]
    return sorted(found, key=str)


def final(mode: str) -> list[tuple[Any, ...]]:
    return sorted(FINAL[mode], key=str)


@pytest.mark.parametrize("way", WAYS)
def test_each_mode_takes_what_was_put_aside(
    spark: SparkSession, configure: Configure, table: Table, mode: str, way: str
) -> None:
    if mode == "append" and way != "index":
        pytest.skip("a log replaces nothing")
    scene = Scene(spark, configure, table, f"{MODES[mode]}\n{WAYS[way]}")
    play(scene)

    outcome = scene.replay().run(table)

    assert state(scene, mode) == final(mode)
    assert (outcome.records, outcome.done, scene.offsets) == (5, True, [])
    assert scene.bench.ledgers(f"{table.server}.orders")[-1].account.balanced


@pytest.mark.parametrize("way", ["index", "equality"])
def test_cut_off_between_the_two_commits_it_does_nothing_twice(
    spark: SparkSession,
    configure: Configure,
    table: Table,
    mode: str,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if mode == "append" and way != "index":
        pytest.skip("a log replaces nothing")
    scene = Scene(spark, configure, table, f"{MODES[mode]}\n{WAYS[way]}")
    play(scene)

    def cut_off(session: SparkSession, records: pa.Table) -> None:
        raise KeyboardInterrupt

    dying = scene.replay()
    with monkeypatch.context() as patch:
        patch.setattr(dying.context.quarantine, "discard", cut_off)
        with pytest.raises(KeyboardInterrupt):
            dying.run(table)
    assert state(scene, mode) == final(mode)
    assert scene.offsets == [3, 4, 5, 6, 7]

    outcome = scene.replay().run(table)

    assert state(scene, mode) == final(mode)
    assert (outcome.done, scene.offsets) == (True, [])


def test_a_mirror_that_goes_on_after_a_replay_was_cut_off_keeps_its_order(
    spark: SparkSession,
    configure: Configure,
    table: Table,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(spark, configure, table, MODES[mode])
    play(scene)

    def cut_off(session: SparkSession, records: pa.Table) -> None:
        raise KeyboardInterrupt

    dying = scene.replay()
    with monkeypatch.context() as patch:
        patch.setattr(dying.context.quarantine, "discard", cut_off)
        with pytest.raises(KeyboardInterrupt):
            dying.run(table)
    scene.apply(update({"id": 2, "name": "b4"}, table=table, offset=10, source=at(40)))
    after = state(scene, mode)

    outcome = scene.replay().run(table)

    assert state(scene, mode) == after
    assert any("b4" in row for row in after)
    assert (outcome.done, scene.offsets) == (True, [])
