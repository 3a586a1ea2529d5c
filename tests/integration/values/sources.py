"""A database with every type, and one connector for each setup."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from cdc.dialect import ConnectorRequest
from cdc.sandbox.endpoints import BinlogEndpoint, PostgresEndpoint
from connectors import DIALECTS
from connectors.converters import JSON_WITH_SCHEMAS
from tests.integration.databases import Topics
from tests.integration.stack import Stack
from tests.integration.values.cells import (
    FIRST_STREAMED,
    FIRST_UPDATED,
    Format,
    Mode,
    Setup,
    Table,
)
from tests.integration.values.comparing import Expectations, expectations, select

ARRIVAL_SECONDS = 90.0
# Connectors that start at the same time; each start is mostly waiting.
AT_ONCE = 4


class ValueSource(ABC):
    """The database, its tables, and its connectors; those go when the block ends."""

    connector: ClassVar[str]
    quote: ClassVar[str]
    modes: ClassVar[Mapping[Mode, Sequence[str]]]
    endpoint: PostgresEndpoint | BinlogEndpoint
    tables: tuple[Table, ...]
    missing: dict[str, str]  # types that this server does not have, and why

    def __init__(self, stack: Stack, name: str) -> None:
        self.name, self.stack = name, stack
        self.missing = {}
        self._topics = Topics(stack.kafka.bootstrap_servers)
        self._avro: dict[str, str] = {}
        self._registered: list[str] = []

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

    def fill(self) -> None:
        """Insert the rows that the connectors find."""
        for table in self.tables:
            rows = table.rows(0) | table.before_update()
            self.run(self._insert(table, key, edges) for key, edges in rows.items())

    def change(self) -> None:
        """Insert and update the rows that the connectors see changing."""
        for table in self.tables:
            inserted, updated = table.rows(FIRST_STREAMED), table.rows(FIRST_UPDATED)
            self.run(self._insert(table, key, edges) for key, edges in inserted.items())
            self.run(self._update(table, key, edges) for key, edges in updated.items())

    def register(self, setups: Sequence[Setup]) -> None:
        """Start the connectors."""
        if any(setup.format is Format.AVRO for setup in setups):
            self._avro = self.stack.registry.avro_converter()
        # Looked up here, not in the threads: the first look starts the server.
        self._connect = self.stack.connect
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._register, setups))

    def wait_for(self, setups: Sequence[Setup], *, streamed: bool) -> None:
        """Wait until Kafka has the rows of every table from every connector."""
        deadline = time.monotonic() + ARRIVAL_SECONDS
        for setup in setups:
            for table in self.tables:
                snapshot = len(table.rows(0)) + len(table.before_update())
                wanted = len(table.keys_in_order()) if streamed else snapshot
                while (found := self._topics.records(self.topic(setup, table))) < wanted:
                    status = self._connect.status(setup.name)
                    states = [task["state"] for task in status.get("tasks", ())]
                    if "FAILED" in states or time.monotonic() > deadline:
                        raise RuntimeError(f"{setup.name}: {found} of {wanted} rows; {status}")
                    time.sleep(0.2)

    def expected(self, setup: Setup, table: Table) -> Expectations:
        """Ask the database what the mirror of a table should hold."""
        query = f"SELECT {select(table, setup, self.quote)} FROM {table.name}"
        return expectations(table, setup, self.run([query]))

    def close(self) -> None:
        """Take the connectors away."""
        for name in self._registered:
            self._connect.delete(name)

    def _register(self, setup: Setup) -> None:
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
        self._registered.append(setup.name)
        self._connect.register(setup.name, config | converter | self.settings() | setup.settings())

    def _names(self, table: Table) -> list[str]:
        return [f"{self.quote}{column.name}{self.quote}" for column in table.columns]

    def _definition(self, table: Table) -> str:
        types = [column.type for column in table.columns]
        listed = [f"{name} {kind}" for name, kind in zip(self._names(table), types, strict=True)]
        return f"CREATE TABLE {table.name} (id int PRIMARY KEY, {', '.join(listed)})"

    def _insert(self, table: Table, key: int, edges: Mapping[str, str]) -> str:
        names, values = ", ".join(self._names(table)), ", ".join(table.literals(edges))
        return f"INSERT INTO {table.name} (id, {names}) VALUES ({key}, {values})"

    def _update(self, table: Table, key: int, edges: Mapping[str, str]) -> str:
        pairs = zip(self._names(table), table.literals(edges), strict=True)
        changes = ", ".join(f"{name} = {value}" for name, value in pairs)
        return f"UPDATE {table.name} SET {changes} WHERE id = {key}"
