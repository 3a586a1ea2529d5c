"""PostgreSQL as the source of a value test."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import psycopg

from tests.integration.stack import Stack
from tests.integration.values.cells import Column, Setup, Table
from tests.integration.values.postgres_tables import EXTENSIONS, KEYS, OWN_TYPES, TABLES
from tests.integration.values.setups import POSTGRES
from tests.integration.values.sources import ValueSource

PUBLICATION = "every"


class PostgresValues(ValueSource):
    """One database of the stack's PostgreSQL."""

    connector = "postgres"
    quote = '"'
    modes = POSTGRES

    types = TABLES
    keys = KEYS

    def __init__(self, stack: Stack, name: str, tables: tuple[Table, ...]) -> None:
        super().__init__(stack, name, tables)
        self.endpoint = stack.postgres.create_database(name)

    def create(self) -> None:
        """Create the types, those of missing extensions as stand-ins, and the tables."""
        there = {name for (name,) in self.run(["SELECT name FROM pg_available_extensions"])}
        self.run(OWN_TYPES)
        for name, stand_in in EXTENSIONS.items():
            if name in there:
                self.run([f"CREATE EXTENSION {name}"])
            elif stand_in:
                self.run(stand_in_sql(name))
                self.missing[name] = "a type of the same name and text stands in for it"
        self.tables = tuple(
            replace(table, columns=tuple(c for c in table.columns if self._has(c)))
            for table in self.tables
        )
        self.run(self._definition(table) for table in self.tables)
        self.run([f"CREATE PUBLICATION {PUBLICATION} FOR ALL TABLES"])

    def run(self, statements: Iterable[str]) -> list[tuple[Any, ...]]:
        """Run statements in one transaction, and give the rows of the last."""
        with psycopg.connect(self.endpoint.url) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def topic(self, setup: Setup, table: Table) -> str:
        """Name the topic of a table."""
        return f"{setup.name}.public.{table.name}"

    def settings(self) -> dict[str, str]:
        """Share a publication, and let slots go with their connectors: a server has only some."""
        return {
            "publication.name": PUBLICATION,
            "publication.autocreate.mode": "disabled",
            "slot.drop.on.stop": "true",
        }

    def _has(self, column: Column) -> bool:
        """Say whether the server has a column's type; some can be named and yet hold nothing."""
        try:
            self.run(
                f"SELECT CAST({edge} AS {column.sql_type}) IS NULL"
                for edge in column.edges.values()
            )
        except (psycopg.errors.UndefinedObject, psycopg.errors.FeatureNotSupported) as error:
            self.missing[column.type] = str(error).splitlines()[0]
            return False
        return True


def stand_in_sql(name: str) -> list[str]:
    """Render a type that has only a name and a text."""
    function = "LANGUAGE internal IMMUTABLE STRICT AS"
    return [
        f"CREATE TYPE {name}",
        f"CREATE FUNCTION {name}_in(cstring) RETURNS {name} {function} 'textin'",
        f"CREATE FUNCTION {name}_out({name}) RETURNS cstring {function} 'textout'",
        f"CREATE TYPE {name} (INPUT = {name}_in, OUTPUT = {name}_out, LIKE = text)",
    ]
