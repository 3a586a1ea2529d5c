"""Avro through real Spark: a registry that is away costs time and no record."""

import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from cdc.errors import RegistryUnreachableError
from cdc.model import Account
from cdc.state.names import QUARANTINE
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.avro_messages import AvroTopic
from tests.unit.messages import ORDERS, Message, Table, delete, insert, update
from tests.unit.registry_server import RegistryServer, serve


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with serve() as server:
        yield server


@pytest.fixture
def bench(spark: SparkSession, configure: Configure, registry: RegistryServer) -> Bench:
    return Bench(spark, configure(more=f'[registry]\nurl = "{registry.url}"'))


def written(topic: AvroTopic, registry: RegistryServer, *messages: Message) -> list[Message]:
    """Write messages in Avro, their schemas into the registry."""
    found = [topic.write(message) for message in messages]
    for id_, schema in topic.schemas.items():
        registry.add(id_, schema)
    return found


def test_registry_that_is_away_costs_no_record(
    bench: Bench, registry: RegistryServer, table: Table
) -> None:
    topic = AvroTopic()
    first = written(topic, registry, insert({"id": 1, "name": "a"}, table=table, offset=0))
    wider = replace(table, columns=(*table.columns, {**table.columns[1], "field": "note"}))
    second = written(
        topic,
        registry,
        update({"id": 1, "name": "b", "note": "x"}, table=wider, offset=1),
        insert({"id": 2, "name": "c", "note": "y"}, table=wider, offset=2),
    )
    bench.apply(*first)

    registry.failure = (503, b"down for a while")
    with pytest.raises(RegistryUnreachableError) as raised:
        bench.apply(*second)
    snapshots = bench.snapshots(f"{table.server}.orders")
    registry.failure = None
    progress = bench.apply(*second)

    assert raised.value.retryable
    assert snapshots == 1
    assert bench.parked == {}
    assert progress.account == Account(read=2, applied=2)
    assert [(row["name"], row["note"]) for row in bench.rows(f"{table.server}.orders")] == [
        ("b", "x"),
        ("c", "y"),
    ]


def test_record_with_an_unknown_schema_is_quarantined_with_its_id(
    bench: Bench, registry: RegistryServer, table: Table
) -> None:
    good = written(
        AvroTopic(),
        registry,
        insert({"id": 1, "name": "a"}, table=table, offset=0),
        insert({"id": 2, "name": "b"}, table=table, offset=1),
        delete({"id": 2}, table=table, offset=2),
    )
    assert good[1].value is not None
    strange = replace(good[1], value=b"\x00\x00\x00\x27\x0f" + good[1].value[5:])

    bench.apply(good[0], strange, good[2])

    assert [row["id"] for row in bench.rows(f"{table.server}.orders")] == [1]
    rows = [r for r in bench.rows(f"shop.{QUARANTINE}") if r["topic"] == table.topic]
    assert [(row["offset"], row["schema_id"]) for row in rows] == [(1, 9999)]
    assert "9999" in rows[0]["reason"]
