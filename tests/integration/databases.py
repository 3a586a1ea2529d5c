"""A source database in the stack: its connector, its rows, and the comparison with its mirror."""

from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar

import psycopg
import pyarrow as pa
import pymysql
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from cdc.demo.postgres_rows import primary_key, read_rows
from cdc.dialect import ConnectorRequest
from cdc.observe.comparison import Comparison, compare
from cdc.sandbox.endpoints import BinlogEndpoint
from connectors import DIALECTS
from connectors.converters import JSON_WITH_SCHEMAS
from tests.integration.stack import Stack
from tests.patience import PATIENCE_SECONDS, wait_until


@dataclass(frozen=True, slots=True)
class Topics:
    """How far the topics of a database go."""

    servers: str

    def records(self, topic: str) -> int:
        """Count what a topic has received; nothing, if there is none."""
        with self._reader() as reader:
            return _records(reader, topic)

    def wait_for(self, topic: str, count: int) -> None:
        """Wait until a topic has received so many records."""
        with self._reader() as reader:
            if not wait_until(lambda: _records(reader, topic) >= count, pause=0.2):
                raise TimeoutError(f"{topic} has {_records(reader, topic)} records of {count}")

    def _reader(self) -> closing[Consumer]:
        return closing(Consumer({"bootstrap.servers": self.servers, "group.id": "count"}))


def _records(reader: Consumer, topic: str) -> int:
    found = reader.list_topics(topic, timeout=PATIENCE_SECONDS).topics[topic]
    if found.error is not None:
        return 0
    places = [TopicPartition(topic, partition) for partition in found.partitions]
    return sum(reader.get_watermark_offsets(p, timeout=PATIENCE_SECONDS)[1] for p in places)


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


class BinlogSource:
    """One database of a server with a binlog, with a Debezium connector of its own."""

    connector: ClassVar[str]
    settings: ClassVar[dict[str, str]] = {}

    def __init__(self, stack: Stack, name: str) -> None:
        self.name = name
        self.stack = stack
        self.endpoint = self.server(stack)
        self.topics = Topics(stack.kafka.bootstrap_servers)
        self._run(f"CREATE DATABASE `{name}`", database=None)

    @staticmethod
    def server(stack: Stack) -> BinlogEndpoint:
        """Return the server that holds such databases."""
        raise NotImplementedError

    def execute(self, *statements: str) -> None:
        """Run statements, all in one transaction."""
        self._run(*statements, database=self.name)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return what a query finds, as pymysql gives it."""
        return self._run(query, database=self.name)

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
        self.stack.connect.register(
            self.name, config | JSON_WITH_SCHEMAS | self.settings | settings
        )

    def close(self) -> None:
        """Take the connector away."""
        self.stack.connect.delete(self.name)

    def wait_for(self, table: str, count: int) -> None:
        """Wait until Kafka has so many records of a table."""
        self.topics.wait_for(f"{self.name}.{self.name}.{table}", count)

    def compare(self, spark: SparkSession, table: str, mirror: str) -> Comparison:
        """Compare a table with its mirror, row by row."""
        found = mirrored(spark, mirror)
        names = found.column_names
        rows = self.rows(f"SELECT {', '.join(f'`{name}`' for name in names)} FROM `{table}`")
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        arrays = [pa.array(list(c), f.type) for c, f in zip(columns, found.schema, strict=True)]
        return compare(found, pa.Table.from_arrays(arrays, names), self.primary_key(table))

    def primary_key(self, table: str) -> list[str]:
        """Name the columns of a table's key."""
        found = self.rows(f"SHOW KEYS FROM `{table}` WHERE Key_name = 'PRIMARY'")
        return [row[4] for row in found]


class MariadbSource(BinlogSource):
    """One database of the stack's MariaDB."""

    connector = "mariadb"
    settings: ClassVar = {"database.ssl.mode": "disable"}  # the server has no certificate

    @staticmethod
    def server(stack: Stack) -> BinlogEndpoint:
        """Return MariaDB."""
        return stack.mariadb


class MysqlSource(BinlogSource):
    """One database of the stack's MySQL, where a server can be had: see the fixture `mysql`."""

    connector = "mysql"

    @staticmethod
    def server(stack: Stack) -> BinlogEndpoint:
        """Return MySQL."""
        return stack.mysql


Source = PostgresSource | MariadbSource | MysqlSource
SOURCES: dict[str, type[Source]] = {
    source.connector: source for source in (PostgresSource, MariadbSource, MysqlSource)
}


def mirrored(spark: SparkSession, table: str) -> pa.Table:
    """Read a mirrored table as Spark sees it now."""
    return spark.table(table).toArrow()
