"""`database-mirror status` as an operator runs it, beside a mirror of the real stack."""

import json
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from cdc.config import MirrorConfig
from cdc.runtime.stream.mirror import Mirror
from tests.conftest import Configure
from tests.integration.databases import PostgresSource
from tests.integration.stack import Stack
from tests.patience import PATIENCE_SECONDS
from tests.unit.messages import ORDERS, Message, Table, column, insert

COMMAND = [sys.executable, "-c", "from cdc.cli import main; main()", "status"]

Status = Callable[..., tuple[int, dict[str, Any]]]


def write_config(lake: Path, topics: str, servers: str) -> str:
    """Write a config that means what the fixture `configure` makes, and only the test's tables."""
    file = lake / f"{uuid.uuid4().hex}.toml"
    server = topics.partition(".")[0]
    file.write_text(
        f'name = "shop"\n[source]\nconnector = "postgres"\ntopics = ["{topics}"]\n'
        f'[kafka]\n"bootstrap.servers" = "{servers}"\n[target]\ntable = "{server}.{{table}}"\n'
    )
    return str(file)


@pytest.fixture
def status(stack: Stack, lake: Path) -> Status:
    """Run the command; give its exit code and what it says to machines."""

    def run(topics: str, *options: str) -> tuple[int, dict[str, Any]]:
        file = write_config(lake, topics, stack.kafka.bootstrap_servers)
        command = [*COMMAND, file, "--output", "json", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    return run


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"st{uuid.uuid4().hex[:8]}")


@pytest.fixture
def shop(stack: Stack) -> Iterator[PostgresSource]:
    source = PostgresSource(stack, f"st{uuid.uuid4().hex[:8]}")
    source.execute(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer text)",
        "INSERT INTO orders SELECT g, 'customer ' || g FROM generate_series(1, 100) g",
    )
    source.register()
    source.wait_for("orders", 100)
    yield source
    source.close()


def run_once(spark: SparkSession, config: MirrorConfig) -> int:
    return Mirror(spark, config, threading.Event()).run(once=True).exit_code


def produce(stack: Stack, *messages: Message) -> None:
    producer = Producer({"bootstrap.servers": stack.kafka.bootstrap_servers})
    for message in messages:
        producer.produce(message.topic, message.value, message.key)
    assert producer.flush(30) == 0


def test_status_follows_a_database_from_its_first_record_to_new_columns(
    shop: PostgresSource, spark: SparkSession, configure: Configure, status: Status
) -> None:
    topics = f"{shop.name}.public.*"
    config = configure(topics=topics, servers=shop.topics.servers)

    before = status(topics)
    run_once(spark, config)
    mirrored = status(topics)
    shop.execute("ALTER TABLE orders ADD COLUMN channel text")
    shop.execute("INSERT INTO orders VALUES (200, 'new', 'web')", "DELETE FROM orders WHERE id < 3")
    shop.wait_for("orders", 100 + 1 + 2 * 2)
    waiting = status(topics)
    run_once(spark, config)
    after = status(topics)

    (table,) = before[1]["tables"]
    assert (before[0], table["table"], table["waiting"]) == (0, None, 100)
    (table,) = mirrored[1]["tables"]
    assert (mirrored[0], table["table"], table["mode"]) == (0, f"{shop.name}.orders", "mirror")
    assert (table["waiting"], table["behind_seconds"], table["rows"]) == (0, 0, 100)
    (table,) = waiting[1]["tables"]
    assert (table["waiting"], table["rows"]) == (5, 100)
    assert 0 < table["behind_seconds"] < 300
    (table,) = after[1]["tables"]
    assert (table["waiting"], table["rows"], table["batch"]) == (0, 99, 1)
    assert (table["data_files"], table["delete_files"]) == (2, 1)
    _, found = status(topics, "--schema")
    create, add = found["tables"][0]["changes"]
    assert (create["statement"], create["new_schema"]["id"]) == ("CREATE TABLE", 0)
    assert add["statement"] == "ADD COLUMN channel string AFTER customer"
    assert (add["offset"], add["position"] > create["position"]) == (100, True)
    assert [c["name"] for c in add["old_schema"]["columns"]] == ["id", "customer"]
    assert [c["name"] for c in add["new_schema"]["columns"]] == ["id", "customer", "channel"]


