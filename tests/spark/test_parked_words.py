"""Parked tables, as processes beside the run know of them."""

import uuid
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from cdc.commit import IcebergCatalog
from cdc.model import TableName
from cdc.state.names import PARKED_PROPERTY, QUARANTINE
from cdc.state.parked import ParkedTable, read_parked
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import ORDERS, Message, Table, column, insert


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")


@pytest.fixture
def texts(table: Table) -> Table:
    """The table once its source has changed it in a way that it cannot follow."""
    return replace(table, columns=(table.columns[0], column("name")))


@pytest.fixture
def bench(spark: SparkSession, configure: Configure) -> Bench:
    return Bench(spark, configure())


def bad(message: Message) -> Message:
    return replace(message, value=b"garbage")


def words(bench: Bench, table: Table) -> list[ParkedTable]:
    """Read what any process can read: the catalog."""
    kept = IcebergCatalog(bench.spark, "shop").load(TableName(("shop",), QUARANTINE))
    found = read_parked(kept.properties) if kept is not None else ()
    return [word for word in found if word.topic.startswith(table.server)]


def test_a_parked_table_is_told_with_its_reason_and_where_it_waits(
    bench: Bench, table: Table, texts: Table
) -> None:
    bench.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=0),
        insert({"id": 2, "name": "b"}, table=table, partition=1, offset=4),
    )

    bench.apply(insert({"id": 3, "name": 5}, table=texts, offset=1))

    (word,) = words(bench, table)
    assert (word.topic, word.table) == (table.topic, f"{table.server}.orders")
    assert word.reason == str(bench.parked[table.topic])
    assert word.offsets == {0: 1, 1: 5}


def test_a_topic_without_a_table_is_told_too(bench: Bench, table: Table) -> None:
    bench.apply(bad(insert({"id": 1}, table=table, offset=0)))

    (word,) = words(bench, table)
    assert (word.topic, word.table) == (table.topic, None)
    assert "not a Debezium change" in word.reason


def test_a_table_that_goes_on_is_told_of_no_more(
    bench: Bench, configure: Configure, table: Table, texts: Table
) -> None:
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))
    bench.apply(insert({"id": 2, "name": 5}, table=texts, offset=1))
    lenient = configure(more='[tables.defaults]\nschema_change = "lenient"')

    again = Bench(bench.spark, lenient)
    before = words(again, table)
    again.apply(insert({"id": 2, "name": 5}, table=texts, offset=1))

    assert len(before) == 1  # until it has really gone on
    assert words(again, table) == []


def test_a_table_that_is_parked_again_is_so_since_the_first_time(
    bench: Bench, configure: Configure, table: Table, texts: Table
) -> None:
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))
    source = bench.table(table.topic).view.source
    bench.apply(insert({"id": 2, "name": 5}, table=texts, offset=1))
    quarantine = IcebergCatalog(bench.spark, "shop").load(TableName(("shop",), QUARANTINE))
    assert quarantine is not None
    kept = quarantine.properties[PARKED_PROPERTY]

    again = Bench(bench.spark, configure())
    again.tables.open(table.topic, source)
    again.apply(insert({"id": 2, "name": 5}, table=texts, offset=1))

    assert again.parked
    quarantine.refresh()
    assert quarantine.properties[PARKED_PROPERTY] == kept


def test_what_cannot_be_told_stops_no_batch_and_is_told_later(
    bench: Bench, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(table, name="invoices")
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))
    gone = IcebergCatalog(bench.spark, "shop").load(TableName((table.server,), "orders"))
    bench.spark.sql(f"DROP TABLE shop.{table.server}.orders")

    with monkeypatch.context() as patch:
        patch.setattr(bench.context.quarantine, "_table", gone)  # whose commits Iceberg refuses
        bench.apply(bad(insert({"id": 1}, table=other, offset=0)))
    before = words(bench, table)
    bench.apply()

    assert before == []
    assert [word.topic for word in words(bench, table)] == [other.topic]
