"""Replays beside a mirror that runs: whoever commits first, the newer change is what stays."""

import uuid
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cdc.errors import CommitConflictError
from cdc.model import SourceTable
from cdc.runtime.tables import quarantine
from cdc.sql import discard_records
from tests.conftest import Configure
from tests.spark.meddling import around_commit
from tests.spark.replays import ReplayBench, Scene
from tests.unit.messages import ORDERS, Table, delete, insert, truncate, update

RULES = {
    "index": 'deletes = "positional"',
    "equality": 'deletes = "equality"',
    "merge": 'lookup = "merge"',
}

Meddle = Callable[[ReplayBench, Callable[[], None]], None]


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")


@pytest.fixture(params=RULES)
def scene(
    request: pytest.FixtureRequest, spark: SparkSession, configure: Configure, table: Table
) -> Scene:
    scene = Scene(spark, configure, table, RULES[request.param])
    scene.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=0),
        insert({"id": 2, "name": "b"}, table=table, offset=1),
    )
    scene.spoil(
        update({"id": 1, "name": "bad"}, table=table, offset=2),
        update({"id": 2, "name": "good"}, table=table, offset=3),
    )
    return scene


@pytest.fixture
def before_commits(monkeypatch: pytest.MonkeyPatch) -> Meddle:
    """Do something whenever a commit of a replay is about to reach the catalog."""

    def meddle(replay: ReplayBench, act: Callable[[], None]) -> None:
        open_ = replay.tables.open

        def opened(topic: str, source: SourceTable) -> None:
            open_(topic, source)
            (target,) = replay.tables.of_topic(topic)
            around_commit(replay.tables[target].table, before=act)

        monkeypatch.setattr(replay.tables, "open", opened)

    return meddle


def once(act: Callable[[], None]) -> Callable[[], None]:
    waiting = [act]
    return lambda: waiting.pop()() if waiting else None


def test_a_newer_change_that_is_applied_meanwhile_wins(
    scene: Scene, table: Table, before_commits: Meddle
) -> None:
    replay = scene.replay()
    newer = update({"id": 1, "name": "newer"}, table=table, offset=4)
    before_commits(replay, once(lambda: scene.apply(newer)))

    outcome = replay.run(table)

    assert scene.rows("id", "name") == [(1, "newer"), (2, "good")]
    assert (outcome.applied, outcome.superseded, outcome.done) == (1, 1, True)


def test_a_delete_that_is_applied_meanwhile_wins(
    scene: Scene, table: Table, before_commits: Meddle
) -> None:
    replay = scene.replay()
    gone = delete({"id": 1}, table=table, offset=4)
    before_commits(replay, once(lambda: scene.apply(gone)))

    outcome = replay.run(table)

    assert scene.rows("id", "name") == [(2, "good")]
    assert (outcome.applied, outcome.superseded, outcome.done) == (1, 1, True)


def test_a_truncate_that_is_applied_meanwhile_wins(
    scene: Scene, table: Table, before_commits: Meddle
) -> None:
    replay = scene.replay()
    before_commits(replay, once(lambda: scene.apply(truncate(table=table, offset=4))))

    outcome = replay.run(table)

    assert scene.rows("id", "name") == []
    assert (outcome.applied, outcome.superseded, outcome.done) == (0, 2, True)


def test_the_mirror_goes_on_from_its_own_marks(scene: Scene, table: Table) -> None:
    scene.replay().run(table)

    scene.apply(
        update({"id": 1, "name": "next"}, table=table, offset=4),
        insert({"id": 3, "name": "c"}, table=table, offset=5),
    )

    ledgers = scene.bench.ledgers(f"{table.server}.orders")
    assert scene.rows("id", "name") == [(1, "next"), (2, "good"), (3, "c")]
    assert [ledger.partitions[0].next_offset for ledger in ledgers] == [2, 4, 4, 6]
    assert [ledger.batch for ledger in ledgers[:3]] == [0, 1, 2]


def test_a_conflict_that_does_not_end_is_told_and_nothing_is_lost(
    scene: Scene, table: Table, before_commits: Meddle
) -> None:
    replay = scene.replay()

    def refuse() -> None:
        raise CommitConflictError("orders", "somebody writes all the time")

    before_commits(replay, refuse)

    outcome = replay.run(table)

    assert "somebody writes" in str(outcome.failure)
    assert scene.offsets == [2, 3]
    assert scene.rows("id", "name") == [(1, "a"), (2, "b")]


def test_records_leave_though_a_mirror_adds_others_at_the_same_time(
    scene: Scene, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay, discard = scene.replay(), discard_records
    others = once(lambda: scene.spoil(update({"id": 2, "name": "x"}, table=table, offset=4)))

    def beside(spark: SparkSession, name: str, places: pa.Table) -> None:
        if scene.kafka[-1].offset != 4:
            others()
            raise CommitConflictError(name, "somebody added records")
        discard(spark, name, places)

    monkeypatch.setattr(quarantine, "discard_records", beside)

    outcome = replay.run(table)

    assert (outcome.applied, scene.offsets) == (2, [4])
