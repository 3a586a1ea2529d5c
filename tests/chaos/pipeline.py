"""A database under the workload, its connector and its topics."""

import json
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from cdc.demo.postgres_rows import read_rows
from cdc.source.topics import open_topics
from tests.chaos.alterations import Columns
from tests.chaos.shapes import SHAPES, Database, Shape
from tests.chaos.workload import Client, MariadbClient, PostgresClient
from tests.integration.databases import MariadbSource, PostgresSource
from tests.integration.stack import Stack

LAST = "finished"  # a table whose only row comes after all else
ARRIVAL_SECONDS = 600.0
QUIET_SECONDS = 3.0
WATCH_SECONDS = 1.0
SHOWN = 300  # characters of a value

Ends = Mapping[tuple[str, int], int]


class Pipeline:
    """One database with its Debezium connector, up to its topics.

    Args:
        stack: The servers.
        database: Which of them.
        name: Of the database, the connector and the server part of the topics' names.
    """

    def __init__(self, stack: Stack, database: Database, name: str) -> None:
        self.stack = stack
        self.database = database
        self.name = name
        self.columns = Columns()
        kind = PostgresSource if database is Database.POSTGRES else MariadbSource
        self._source = kind(stack, name)
        self.servers = stack.kafka.bootstrap_servers
        self.schema = "public" if database is Database.POSTGRES else name
        self._source.execute(f"CREATE TABLE {LAST} (id int PRIMARY KEY)")

    def connect(self) -> Client:
        """Open a connection for the workload."""
        if isinstance(self._source, PostgresSource):
            return PostgresClient(self._source.endpoint)
        return MariadbClient(self._source.endpoint, self.name)

    def register(self) -> None:
        """Start Debezium; the topics of some tables get several partitions."""
        wide = "|".join(self.topic(shape.name) for shape in SHAPES if shape.partitions > 1)
        settings = {
            "topic.creation.default.replication.factor": "1",
            "topic.creation.default.partitions": "1",
            "topic.creation.groups": "wide",
            "topic.creation.wide.include": wide.replace(".", "\\."),
            "topic.creation.wide.partitions": str(max(s.partitions for s in SHAPES)),
        }
        self._source.register(**settings)

    def topic(self, table: str) -> str:
        """Name the topic of a table."""
        return f"{self.name}.{self.schema}.{table}"

    def finish(self) -> Ends:
        """Wait until all that was done has arrived in Kafka, and say where the topics end."""
        self._source.execute(f"INSERT INTO {LAST} VALUES (1)")
        deadline = time.monotonic() + ARRIVAL_SECONDS
        while not any(topic == self.topic(LAST) and end for (topic, _), end in self.ends().items()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the last row did not arrive: {self.status()}")
            time.sleep(0.5)
        # Topics are written apart from one another: one may still lack what came before that row.
        ends, since = self.ends(), time.monotonic()
        while time.monotonic() - since < QUIET_SECONDS:
            time.sleep(0.5)
            if (now := self.ends()) != ends:
                ends, since = now, time.monotonic()
        return ends

    def ends(self) -> Ends:
        """Say for each partition which offset the next record gets."""
        with open_topics({"bootstrap.servers": self.servers}) as reader:
            topics = reader.matching([f"{self.name}.{self.schema}.*"])
            return {place: range_.next for place, range_ in reader.ranges(topics).items()}

    def status(self) -> dict[str, Any]:
        """Ask Connect for the connector."""
        return self.stack.connect.status(self.name)

    def rows(self, shape: Shape) -> pa.Table:
        """Read a table as its mirror should have it."""
        if isinstance(self._source, PostgresSource):
            with psycopg.connect(self._source.endpoint.url) as connection:
                return read_rows(connection, shape.name)
        kinds = {c.name: c.kind for c in (*shape.key, *self.columns.of(shape))}
        listed = self._source.rows(f"SHOW COLUMNS FROM {shape.name}")
        names = [name for name, *_ in listed]
        asked = ", ".join(kinds[name].read.format(name=name) for name in names)
        rows = self._source.rows(f"SELECT {asked} FROM {shape.name}")
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        arrays = [
            pa.array(values, kinds[name].arrow)
            if not pa.types.is_boolean(kinds[name].arrow)
            # A boolean is a small number there, and only a bit is mirrored as true or false.
            else pa.array(values, pa.int32()).cast(pa.bool_() if kind == "bit(1)" else pa.int32())
            for name, kind, values in zip(names, (row[1] for row in listed), columns, strict=True)
        ]
        return pa.table(arrays, names=names)

    def restart_failed(self) -> bool:
        """Start a failed connector or task again, as an operator would; say whether there was any.

        A connector may take an absence of Kafka so badly that it gives up.
        """
        status = self.status()
        parts = [status.get("connector", {}), *status.get("tasks", ())]
        if not any(part.get("state") == "FAILED" for part in parts):
            return False
        url = f"{self.stack.connect.url}/connectors/{self.name}/restart"
        request = urllib.request.Request(f"{url}?includeTasks=true&onlyFailed=true", method="POST")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(request, timeout=30).close()
        return True

    @contextmanager
    def watched(self, tell: Any) -> Iterator[None]:
        """Start a failed connector again for as long as the block runs."""
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(WATCH_SECONDS):
                try:
                    if self.restart_failed():
                        tell("the connector had failed and was started again")
                except (OSError, ValueError):
                    continue  # Connect is away, or says something else while it starts

        thread = threading.Thread(target=watch, name="watch-connector")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def close(self) -> None:
        """Take the connector away."""
        self._source.close()


@dataclass(frozen=True, slots=True)
class Place:
    """One record of a topic."""

    partition: int
    offset: int
    text: str

    def __str__(self) -> str:
        return f"{self.partition}/{self.offset}: {self.text}"


def history(
    servers: str, topic: str, key: Mapping[str, Any], ends: Ends, most: int = 30
) -> list[Place]:
    """Find the records of a key, and all truncates: the last ones, in the order of time."""
    wanted = {name: str(value) for name, value in key.items()}
    found: list[tuple[int, Place]] = []
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "history", "enable.auto.commit": False}
    )
    parts = {part: end for (name, part), end in ends.items() if name == topic and end > 0}
    try:
        consumer.assign([TopicPartition(topic, part, 0) for part in parts])
        left = set(parts)
        while left:
            for message in consumer.consume(5000, timeout=1):
                if message.error():
                    raise RuntimeError(str(message.error()))
                part, offset = message.partition() or 0, message.offset() or 0
                if offset + 1 >= parts[part]:
                    left.discard(part)
                text = _of_key(message.key(), message.value(), wanted)
                if text is not None:
                    found.append((message.timestamp()[1], Place(part, offset, text)))
    finally:
        consumer.close()
    return [place for _, place in sorted(found, key=lambda pair: pair[0])][-most:]


def _of_key(key: bytes | None, value: bytes | None, wanted: Mapping[str, str]) -> str | None:
    change = json.loads(value)["payload"] if value else {}
    rows = [json.loads(key)["payload"]] if key else [change.get("before"), change.get("after")]
    truncate = change.get("op") == "t"
    if not truncate and not any(_has(row, wanted) for row in rows if row):
        return None
    source = change.get("source", {})
    names = ("lsn", "sequence", "txId", "gtid", "file", "pos", "row", "ts_us", "snapshot")
    where = {name: source[name] for name in names if source.get(name) is not None}
    after = {k: str(v)[:40] for k, v in (change.get("after") or {}).items()}
    return f"{change.get('op', 'tombstone')} {after} {where}"[:SHOWN]


def _has(row: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    return all(str(row.get(name)) == value for name, value in wanted.items())


def sample_key(shape: Shape, values: Sequence[Any]) -> dict[str, Any]:
    """Put names to the values of a key."""
    return dict(zip(shape.key_names, values, strict=True))
