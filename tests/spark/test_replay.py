"""Replays: what was bad and can be read now is applied, in the order in which it belongs."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdc.model import Account
from cdc.runtime.replay.replay import TRUNCATE
from cdc.state.names import QUARANTINE
from tests.conftest import Configure
from tests.spark.replays import Scene
from tests.unit.messages import (
    ORDERS,
    Message,
    Table,
    column,
    decimal,
    decimal_column,
    delete,
    insert,
    truncate,
    update,
)

WAYS = {
    "index": 'deletes = "positional"',
    "equality": 'deletes = "equality"',
    "merge": 'deletes = "positional"\nlookup = "merge"',
    "vectors": "format_version = 3",
}
INFINITY = 9223372036825200000  # what Debezium sends for infinity
NOON = 1_700_000_000_000_000
STAMPED = replace(
    ORDERS,
    columns=(*ORDERS.columns, column("at", "int64", logical="io.debezium.time.MicroTimestamp")),
)


@pytest.fixture
def table() -> Table:
    return replace(STAMPED, server=f"s{uuid.uuid4().hex[:8]}")


def rows(scene: Scene) -> list[tuple[Any, ...]]:
    return scene.rows("id", "name")


def bad(message: Message) -> Message:
    """Give a record a time that no timestamp can be."""
    assert message.value is not None
    text = message.value.replace(f'"at":{NOON}'.encode(), f'"at":{INFINITY}'.encode())
    assert text != message.value
    return replace(message, value=text)


def row(number: int, name: str | None = None) -> dict[str, Any]:
    return {"id": number, "name": name or f"n{number}", "at": NOON}


def newest_metadata(scene: Scene, name: str) -> str:
    """Name the file that the last commit to a table wrote."""
    log = scene.bench.spark.table(f"shop.{name}.metadata_log_entries").collect()
    return str(max(log, key=lambda entry: (entry.timestamp, entry.file)).file)


@pytest.fixture(params=WAYS)
def scene(
    request: pytest.FixtureRequest, spark: SparkSession, configure: Configure, table: Table
) -> Scene:
    return Scene(spark, configure, table, WAYS[request.param])


@pytest.fixture
def plain(spark: SparkSession, configure: Configure, table: Table) -> Scene:
    return Scene(spark, configure, table, WAYS["index"])


def test_what_can_be_read_now_is_applied_and_leaves_the_quarantine(
    scene: Scene, table: Table
) -> None:
    scene.apply(*(insert(row(n), table=table, offset=n) for n in range(3)))
    scene.apply(
        bad(update(row(1, "new"), table=table, offset=3)),
        bad(insert(row(3), table=table, offset=4)),
        update(row(2, "other"), table=table, offset=5),
    )
    before = scene.bench.ledgers(f"{table.server}.orders")[-1]

    outcome = scene.replay().run(table)

    after = scene.bench.ledgers(f"{table.server}.orders")[-1]
    assert rows(scene) == [(0, "n0"), (1, "new"), (2, "other"), (3, "n3")]
    assert (outcome.records, outcome.applied, outcome.done) == (2, 2, True)
    assert scene.offsets == []
    assert (after.batch, after.partitions) == (before.batch + 1, before.partitions)
    assert after.account == Account(read=2, applied=2)


def test_a_newer_change_of_the_row_wins(scene: Scene, table: Table) -> None:
    scene.apply(*(insert(row(n), table=table, offset=n) for n in range(4)))
    scene.apply(
        bad(update(row(0, "stale"), table=table, offset=4)),
        bad(update(row(1, "stale"), table=table, offset=5)),
        bad(update(row(2, "fresh"), table=table, offset=6)),
        update(row(0, "newer"), table=table, offset=7),
        delete({"id": 1}, table=table, offset=8),
    )
    snapshots = scene.bench.snapshots(f"{table.server}.orders")

    outcome = scene.replay().run(table)

    assert rows(scene) == [(0, "newer"), (2, "fresh"), (3, "n3")]
    assert (outcome.applied, outcome.superseded, outcome.done) == (1, 2, True)
    assert scene.offsets == []
    assert scene.bench.snapshots(f"{table.server}.orders") == snapshots + 1


def test_of_several_bad_changes_of_a_row_the_last_counts(scene: Scene, table: Table) -> None:
    scene.apply(insert(row(1), table=table, offset=0))
    scene.apply(
        bad(update(row(1, "a"), table=table, offset=1)),
        bad(update(row(1, "b"), table=table, offset=2)),
        bad(insert(row(2, "c"), table=table, offset=3)),
    )

    outcome = scene.replay().run(table)

    assert rows(scene) == [(1, "b"), (2, "c")]
    assert (outcome.applied, outcome.superseded) == (2, 1)


def test_a_second_replay_changes_nothing(plain: Scene, table: Table) -> None:
    plain.apply(insert(row(1), table=table, offset=0))
    plain.apply(bad(update(row(1, "new"), table=table, offset=1)))
    plain.replay().run(table)
    snapshots = plain.bench.snapshots(f"{table.server}.orders")

    assert plain.replay().replayer.run(f"{table.server}.orders") == []

    assert plain.bench.snapshots(f"{table.server}.orders") == snapshots
    assert rows(plain) == [(1, "new")]


def test_what_still_cannot_be_read_stays_with_its_reason(plain: Scene, table: Table) -> None:
    garbage = replace(insert(row(3), table=table, offset=3), value=b"garbage")
    plain.apply(insert(row(1), table=table, offset=0))
    plain.apply(bad(update(row(1, "new"), table=table, offset=1)), garbage)

    outcome = plain.replay().run(table)

    assert rows(plain) == [(1, "new")]
    assert (outcome.applied, outcome.done, plain.offsets) == (1, False, [3])
    (stays,) = outcome.stays
    assert (stays.records, stays.partition, stays.offset) == (1, 0, 3)
    assert "garbage" in stays.reason


def test_nothing_is_committed_where_the_cause_is_still_there(plain: Scene, table: Table) -> None:
    plain.apply(insert(row(1), table=table, offset=0))
    plain.apply(bad(update(row(1, "new"), table=table, offset=1)))
    snapshots = plain.bench.snapshots(f"{table.server}.orders")

    outcome = plain.replay(fixed=False).run(table)

    assert (outcome.applied, [s.records for s in outcome.stays]) == (0, [1])
    assert plain.offsets == [1]
    assert plain.bench.snapshots(f"{table.server}.orders") == snapshots


def test_a_dry_run_tells_and_changes_nothing(plain: Scene, table: Table) -> None:
    plain.apply(insert(row(1), table=table, offset=0))
    plain.apply(
        bad(update(row(1, "new"), table=table, offset=1)),
        bad(update(row(1, "old"), table=table, offset=2)),
        update(row(1, "newest"), table=table, offset=3),
        bad(insert(row(2), table=table, offset=4)),
    )

    wider = replace(table, columns=(*table.columns, column("size", "int64")))
    plain.spoil(insert({**row(3), "size": 7}, table=wider, offset=5))
    # What the config says anew of the table is for the mirror to do.
    plain.rule += '\npartition = ["bucket(4, id)"]'
    names = (f"{table.server}.orders", f"shop.{QUARANTINE}")
    before = [newest_metadata(plain, name) for name in names]

    outcome = plain.replay(dry_run=True).run(table)

    assert (outcome.applied, outcome.superseded) == (2, 2)
    assert plain.offsets == [1, 2, 4, 5]
    assert rows(plain) == [(1, "newest")]
    assert [newest_metadata(plain, name) for name in names] == before


def test_a_record_that_kafka_cannot_vouch_for_is_told_and_not_applied(
    plain: Scene, table: Table
) -> None:
    plain.apply(insert(row(1), table=table, offset=0))
    plain.apply(
        bad(insert(row(2), table=table, offset=1)),
        *(insert(row(n), table=table, offset=n) for n in range(3, 6)),
        bad(insert(row(6), table=table, offset=6)),
        insert(row(7), table=table, offset=7),
    )

    outcome = plain.replay(first=5).run(table)

    assert (outcome.applied, plain.offsets) == (1, [1])
    assert "Kafka" in outcome.stays[0].reason
    assert (2, "n2") not in rows(plain)

    anyway = plain.replay(first=5, anyway=True).run(table)

    assert (anyway.applied, anyway.done, plain.offsets) == (1, True, [])
    assert (2, "n2") in rows(plain)


def test_a_newer_truncate_wins_in_its_own_partition(plain: Scene, table: Table) -> None:
    plain.apply(insert(row(1), table=table, offset=0))
    plain.apply(
        bad(insert(row(2), table=table, offset=1)),
        truncate(table=table, offset=2),
        bad(insert(row(3), table=table, offset=3)),
        insert(row(4), table=table, offset=4),
    )

    outcome = plain.replay().run(table)

    assert rows(plain) == [(3, "n3"), (4, "n4")]
    assert (outcome.applied, outcome.superseded, outcome.done) == (1, 1, True)


def test_a_newer_truncate_of_another_partition_wins_by_source_position(
    plain: Scene, table: Table
) -> None:
    plain.apply(
        insert(row(1), table=table, offset=0, lsn=10),
        insert(row(2), table=table, offset=0, lsn=11, partition=1),
    )
    plain.apply(
        bad(insert(row(3), table=table, offset=1, lsn=20)),
        bad(insert(row(4), table=table, offset=2, lsn=40)),
        insert(row(5), table=table, offset=3, lsn=50),
    )
    plain.apply(
        truncate(table=table, offset=1, lsn=30, partition=1),
        insert(row(6), table=table, offset=2, lsn=60, partition=1),
    )

    outcome = plain.replay().run(table)

    assert rows(plain) == [(4, "n4"), (5, "n5"), (6, "n6")]
    assert (outcome.applied, outcome.superseded, outcome.done) == (1, 1, True)


def test_a_truncate_that_was_bad_is_not_made_up_for(plain: Scene, table: Table) -> None:
    plain.apply(insert(row(1), table=table, offset=0))
    plain.spoil(truncate(table=table, offset=1))
    plain.apply(insert(row(2), table=table, offset=2))

    outcome = plain.replay().run(table)

    assert (outcome.applied, plain.offsets) == (0, [1])
    assert outcome.stays[0].reason == TRUNCATE
    assert rows(plain) == [(1, "n1"), (2, "n2")]


def test_a_row_whose_changes_moved_to_another_partition_is_not_set_back(
    plain: Scene, table: Table
) -> None:
    plain.apply(insert(row(1), table=table, offset=0, lsn=10))
    plain.apply(
        bad(update(row(1, "stale"), table=table, offset=1, lsn=20)),
        bad(insert(row(2), table=table, offset=2, lsn=21)),
    )
    plain.apply(update(row(1, "newer"), table=table, offset=0, lsn=30, partition=1))

    outcome = plain.replay().run(table)

    assert dict(rows(plain))[1] == "newer"
    assert (outcome.applied, outcome.superseded) == (1, 1)


def test_replays_of_one_topic_fill_each_of_its_tables(
    spark: SparkSession, configure: Configure, table: Table
) -> None:
    targets = """
        targets = [
          { table = "{server}.{table}" },
          { table = "{server}.{table}_log", mode = "append" },
        ]
    """
    scene = Scene(spark, configure, table, targets)
    scene.apply(insert(row(1), table=table, offset=0))
    scene.apply(bad(update(row(1, "old"), table=table, offset=1)))
    scene.apply(update(row(1, "new"), table=table, offset=2))
    replay = scene.replay()

    outcomes = {o.table: o for o in replay.replayer.run() if o.topic == table.topic}

    mirror, log = (outcomes[f"{table.server}.{name}"] for name in ("orders", "orders_log"))
    assert (mirror.applied, mirror.superseded, log.applied) == (0, 1, 1)
    assert rows(scene) == [(1, "new")]
    logged = scene.bench.rows(f"{table.server}.orders_log")
    assert sorted(entry["_mirror_offset"] for entry in logged) == [0, 1, 2]
    assert scene.offsets == []


def test_records_of_a_table_that_is_gone_are_told(plain: Scene, table: Table) -> None:
    plain.apply(insert(row(1), table=table, offset=0))
    plain.apply(bad(update(row(1, "new"), table=table, offset=1)))
    plain.bench.spark.sql(f"DROP TABLE shop.{table.server}.orders")

    outcome = plain.replay().run(table)

    assert outcome.failure is not None
    assert "does not exist" in outcome.failure
    assert plain.offsets == [1]


def test_columns_that_only_bad_records_have_are_added(plain: Scene, table: Table) -> None:
    wider = replace(table, columns=(*table.columns, column("size", "int64")))
    plain.apply(insert(row(1), table=table, offset=0))
    plain.spoil(update({**row(1, "new"), "size": 7}, table=wider, offset=1))

    dry = plain.replay(dry_run=True).run(table)
    outcome = plain.replay().run(table)

    assert (dry.applied, outcome.applied, outcome.done) == (1, 1, True)
    assert plain.rows("id", "name", "size") == [(1, "new", 7)]


def test_a_value_that_was_left_out_is_taken_from_the_mirror(plain: Scene, table: Table) -> None:
    unchanged = "__debezium_unavailable_value"
    plain.apply(insert(row(1, "kept"), table=table, offset=0))
    plain.spoil(update({**row(1, unchanged), "at": NOON + 1}, table=table, offset=1))

    outcome = plain.replay().run(table)

    assert (outcome.applied, outcome.done) == (1, True)
    assert rows(plain) == [(1, "kept")]


def test_a_newer_change_that_is_itself_in_quarantine_does_not_win(
    plain: Scene, table: Table
) -> None:
    priced = replace(table, columns=(*table.columns, decimal_column("price", 5, 2)))
    plain.apply(insert({**row(1), "price": decimal(1)}, table=priced, offset=0))
    plain.apply(
        bad(update({**row(1, "older"), "price": decimal(2)}, table=priced, offset=1)),
        update({**row(1, "newer"), "price": decimal(10**9)}, table=priced, offset=2),
    )

    outcome = plain.replay().run(table)

    assert rows(plain) == [(1, "older")]
    assert (outcome.applied, outcome.superseded, plain.offsets) == (1, 0, [2])


def test_a_row_that_was_replayed_is_found_after_its_topic_got_more_partitions(
    plain: Scene, table: Table
) -> None:
    plain.apply(insert(row(1), table=table, offset=0))
    plain.bench.note_partitions(table.topic, {0: 1})
    plain.apply(bad(insert(row(2), table=table, offset=1)))
    plain.bench.note_partitions(table.topic, {0: 2, 1: 0})
    plain.replay().run(table)
    assert rows(plain) == [(1, "n1"), (2, "n2")]

    plain.apply(update(row(2, "moved"), table=table, offset=0, lsn=2000, partition=1))

    assert rows(plain) == [(1, "n1"), (2, "moved")]


def test_a_value_that_nobody_has_is_told_and_nothing_is_applied(plain: Scene, table: Table) -> None:
    unchanged = "__debezium_unavailable_value"
    plain.apply(insert(row(1), table=table, offset=0))
    plain.spoil(update(row(9, unchanged), table=table, offset=1))

    outcome = plain.replay().run(table)

    assert "leaves out" in str(outcome.failure)
    assert plain.offsets == [1]
    assert rows(plain) == [(1, "n1")]
