"""What each mode keeps, whichever way it finds the rows that it replaces."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdc.errors import OtherModeError
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import Message, Table, delete, insert, truncate, update

WAYS = {
    "index": 'deletes = "positional"',
    "equality": 'deletes = "equality"',
    "merge": 'deletes = "positional"\nlookup = "merge"',
    "vectors": "format_version = 3",
}
MODES = {
    "soft": 'on_delete = "soft"',
    "history": 'mode = "history"',
    "append": 'mode = "append"',
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return WAYS[request.param]


def at(second: int) -> dict[str, int]:
    return {"ts_ms": second * 1000}


def moment(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def rows(bench: Bench, table: Table) -> list[tuple[Any, ...]]:
    found = [tuple(row.values()) for row in bench.rows(f"{table.server}.orders")]
    return sorted(found, key=lambda row: tuple(str(value) for value in row))


def changes(table: Table) -> list[list[Message]]:
    return [
        [
            insert({"id": 1, "name": "a"}, table=table, offset=0, source=at(10)),
            insert({"id": 2, "name": "b"}, table=table, offset=1, source=at(11)),
            insert({"id": 3, "name": "c"}, table=table, offset=2, source=at(12)),
        ],
        [
            update({"id": 1, "name": "a2"}, table=table, offset=3, source=at(20)),
            update({"id": 1, "name": "a3"}, table=table, offset=4, source=at(21)),
            delete({"id": 2}, table=table, offset=5, source=at(22)),
        ],
        [
            insert({"id": 2, "name": "b2"}, table=table, offset=6, source=at(30)),
            delete({"id": 3}, table=table, offset=7, source=at(31)),
        ],
    ]


def test_soft_deletes_keep_their_rows_marked(
    spark: SparkSession, configure: Configure, table: Table, way: str
) -> None:
    bench = Bench(spark, configure(more=f"[tables.defaults]\n{way}\n{MODES['soft']}"))

    for batch in changes(table):
        assert bench.apply(*batch).account.balanced

    assert rows(bench, table) == [(1, "a3", False), (2, "b2", False), (3, "c", True)]

    bench.apply(
        update({"id": 1, "name": "a4"}, table=table, offset=8),
        truncate(table=table, offset=9),
        insert({"id": 4, "name": "d"}, table=table, offset=10),
        insert({"id": 2, "name": "b3"}, table=table, offset=11),
    )

    assert rows(bench, table) == [
        (1, "a4", True),
        (2, "b3", False),
        (3, "c", True),
        (4, "d", False),
    ]


def test_history_has_every_version_with_its_times(
    spark: SparkSession, configure: Configure, table: Table, way: str
) -> None:
    bench = Bench(spark, configure(more=f"[tables.defaults]\n{way}\n{MODES['history']}"))

    for batch in changes(table):
        assert bench.apply(*batch).account.balanced

    assert rows(bench, table) == [
        (1, "a", moment(10), moment(20), False),
        (1, "a2", moment(20), moment(21), False),
        (1, "a3", moment(21), None, True),
        (2, "b", moment(11), moment(22), False),
        (2, "b2", moment(30), None, True),
        (3, "c", moment(12), moment(31), False),
    ]

    bench.apply(
        update({"id": 1, "name": "a4"}, table=table, offset=8, source=at(40)),
        truncate(table=table, offset=9, source=at(41)),
        insert({"id": 4, "name": "d"}, table=table, offset=10, source=at(42)),
    )

    assert rows(bench, table)[2:] == [
        (1, "a3", moment(21), moment(40), False),
        (1, "a4", moment(40), moment(41), False),
        (2, "b", moment(11), moment(22), False),
        (2, "b2", moment(30), moment(41), False),
        (3, "c", moment(12), moment(31), False),
        (4, "d", moment(42), None, True),
    ]


def test_the_log_has_every_change(spark: SparkSession, configure: Configure, table: Table) -> None:
    bench = Bench(spark, configure(more=f"[tables.defaults]\n{MODES['append']}"))

    for batch in changes(table):
        assert bench.apply(*batch).account.balanced

    log = sorted(rows(bench, table), key=lambda row: int(row[4]))
    assert [(row[0], row[1], row[2], row[4]) for row in log] == [
        (1, "a", "c", 0),
        (2, "b", "c", 1),
        (3, "c", "c", 2),
        (1, "a2", "u", 3),
        (1, "a3", "u", 4),
        (2, None, "d", 5),
        (2, "b2", "c", 6),
        (3, None, "d", 7),
    ]
    assert [row[6] for row in log][:2] == [moment(10), moment(11)]


@pytest.mark.parametrize(
    ("made", "wanted"),
    [("", MODES["history"]), ("", MODES["soft"]), (MODES["soft"], ""), (MODES["history"], "")],
    ids=["mirror to history", "mirror to soft", "soft to mirror", "history to mirror"],
)
def test_a_table_made_for_another_mode_is_parked_and_stays_as_it_is(
    spark: SparkSession, configure: Configure, table: Table, made: str, wanted: str
) -> None:
    first, second, _ = changes(table)
    bench = Bench(spark, configure(more=f"[tables.defaults]\n{made}"))
    bench.apply(*first)
    before = rows(bench, table)

    restarted = Bench(spark, configure(more=f"[tables.defaults]\n{wanted}"))
    restarted.apply(*second)

    (reason,) = restarted.parked.values()
    assert isinstance(reason, OtherModeError)
    assert rows(restarted, table) == before