def test_what_is_parked_is_shown_until_it_goes_on(
    stack: Stack, spark: SparkSession, configure: Configure, status: Status, table: Table
) -> None:
    topics, broken = f"{table.server}.*", replace(table, name="broken")
    servers = stack.kafka.bootstrap_servers
    config = configure(topics=topics, servers=servers)
    numbers = replace(table, columns=(table.columns[0], column("name")))
    produce(stack, insert({"id": 1, "name": "a"}, table=table))
    run_once(spark, config)
    produce(stack, insert({"id": 2, "name": 5}, table=numbers))
    produce(stack, replace(insert({"id": 1}, table=broken), value=b"garbage"))
    assert run_once(spark, config) == 1

    parked = status(topics)
    lenient = configure(
        topics=table.topic, servers=servers, more='[tables.defaults]\nschema_change = "lenient"'
    )
    run_once(spark, lenient)
    gone_on = status(table.topic)

    first, second = parked[1]["tables"]
    assert (parked[0], parked[1]["parked"]) == (1, 2)
    assert (first["topic"], first["table"], first["waiting"]) == (broken.topic, None, 1)
    assert "not a Debezium change" in first["parked"]
    assert (second["table"], second["waiting"]) == (f"{table.server}.orders", 1)
    assert (second["offsets"], second["rows"]) == ({"0": 1}, 1)
    assert "name from string to int" in second["parked"]
    (only,) = gone_on[1]["tables"]  # the broken topic is not one of the mirror's any more
    assert (gone_on[0], only["parked"], only["waiting"], only["rows"]) == (0, None, 0, 2)


def test_a_table_whose_cause_is_gone_is_not_parked_though_nothing_came(
    stack: Stack, spark: SparkSession, configure: Configure, status: Status, table: Table
) -> None:
    servers = stack.kafka.bootstrap_servers
    config = configure(topics=table.topic, servers=servers)
    produce(stack, insert({"id": 1, "name": "a"}, table=table))
    run_once(spark, config)
    other = configure(
        topics=table.topic, servers=servers, more='[tables.defaults]\nmode = "history"'
    )
    run_once(spark, other)
    parked = status(table.topic)

    run_once(spark, config)

    assert (parked[0], status(table.topic)[0]) == (1, 0)


def test_records_that_kafka_deleted_are_told_before_a_run_stumbles_over_them(
    stack: Stack, spark: SparkSession, configure: Configure, status: Status, table: Table
) -> None:
    servers = stack.kafka.bootstrap_servers
    produce(stack, insert({"id": 1, "name": "a"}, table=table))
    run_once(spark, configure(topics=table.topic, servers=servers))
    produce(stack, *(insert({"id": n, "name": "b"}, table=table) for n in range(2, 6)))
    before = status(table.topic)
    admin = AdminClient({"bootstrap.servers": servers})
    for done in admin.delete_records([TopicPartition(table.topic, 0, 3)]).values():
        done.result()

    _, found = status(table.topic)

    assert (before[1]["tables"][0]["lost"], before[1]["tables"][0]["waiting"]) == (None, 4)
    assert "offset 1 of partition 0, which has been deleted" in found["tables"][0]["lost"]


def test_watching_shows_it_again_until_it_is_interrupted(
    stack: Stack, lake: Path, table: Table
) -> None:
    produce(stack, insert({"id": 1, "name": "a"}, table=table))
    file = write_config(lake, table.topic, stack.kafka.bootstrap_servers)

    with subprocess.Popen([*COMMAND, file, "--watch"], stdout=subprocess.PIPE, text=True) as shown:
        assert shown.stdout is not None
        lines = [shown.stdout.readline() for _ in range(4)]
        started = time.monotonic()
        shown.send_signal(signal.SIGINT)
        rest = shown.stdout.read()

    assert lines[0].startswith("topic ")
    assert lines[1].startswith(table.topic)
    assert lines[2].startswith("total ")
    assert lines[3] == lines[0]
    assert "Traceback" not in rest
    assert (shown.returncode, time.monotonic() - started < 30) == (130, True)
