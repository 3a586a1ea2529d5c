"""A database whose tables' columns change, in three wire formats, under one mirror.

Half of its tables change while the mirror runs, the other half while it is down. Each table goes
through the connector of one format.
"""

import copy
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import psycopg
import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyspark.sql import SparkSession

from cdc.config import MirrorConfig
from cdc.demo.postgres_rows import read_rows
from cdc.errors import KafkaUnreachableError
from cdc.observe import RunSummary
from cdc.runtime.stream.mirror import Mirror
from cdc.source.topics import open_topics
from cdc.state.names import QUARANTINE
from tests.chaos.workload import Client, MariadbClient, PostgresClient
from tests.integration.column_changes import (
    BEFORE_RECORDS,
    CHANGES,
    DATABASES,
    DATED,
    POLICIES,
    Change,
    Outcome,
)
from tests.integration.databases import SOURCES, BinlogSource, PostgresSource
from tests.integration.planned_actions import Differences, compared_with_check
from tests.integration.stack import Stack

FORMATS = ("json", "avro", "bare")
# JSON converters that send no schemas.
BARE = {"key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false"}
ROUNDS = ("live", "down")
LAST = "finished"  # a table whose row comes after all else
ALL = "EVOLUTION_ALL"  # the variable that asks for all cases
MATRIX_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Case:
    """One table: what happens to it, when, how it is told, and what it promises."""

    round: str
    change: Change
    policy: str
    format: str

    @property
    def table(self) -> str:
        return f"{self.round}_{self.change.name}_{self.policy}_{self.format}"


def cases(database: str) -> list[Case]:
    """List the tables of a database: all, or a choice.

    There a change under a policy happens once on each database: while the mirror runs on one of
    them, while it is down on the other, and in another format.
    """
    turn = DATABASES.index(database)
    return [
        Case(round_, change, policy, format_)
        for when, round_ in enumerate(ROUNDS)
        for line, change in enumerate(CHANGES, turn)
        if change.happens_in(database)
        for place, policy in enumerate(POLICIES, line)
        for how, format_ in enumerate(FORMATS)
        if ALL in os.environ or (place % len(ROUNDS) == when and place % len(FORMATS) == how)
    ]


def in_short(database: str, case: Case) -> bool:
    """Whether `make test` has time for a case: a change under a policy happens on one database."""
    if not all(case.change.happens_in(other) for other in DATABASES):
        return True
    number = CHANGES.index(case.change) + POLICIES.index(case.policy)
    return number // 2 % len(DATABASES) == DATABASES.index(database)


