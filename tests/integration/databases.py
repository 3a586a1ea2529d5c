"""A source database in the stack: its connector, its rows, and the comparison with its mirror."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
import pymysql
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from cdc.dialect import ConnectorRequest
from cdc.observe.comparison import Comparison, compare
from cdc.observe.postgres_rows import primary_key, read_rows
from connectors import DIALECTS
from connectors.converters import JSON_WITH_SCHEMAS
from tests.integration.stack import Stack

ARRIVAL_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Topics:
    """How far the topics of a database go."""

    servers: str

    def records(self, topic: str) -> int:
        """Count what a topic has received; nothing, if there is none."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "count"})
        try:
            found = consumer.list_topics(topic, timeout=10).topics[topic]
            if found.error is not None:
                return 0
            places = [TopicPartition(topic, partition) for partition in found.partitions]
            return sum(consumer.get_watermark_offsets(place, timeout=10)[1] for place in places)
        finally:
            consumer.close()

    def wait_for(self, topic: str, count: int) -> None:
        """Wait until a topic has received so many records."""
        deadline = time.monotonic() + ARRIVAL_SECONDS
        while self.records(topic) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic} has {self.records(topic)} records of {count}")
            time.sleep(0.2)


class PostgresSource:
    """One database of the stack's PostgreSQL, with a Debezium connector of its own."""

    connector = "postgres"

    def __init__(self, stack: Stack, name: str) -> None:
        self.name = name
        self.stack = stack
        self.endpoint = stack.postgres.create_database(name)
        self.topics = Topics(stack.kafka.bootstrap_servers)

    def execute(self, *statements: str) -> None:
        """Run statements, all in one transaction."""
        with psycopg.connect(self.endpoint.url) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def register(self, *tables: str, **settings: str) -> None:
        """Start Debezium on the tables."""
        request = ConnectorRequest(
            name=self.name,
            topic_prefix=self.name,
            hostname=self.endpoint.host,
            port=self.endpoint.port,
            user=self.endpoint.user,
            password=self.endpoint.password,
            database=self.name,
            tables=tables or ("public.*",),
            bootstrap_servers=self.stack.kafka.bootstrap_servers,
        )
        config = DIALECTS[self.connector].connector_config(request)
        self.stack.connect.register(self.name, config | JSON_WITH_SCHEMAS | settings)

    def close(self) -> None:
        """Take the connector away, so that the server may forget its log."""
        self.stack.connect.delete(self.name)

    def wait_for(self, table: str, count: int) -> None:
        """Wait until Kafka has so many records of a table."""
        self.topics.wait_for(f"{self.name}.public.{table}", count)

    def compare(self, spark: SparkSession, table: str, mirror: str) -> Comparison:
        """Compare a table with its mirror, row by row."""
        with psycopg.connect(self.endpoint.url) as connection:
            source = read_rows(connection, table)
            key = primary_key(connection, table)
        return compare(mirrored(spark, mirror), source, key)


class MariadbSource:
    """One database of the stack's MariaDB, with a Debezium connector of its own."""

    connector = "mariadb"

    def __init__(self, stack: Stack, name: str) -> None:
        self.name = name
        self.stack = stack
        self.endpoint = stack.mariadb
        self.topics = Topics(stack.kafka.bootstrap_servers)
        self._run(f"CREATE DATABASE `{name}`", database=None)

    def execute(self, *statements: str) -> None:
        """Run statements, all in one transaction."""
        self._run(*statements, database=self.name)

    def _run(self, *statements: str, database: str | None) -> list[tuple[Any, ...]]:
        connection = pymysql.connect(
            host=self.endpoint.host,
            port=self.endpoint.port,
            user=self.endpoint.user,
            password=self.endpoint.password,
            database=database,
        )
        with connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()
            return list(cursor.fetchall())

    def register(self, *tables: str, **settings: str) -> None:
        """Start Debezium on the tables."""
        request = ConnectorRequest(
            name=self.name,
            topic_prefix=self.name,
            hostname=self.endpoint.host,
            port=self.endpoint.port,
            user=self.endpoint.user,
            password=self.endpoint.password,
            database=self.name,
            tables=tables or (f"{self.name}.*",),
            bootstrap_servers=self.stack.kafka.bootstrap_servers,
        )
        config = DIALECTS[self.connector].connector_config(request)
        plain = {"database.ssl.mode": "disable"}
        self.stack.connect.register(self.name, config | JSON_WITH_SCHEMAS | plain | settings)

    def close(self) -> None:
        """Take the connector away."""
        self.stack.connect.delete(self.name)

    def wait_for(self, table: str, count: int) -> None:
        """Wait until Kafka has so many records of a table."""
        self.topics.wait_for(f"{self.name}.{self.name}.{table}", count)

    def compare(
        self, spark: SparkSession, table: str, mirror: str, key: Sequence[str]
    ) -> Comparison:
        """Compare a table with its mirror, row by row."""
        found = mirrored(spark, mirror)
        names = found.column_names
        rows = self._run(f"SELECT {', '.join(names)} FROM {table}", database=self.name)
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        arrays = [pa.array(list(c), f.type) for c, f in zip(columns, found.schema, strict=True)]
        return compare(found, pa.Table.from_arrays(arrays, names), key)


def mirrored(spark: SparkSession, table: str) -> pa.Table:
    """Read a mirrored table as Spark sees it now."""
    return spark.table(table).toArrow()
