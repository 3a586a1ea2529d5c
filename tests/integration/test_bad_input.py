"""Bad input: a clear error or a parked table, the others go on, and nothing is lost."""

import json
import threading
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from cdc.cli import cli
from cdc.config import MirrorConfig
from cdc.observe import RunSummary
from cdc.runtime.stream.mirror import Mirror
from tests.conftest import Configure
from tests.integration.stack import Stack
from tests.unit.messages import ORDERS, Message, Table, insert, update


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"bad{uuid.uuid4().hex[:8]}")


@pytest.fixture
def config(stack: Stack, configure: Configure, table: Table) -> MirrorConfig:
    return configure(topics=f"{table.server}.*", servers=stack.kafka.bootstrap_servers)


def produce(stack: Stack, *messages: Message, topic: str | None = None) -> None:
    """Write messages as they are; Kafka numbers them by itself."""
    producer = Producer({"bootstrap.servers": stack.kafka.bootstrap_servers})
    for message in messages:
        producer.produce(topic or message.topic, message.value, message.key)
    assert producer.flush(30) == 0


def produce_text(stack: Stack, topic: str, text: bytes) -> None:
    produce(stack, Message(topic, 0, 0, b'{"id":1}', text))


def run_once(spark: SparkSession, config: MirrorConfig) -> RunSummary:
    return Mirror(spark, config, threading.Event()).run(once=True)


def names(spark: SparkSession, table: str) -> list[str]:
    return [row.name for row in spark.table(table).orderBy("id").collect()]


