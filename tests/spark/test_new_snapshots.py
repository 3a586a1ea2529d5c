"""A history whose connector lost its place and reads the whole table again."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.spark.replays import Scene
from tests.spark.test_modes import WAYS
from tests.spark.test_replay import STAMPED, bad, row
from tests.unit.messages import Message, Table, insert, snapshot_row, update

FIRST, AGAIN = 10, 50  # seconds since 1970


def anew(values: dict[str, Any], table: Table, offset: int, second: int, **more: int) -> Message:
    """Make a row of a snapshot with which a connector begins, as a real one marks it."""
    position = second * 100
    marks = {"snapshot": "true", "sequence": f'[null,"{position}"]', "ts_ms": second * 1000}
    return snapshot_row(values, table=table, offset=offset, lsn=position, source=marks, **more)


def versions(bench: Bench, table: Table) -> list[tuple[Any, ...]]:
    names = ("id", "name", "_mirror_valid_from", "_mirror_valid_to")
    found = [
        tuple(_second(row[name]) if name.startswith("_") else row[name] for name in names)
        for row in bench.rows(f"{table.server}.orders")
    ]
    return sorted(found, key=lambda version: (version[0], version[2]))


def _second(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.astimezone(UTC).timestamp())


@pytest.mark.parametrize("way", WAYS)
def test_what_a_new_snapshot_lacks_ends_in_every_partition_and_the_rest_goes_on(
    spark: SparkSession, configure: Configure, table: Table, way: str
) -> None:
    bench = Bench(spark, configure(more=f'[tables.defaults]\nmode = "history"\n{WAYS[way]}'))
    bench.apply(
        anew({"id": 1, "name": "a"}, table, 0, FIRST),
        anew({"id": 2, "name": "b"}, table, 1, FIRST),
        anew({"id": 3, "name": "c"}, table, 0, FIRST, partition=1),
        anew({"id": 4, "name": "d"}, table, 1, FIRST, partition=1),
        anew({"id": 5, "name": "e"}, table, 2, FIRST, partition=1),
    )

    progress = bench.apply(
        anew({"id": 1, "name": "a"}, table, 2, AGAIN),
        anew({"id": 3, "name": "c2"}, table, 3, AGAIN, partition=1),
        anew({"id": 5, "name": "e"}, table, 4, AGAIN, partition=1),
    )

    assert progress.account.balanced
    assert versions(bench, table) == [
        (1, "a", FIRST, None),
        (2, "b", FIRST, AGAIN),
        (3, "c", FIRST, AGAIN),
        (3, "c2", AGAIN, None),
        (4, "d", FIRST, AGAIN),
        (5, "e", FIRST, None),
    ]


def test_a_new_snapshot_of_several_batches_leaves_no_gap(
    spark: SparkSession, configure: Configure, table: Table
) -> None:
    bench = Bench(spark, configure(more='[tables.defaults]\nmode = "history"'))
    names = dict(enumerate("abc", 1))
    bench.apply(*(anew({"id": n, "name": v}, table, n, FIRST) for n, v in names.items()))

    bench.apply(anew({"id": 1, "name": "a"}, table, 4, AGAIN))
    bench.apply(anew({"id": 3, "name": "c"}, table, 5, AGAIN))
    bench.apply(update({"id": 3, "name": "c2"}, table=table, offset=6, source={"ts_ms": 60_000}))

    assert versions(bench, table) == [
        (1, "a", FIRST, None),
        (2, "b", FIRST, AGAIN),
        (3, "c", FIRST, AGAIN),
        (3, "c", AGAIN, 60),
        (3, "c2", 60, None),
    ]


def test_a_record_from_before_a_new_snapshot_is_not_replayed_into_a_history(
    spark: SparkSession, configure: Configure, table: Table
) -> None:
    stamped = replace(table, columns=STAMPED)
    scene = Scene(spark, configure, stamped, 'mode = "history"')
    scene.apply(anew(row(1), stamped, 0, FIRST))
    scene.apply(bad(insert(row(2), table=stamped, offset=1, lsn=2_000, source={"ts_ms": 20_000})))
    scene.apply(anew(row(1), stamped, 2, AGAIN))

    outcome = scene.replay().run(stamped)

    assert (outcome.applied, outcome.superseded, outcome.done) == (0, 1, True)
    assert versions(scene.bench, stamped) == [(1, "n1", FIRST, None)]
