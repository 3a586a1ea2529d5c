"""Bad records: kept whole and once, while their table goes on."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdc.errors import CommitConflictError, TooManyBadRecordsError
from cdc.model import Account
from cdc.runtime.tables.table_commit import TableCommit
from cdc.state.names import QUARANTINE
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.spark.meddling import around_commit
from tests.unit.messages import ORDERS, Message, Table, decimal, decimal_column, insert, update


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")


@pytest.fixture
def bench(spark: SparkSession, configure: Configure) -> Bench:
    return Bench(spark, configure())


def quarantined(bench: Bench, table: Table) -> list[dict[str, Any]]:
    rows = bench.rows(f"shop.{QUARANTINE}")
    return sorted((r for r in rows if r["topic"] == table.topic), key=lambda row: row["offset"])


def bad(message: Message) -> Message:
    return replace(message, value=b"garbage")


def test_bad_record_is_kept_whole_and_its_table_goes_on(bench: Bench, table: Table) -> None:
    rows = [insert({"id": n, "name": f"n{n}"}, table=table, offset=n) for n in range(4)]
    rows[2] = bad(rows[2])

    progress = bench.apply(*rows)

    assert [row["id"] for row in bench.rows(f"{table.server}.orders")] == [0, 1, 3]
    assert progress.account == Account(read=4, applied=3, quarantined=1)
    assert bench.ledgers(f"{table.server}.orders")[-1].account.quarantined == 1
    (row,) = quarantined(bench, table)
    assert (row["partition"], row["offset"], row["value"]) == (0, 2, b"garbage")
    assert row["key"] == rows[2].key


def test_batch_cut_off_behind_the_quarantine_does_not_fill_it_twice(
    bench: Bench, configure: Configure, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.apply(insert({"id": 0}, table=table, offset=0))
    batch = [
        bad(insert({"id": 1}, table=table, offset=1)),
        insert({"id": 2}, table=table, offset=2),
    ]

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TableCommit, "__call__", cut_off)
        with pytest.raises(KeyboardInterrupt):
            bench.apply(*batch)
    later = [
        bad(insert({"id": 3}, table=table, offset=3)),
        insert({"id": 4}, table=table, offset=4),
    ]
    restarted = Bench(bench.spark, configure())
    restarted.tables.open(table.topic, bench.table(table.topic).view.source)
    progress = restarted.apply(*batch, *later)

    assert [row["id"] for row in restarted.rows(f"{table.server}.orders")] == [0, 2, 4]
    assert [row["offset"] for row in quarantined(restarted, table)] == [1, 3]
    assert progress.account == Account(read=4, applied=2, quarantined=2)


def test_bad_records_stay_where_the_batch_is_written_again_after_a_conflict(
    bench: Bench, table: Table
) -> None:
    bench.apply(insert({"id": 0}, table=table, offset=0))
    conflicts = [CommitConflictError("orders", "somebody was faster")]

    def meet() -> None:
        if conflicts:
            raise conflicts.pop()

    around_commit(bench.table(table.topic).table, before=meet)

    bench.apply(
        bad(insert({"id": 1}, table=table, offset=1)), insert({"id": 2}, table=table, offset=2)
    )

    assert conflicts == []
    assert [row["id"] for row in bench.rows(f"{table.server}.orders")] == [0, 2]
    assert [row["offset"] for row in quarantined(bench, table)] == [1]


def test_topic_of_which_nothing_can_be_read_is_parked(bench: Bench, table: Table) -> None:
    other = replace(table, name="invoices")

    bench.apply(
        bad(insert({"id": 1}, table=table, offset=0)), insert({"id": 1}, table=other, offset=0)
    )

    assert list(bench.parked) == [table.topic]
    assert [row["id"] for row in bench.rows(f"{table.server}.invoices")] == [1]


def test_value_that_does_not_fit_quarantines_its_record_alone(bench: Bench, table: Table) -> None:
    priced = replace(table, columns=(*table.columns, decimal_column("price", 5, 2)))
    bench.apply(insert({"id": 1, "price": decimal(100)}, table=priced, offset=0))

    bench.apply(
        update({"id": 1, "price": decimal(200)}, table=priced, offset=1),
        update({"id": 2, "price": decimal(10_000_000)}, table=priced, offset=2),
    )

    assert [str(row["price"]) for row in bench.rows(f"{table.server}.orders")] == ["2.00"]
    assert "price" in quarantined(bench, table)[0]["reason"]


def test_more_bad_records_than_allowed_park_their_table_and_leave_nothing(
    spark: SparkSession, configure: Configure, table: Table
) -> None:
    config = configure(more="[tables.defaults]\nmax_quarantined = 2")
    bench, other = Bench(spark, config), replace(table, name="invoices")
    rows = [insert({"id": n}, table=table, offset=n) for n in range(6)]
    bench.apply(rows[0])

    bench.apply(
        *(bad(row) if row.offset in (2, 3, 4) else row for row in rows[1:]),
        insert({"id": 1}, table=other, offset=0),
    )

    reason = bench.parked[table.topic]
    assert isinstance(reason, TooManyBadRecordsError)
    assert (reason.bad, reason.read, reason.allowed, reason.place) == (3, 5, 2, (0, 2))
    assert "garbage" in reason.reason
    assert quarantined(bench, table) == []
    assert [row["id"] for row in bench.rows(f"{table.server}.orders")] == [0]
    assert [row["id"] for row in bench.rows(f"{table.server}.invoices")] == [1]


def test_parked_table_catches_up_once_the_ceiling_is_raised(
    spark: SparkSession, configure: Configure, table: Table
) -> None:
    strict = Bench(spark, configure(more="[tables.defaults]\nmax_quarantined = 0"))
    rows = [insert({"id": n}, table=table, offset=n) for n in range(4)]
    batch = [bad(rows[1]), *rows[2:]]
    strict.apply(rows[0])
    strict.apply(*batch)
    source = strict.tables[next(iter(strict.tables.parked))].view.source

    raised = Bench(spark, configure(more="[tables.defaults]\nmax_quarantined = 1"))
    raised.tables.open(table.topic, source)
    progress = raised.apply(*batch)

    assert list(strict.parked) == [table.topic]
    assert progress.account == Account(read=3, applied=2, quarantined=1)
    assert [row["offset"] for row in quarantined(raised, table)] == [1]
    assert [row["id"] for row in raised.rows(f"{table.server}.orders")] == [0, 2, 3]


def test_few_bad_records_are_no_share(bench: Bench, table: Table) -> None:
    rows = [insert({"id": n}, table=table, offset=n) for n in range(20)]
    bench.apply(rows[0])

    progress = bench.apply(*(bad(row) for row in rows[1:]))

    assert bench.parked == {}
    assert progress.account == Account(read=19, quarantined=19)
