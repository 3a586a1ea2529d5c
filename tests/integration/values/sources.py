"""A database with every type, and one connector for each setup."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any, ClassVar

from cdc.dialect import ConnectorRequest
from cdc.sandbox.endpoints import BinlogEndpoint, ConnectEndpoint, PostgresEndpoint
from connectors import DIALECTS
from connectors.converters import JSON_WITH_SCHEMAS
from tests.integration.databases import Topics
from tests.integration.stack import Stack
from tests.integration.values.cells import (
    FIRST_STREAMED,
    FIRST_UPDATED,
    GONE,
    Format,
    Mode,
    Setup,
    Table,
)
from tests.integration.values.comparing import Expectations, expectations, select
from tests.patience import PATIENCE_SECONDS

# Connectors that start at the same time; each start is mostly waiting.
AT_ONCE = 4


class ValueSource(ABC):
    """The database, its tables, and its connectors."""

    connector: ClassVar[str]
    quote: ClassVar[str]
    modes: ClassVar[Mapping[Mode, Sequence[str]]]
    types: ClassVar[tuple[Table, ...]]  # of every type
    keys: ClassVar[tuple[Table, ...]]  # with keys of every type
    endpoint: PostgresEndpoint | BinlogEndpoint

    def __init__(self, stack: Stack, name: str, tables: tuple[Table, ...]) -> None:
        self.name, self.stack, self.tables = name, stack, tables
        self.missing: dict[str, str] = {}  # types that this server does not have, and why
        self._topics = Topics(stack.kafka.bootstrap_servers)
        self._avro: dict[str, str] = {}

    @abstractmethod
    def create(self) -> None:
        """Create the database with its types and empty tables."""

    @abstractmethod
    def run(self, statements: Iterable[str]) -> list[tuple[Any, ...]]:
        """Run statements in one transaction, and give the rows of the last."""

    @abstractmethod
    def topic(self, setup: Setup, table: Table) -> str:
        """Name the topic of a table."""

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """Give what the connectors of this test need beside what every connector has."""

    def produce(self, setups: Sequence[Setup]) -> None:
        """Fill the tables, start the connectors, change the tables, and wait for all of it."""
        self.create()
        for table in self.tables:
            rows = table.rows(0) | table.before_update()
            self.run(self._insert(table, key, edges) for key, edges in rows.items())
        if any(setup.format is Format.AVRO for setup in setups):
            self._avro = self.stack.registry.avro_converter()
        # Looked up here, not in the threads: the first look starts the server.
        connect = self.stack.connect
        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(lambda setup: self._register(setup, connect), setups))
            self._wait_for(setups, connect, Table.records_of_snapshot)
            for table in self.tables:
                self.run(self._changes(table))
            self._wait_for(setups, connect, Table.records)
        finally:
            for setup in setups:
                connect.delete(setup.name)

    def expected(self, setup: Setup, table: Table) -> Expectations:
        """Ask the database what the mirror of a table should hold."""
        query = f"SELECT {select(table, setup, self.quote)} FROM {table.name}"
        return expectations(table, setup, self.run([query]))

    def _changes(self, table: Table) -> Iterator[str]:
        for key, edges in table.rows(FIRST_STREAMED).items():
            yield self._insert(table, key, edges)
        for key, edges in table.rows(FIRST_UPDATED).items():
            yield self._update(table, key, edges)
        if table.keyed:
            yield f"UPDATE {table.name} SET changes = 1"
            yield f"DELETE FROM {table.name} WHERE {GONE}"

    def _wait_for(
        self, setups: Sequence[Setup], connect: ConnectEndpoint, count: Callable[[Table], int]
    ) -> None:
        """Wait until Kafka has so many records of each table from each connector."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        for setup, table in product(setups, self.tables):
            wanted = count(table)
            while (found := self._topics.records(self.topic(setup, table))) < wanted:
                status = connect.status(setup.name)
                states = [task["state"] for task in status.get("tasks", ())]
                if "FAILED" in states or time.monotonic() > deadline:
                    raise RuntimeError(f"{setup.name}: {found} of {wanted} rows; {status}")
                time.sleep(0.2)

    def _register(self, setup: Setup, connect: ConnectEndpoint) -> None:
        request = ConnectorRequest(
            name=setup.name,
            topic_prefix=setup.name,
            hostname=self.endpoint.host,
            port=self.endpoint.port,
            user=self.endpoint.user,
            password=self.endpoint.password,
            database=self.name,
            tables=(".*",),
            bootstrap_servers=self.stack.kafka.bootstrap_servers,
        )
        config = DIALECTS[self.connector].connector_config(request)
        converter = self._avro if setup.format is Format.AVRO else JSON_WITH_SCHEMAS
        connect.register(setup.name, config | converter | self.settings() | setup.settings())

    def _names(self, table: Table) -> list[str]:
        return [f"{self.quote}{column.name}{self.quote}" for column in table.columns]

    def _definition(self, table: Table) -> str:
        types = [column.type for column in table.columns]
        names = self._names(table)
        listed = [f"{name} {kind}" for name, kind in zip(names, types, strict=True)]
        key = ["id", *names] if table.keyed else ["id"]
        listed += ["changes int", f"PRIMARY KEY ({', '.join(key)})"]
        return f"CREATE TABLE {table.name} (id int, {', '.join(listed)})"

    def _insert(self, table: Table, key: int, edges: Mapping[str, str]) -> str:
        names, values = ", ".join(self._names(table)), ", ".join(table.literals(edges))
        return f"INSERT INTO {table.name} (id, {names}) VALUES ({key}, {values})"

    def _update(self, table: Table, key: int, edges: Mapping[str, str]) -> str:
        pairs = zip(self._names(table), table.literals(edges), strict=True)
        changes = ", ".join(f"{name} = {value}" for name, value in pairs)
        return f"UPDATE {table.name} SET {changes} WHERE id = {key}"