NAMELESS = json.dumps(
    {"before": None, "after": {"id": 1}, "source": {"db": "shop"}, "op": "c"}
).encode()
BAD = {
    "no table": (NAMELESS, "names no table"),
    "no json": (b"hello", "not a Debezium change"),
    "other json": (b'{"id": 1}', "not a Debezium change"),
    "avro": (b"\x00\x00\x00\x00\x07\x02\x04", "[registry]"),
    "not utf-8": (b'{"schema":\xff\xfe}', "not a Debezium change"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_topic_is_parked_and_the_others_go_on(
    stack: Stack, spark: SparkSession, config: MirrorConfig, table: Table, kind: str
) -> None:
    text, reason = BAD[kind]
    produce(stack, insert({"id": 1, "name": "good"}, table=table))
    produce_text(stack, f"{table.server}.public.broken", text)

    summary = run_once(spark, config)

    assert names(spark, f"shop.{table.server}.orders") == ["good"]
    assert summary.exit_code == 1
    assert reason in summary.parked[f"{table.server}.public.broken"]


def test_bad_record_in_mid_stream_goes_into_quarantine_and_the_table_goes_on(
    stack: Stack, spark: SparkSession, config: MirrorConfig, table: Table
) -> None:
    produce(stack, insert({"id": 1, "name": "a"}, table=table))
    run_once(spark, config)
    produce_text(stack, table.topic, b"garbage")
    produce(stack, insert({"id": 2, "name": "b"}, table=table))

    summary = run_once(spark, config)
    again = run_once(spark, config)

    kept = spark.table("shop.shop._mirror_quarantine").where(f"topic = '{table.topic}'").collect()
    assert (summary.exit_code, summary.account.quarantined) == (0, 1)
    assert again.account.read == 0
    assert names(spark, f"shop.{table.server}.orders") == ["a", "b"]
    assert [(row.offset, bytes(row.value)) for row in kept] == [(1, b"garbage")]


def test_parked_table_catches_up_once_its_cause_is_gone(
    stack: Stack, spark: SparkSession, config: MirrorConfig, table: Table
) -> None:
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS shop.{table.server}")
    spark.sql(f"CREATE TABLE shop.{table.server}.orders (x int) USING iceberg")
    produce(stack, insert({"id": 1, "name": "a"}, table=table))
    parked = run_once(spark, config)
    produce(stack, update({"id": 1, "name": "b"}, table=table))
    spark.sql(f"DROP TABLE shop.{table.server}.orders")

    resumed = run_once(spark, config)

    assert list(parked.parked) == [table.topic]
    assert resumed.exit_code == 0
    assert names(spark, f"shop.{table.server}.orders") == ["b"]


HOSTILE = [
    "qu\"ote`s ' all",
    "../../../../tmp/outside",
    "..",
    "dots.in.it",
    "spaces and\ttabs",
    "x" * 200,
    "имя таблицы 表 🚀",
    "semi;colon -- DROP TABLE x",
    "percent%2e%2e/slash\\back",
    "${env:HOME} {table}",
]


def test_hostile_names_neither_break_sql_nor_leave_the_warehouse(
    stack: Stack, spark: SparkSession, config: MirrorConfig, table: Table
) -> None:
    for number, name in enumerate(HOSTILE):
        hostile = replace(table, name=name)
        topic = f"{table.server}.public.t{number}"
        produce(stack, insert({"id": 1, "name": "a"}, table=hostile), topic=topic)
    run_once(spark, config)
    for number, name in enumerate(HOSTILE):
        hostile = replace(table, name=name)
        topic = f"{table.server}.public.t{number}"
        produce(stack, update({"id": 1, "name": "b"}, table=hostile), topic=topic)

    summary = run_once(spark, config)

    warehouse = Path(str(config.catalog.warehouse))
    found = [row.tableName for row in spark.sql(f"SHOW TABLES IN shop.{table.server}").collect()]
    assert summary.exit_code == 0, summary.parked
    assert len(found) == len(HOSTILE)
    for name in found:
        quoted = "`" + name.replace("`", "``") + "`"
        assert names(spark, f"shop.{table.server}.{quoted}") == ["b"]
        described = spark.sql(f"DESCRIBE TABLE EXTENDED shop.{table.server}.{quoted}").collect()
        location = next(row.data_type for row in described if row.col_name == "Location")
        assert Path(location).resolve().is_relative_to(warehouse.resolve())


def test_hostile_column_names_are_mirrored(
    stack: Stack, spark: SparkSession, config: MirrorConfig, table: Table
) -> None:
    hostile = 'a.b "c" `d` \' ; é'
    block = {"type": "string", "optional": True, "field": hostile}
    wide = replace(table, columns=(*table.columns, block))
    produce(stack, insert({"id": 1, "name": "a", hostile: "x"}, table=wide))
    run_once(spark, config)
    produce(stack, update({"id": 1, "name": "a", hostile: "y"}, table=wide))

    summary = run_once(spark, config)

    row = spark.table(f"shop.{table.server}.orders").first()
    assert summary.exit_code == 0, summary.parked
    assert row is not None
    assert row[hostile] == "y"


def write_config(folder: Path, servers: str, more: str = "") -> Path:
    file = folder / "shop.toml"
    file.write_text(
        f'name = "shop"\n[source]\nconnector = "postgres"\ntopics = ["x.*"]\n{more}\n'
        f'[kafka]\n"bootstrap.servers" = "{servers}"\n"socket.timeout.ms" = 3000\n'
    )
    return file


def test_missing_broker_is_told_before_spark_starts(tmp_path: Path) -> None:
    file = write_config(tmp_path, "127.0.0.1:1")

    result = CliRunner().invoke(cli, ["run", str(file), "--once"])

    assert result.exit_code == 1
    assert "127.0.0.1:1" in result.stderr
    assert "Traceback" not in result.output


def test_wrong_database_password_is_told_by_check(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = stack.postgres
    url = f"postgresql://{database.user}:hunter2@{database.host}:{database.port}/postgres"
    monkeypatch.setenv("SHOP_URL", url)
    file = write_config(tmp_path, stack.kafka.bootstrap_servers, 'url = "env:SHOP_URL"')

    result = CliRunner().invoke(cli, ["check", str(file)])

    assert result.exit_code == 1
    assert "source    FAILED" in result.output
    assert "password authentication failed" in result.output
    assert "hunter2" not in result.output


def test_check_prints_the_plan_of_each_table(stack: Stack, tmp_path: Path, table: Table) -> None:
    produce(stack, insert({"id": 1, "name": "a"}, table=table))
    file = write_config(tmp_path, stack.kafka.bootstrap_servers)
    file.write_text(file.read_text().replace("x.*", f"{table.server}.*"))

    result = CliRunner().invoke(cli, ["check", str(file), "--output", "json"])

    (plan,) = json.loads(result.output)["tables"]
    assert result.exit_code == 0
    assert (plan["table"], plan["action"], plan["key"]) == ("shop.orders", "create", ["id"])
    assert not (tmp_path / "mirror").exists()