class Parked(logging.Handler):
    """Notes which topics were parked, and why."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: dict[str, Exception] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("parked topic=") and isinstance(record.args, tuple):
            topic, _, reason = record.args
            assert isinstance(reason, Exception)
            self.reasons[str(topic)] = reason


class EvolvingDatabase:
    """All tables of one database, with a connector for each format, and their mirror."""

    def __init__(self, stack: Stack, database: str, chosen: Sequence[Case]) -> None:
        self.database = database
        self.cases = chosen
        self.stack = stack
        self._source = SOURCES[database](stack, f"evolving{time.time_ns() % 10**9}")
        self._readers = {f: copy.copy(self._source) for f in FORMATS} | {"json": self._source}
        self._readers["avro"].name = f"{self._source.name}a"
        self._readers["bare"].name = f"{self._source.name}n"
        self.parked = Parked()
        # What the last run did otherwise than `check` had said.
        self.differences: Differences = {}

    @property
    def schema(self) -> str:
        return "public" if self.database == "postgres" else self._source.name

    @property
    def url(self) -> str:
        """The database's own address, for what its messages do not tell."""
        return self._source.endpoint.url

    def server(self, format_: str) -> str:
        """Name the connector of a format, and the namespace of its mirrored tables."""
        return self._readers[format_].name

    def topic(self, format_: str, table: str) -> str:
        return f"{self.server(format_)}.{self.schema}.{table}"

    def topic_of(self, case: Case) -> str:
        return self.topic(case.format, case.table)

    def settings(self) -> str:
        """Write what the mirror's config says of the tables."""
        rules = [
            *((f"*_{c.name}_{p}_*", p, c.renames) for c in CHANGES if c.renames for p in POLICIES),
            *((f"*_{policy}_*", policy, {}) for policy in POLICIES),
        ]
        lines = ['[stream]\ntrigger = "1 second"', f'[registry]\nurl = "{self.stack.registry.url}"']
        for pattern, policy, renames in rules:
            pairs = ", ".join(f'{old} = "{new}"' for old, new in renames.items())
            lines += [
                f'[[tables.rules]]\nmatch = "{self.schema}.{pattern}"',
                f'schema_change = "{policy}"\nrenames = {{ {pairs} }}',
            ]
        return "\n".join(lines)

    def create(self) -> None:
        """Make all tables with their first rows, and start the connectors."""
        created = [sql for case in self.cases for sql in case.change.create_sql(case.table)]
        self._run(*created, f"CREATE TABLE {LAST} (id int PRIMARY KEY)")
        avro = self.stack.registry.avro_converter()
        same = "database.dbname" if self.database == "postgres" else "database.include.list"
        for format_, settings in (("json", {}), ("avro", avro), ("bare", BARE)):
            tables = f"{self.schema}.*_{format_}", f"{self.schema}.{LAST}"
            self._readers[format_].register(*tables, **settings, **{same: self._source.name})
        self._wait_for_records({self.topic_of(case): 4 for case in self.cases})

    def change(self, round_: str) -> None:
        """Change the tables of a round, and wait until Kafka has all of it."""
        chosen = [case for case in self.cases if case.round == round_]
        self._run(*(sql for case in chosen for sql in case.change.before_sql(case.table)))
        # PostgreSQL's connector reads the key of a table when it meets its first change.
        self._wait_for_records({self.topic_of(case): BEFORE_RECORDS for case in chosen})
        for case in chosen:
            self._run(*case.change.change_sql(case.table, self.database))
        self._wait_for_records({self.topic_of(c): c.change.records(self.database) for c in chosen})
        # Whoever has this row has been able to read all the others.
        number = ROUNDS.index(round_)
        self._run(f"INSERT INTO {LAST} VALUES ({number})")
        self._wait_for_records({self.topic(format_, LAST): number + 1 for format_ in FORMATS})

    def mirror(self, spark: SparkSession, config: MirrorConfig) -> RunSummary:
        """Let the mirror run through both rounds; give what its last run did."""
        catalog = load_catalog(config.name, **config.catalog.properties())
        with self.parked_noted():
            with running(Mirror(spark, config, stop := threading.Event()), stop):
                live = [case for case in self.cases if case.round == "live"]
                firsts = {case.format: (self.server(case.format), case.table) for case in live}
                wait_for_rows(catalog, firsts.values(), 4)
                self.change("live")
                wait_for_rows(catalog, [(self.server(f), LAST) for f in FORMATS], 1)
            self.change("down")
            with compared_with_check(config) as self.differences:
                return Mirror(spark, config, threading.Event()).run(once=True)

    @contextmanager
    def parked_noted(self) -> Iterator[None]:
        logger = logging.getLogger("cdc.runtime.tables.open_tables")
        logger.addHandler(self.parked)
        try:
            yield
        finally:
            logger.removeHandler(self.parked)

    def source_rows(self, table: str, like: pa.Schema) -> pa.Table:
        """Read a table of the source; `like` tells which numbers the mirror has as floats."""
        if isinstance(self._source, PostgresSource):
            with psycopg.connect(self._source.endpoint.url) as connection:
                return read_rows(connection, table).sort_by("id")
        assert isinstance(self._source, BinlogSource)
        names = [name for name, *_ in self._source.rows(f"SHOW COLUMNS FROM {table}")]
        rows = self._source.rows(f"SELECT * FROM {table} ORDER BY id")
        columns = zip(*rows, strict=True)
        # A float is read as the double that its digits say.
        floats = [name for name in like.names if like.field(name).type == pa.float32()]
        arrays = [
            pa.array(list(values), pa.float32() if name in floats else None)
            for name, values in zip(names, columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names)

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()

    def _run(self, *statements: str) -> None:
        """Run statements, each in a transaction of its own."""
        source = self._source
        client: Client = (
            PostgresClient(source.endpoint)
            if isinstance(source, PostgresSource)
            else MariadbClient(source.endpoint, source.name)
        )
        with closing(client):
            for statement in statements:
                client.run(statement)

    def _wait_for_records(self, wanted: Mapping[str, int]) -> None:
        """Wait until Kafka has so many records of each topic."""
        servers = {"bootstrap.servers": self.stack.kafka.bootstrap_servers}

        def lacking() -> list[str]:
            try:
                with open_topics(servers) as reader:
                    there = reader.matching(["evolving*"]).items()
                    ranges = reader.ranges({t: p for t, p in there if t in wanted})
            except KafkaUnreachableError as error:  # a topic that is being made has no leader yet
                return [str(error)]
            found = {topic: range_.next for (topic, _), range_ in ranges.items()}
            lacks = [
                f"{topic} {found.get(topic, 0)} of {count}"
                for topic, count in wanted.items()
                if found.get(topic, 0) < count
            ]
            return lacks

        wait_until_empty(lacking)


def wait_for_rows(catalog: Catalog, tables: Iterable[tuple[str, str]], rows: int) -> None:
    """Wait until each of the tables has so many rows."""
    wait_until_empty(lambda: [str(name) for name in tables if row_count(catalog, name) < rows])


def row_count(catalog: Catalog, name: tuple[str, str]) -> int:
    """Count the rows of a table as its newest snapshot says; none, if there is no table."""
    if not catalog.table_exists(name):
        return 0
    snapshot = catalog.load_table(name).current_snapshot()
    if snapshot is None or snapshot.summary is None:
        return 0
    return int(snapshot.summary["total-records"] or 0)


@contextmanager
def running(mirror: Mirror, stop: threading.Event) -> Iterator[None]:
    """Let a mirror run beside the block; the batch in hand at its end is finished."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            mirror.run(once=False)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, name="mirror")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if failures:
        raise failures[0]


def wait_until_empty(lacking: Any) -> None:
    """Wait until nothing is lacking any more."""
    deadline = time.monotonic() + MATRIX_SECONDS
    while missing := lacking():
        assert time.monotonic() < deadline, f"still lacking: {missing[:5]}"
        time.sleep(0.5)


class Mirrored:
    """The mirrored tables of all formats, as they are in the end."""

    def __init__(self, config: MirrorConfig) -> None:
        self._catalog = load_catalog(config.name, **config.catalog.properties())
        self._namespace = config.name

    def rows(self, server: str, table: str) -> pa.Table:
        """Read a table; its dated column, if it has one, is called so."""
        found = self._catalog.load_table((server, table)).scan().to_arrow()
        names = [DATED if name.startswith(DATED[:-1]) else name for name in found.column_names]
        return found.rename_columns(names).sort_by("id")

    def quarantined(self, topic: str) -> int:
        """Count the records of a topic that did not fit."""
        return self._quarantined.count(topic)

    @cached_property
    def _quarantined(self) -> list[str]:
        table = self._catalog.load_table((self._namespace, QUARANTINE))
        topics: list[str] = table.scan(selected_fields=("topic",)).to_arrow()["topic"].to_pylist()
        return topics


def expected_rows(source: pa.Table, mirror: pa.Table, wanted: Outcome) -> pa.Table:
    """Say what a mirrored table should hold: the source's rows, but for what differs."""
    names = wanted.columns.split() or source.column_names
    if wanted.rows:
        keys = pa.array(wanted.rows, source["id"].type)
        source = source.filter(pa.compute.is_in(source["id"], keys))
    arrays = [
        pa.array(wanted.values[name], _type_of(mirror, name))
        if name in wanted.values
        else source[name]
        for name in names
    ]
    return pa.table(arrays, names=names)


def _type_of(table: pa.Table, name: str) -> pa.DataType | None:
    return table.schema.field(name).type if name in table.column_names else None
