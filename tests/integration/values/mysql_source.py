"""MariaDB and MySQL as sources of a value test."""

from collections.abc import Iterable
from typing import Any

import pymysql

from tests.integration.stack import Stack
from tests.integration.values.cells import Setup, Table
from tests.integration.values.mysql_columns import KEYS, MARIADB, MYSQL
from tests.integration.values.setups import MYSQL as MODES
from tests.integration.values.sources import ValueSource


class BinlogValues(ValueSource):
    """One database of a server with a binlog."""

    quote = "`"
    modes = MODES

    def __init__(self, stack: Stack, name: str, tables: tuple[Table, ...]) -> None:
        super().__init__(stack, name, tables)
        self._database: str | None = None

    def create(self) -> None:
        """Create the database and its tables."""
        self.run([f"CREATE DATABASE `{self.name}` CHARACTER SET utf8mb4"])
        self._database = self.name
        self.run(self._definition(table) for table in self.tables)

    def run(self, statements: Iterable[str]) -> list[tuple[Any, ...]]:
        """Run statements in one transaction, and give the rows of the last."""
        connection = pymysql.connect(
            host=self.endpoint.host,
            port=self.endpoint.port,
            user=self.endpoint.user,
            password=self.endpoint.password,
            database=self._database,
            charset="utf8mb4",
            sql_mode="",  # dates with a zero in them are refused otherwise
        )
        with connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()
            return list(cursor.fetchall())

    def topic(self, setup: Setup, table: Table) -> str:
        """Name the topic of a table."""
        return f"{setup.name}.{self.name}.{table.name}"


class MariadbValues(BinlogValues):
    """One database of the stack's MariaDB."""

    connector = "mariadb"
    types = MARIADB
    keys = KEYS

    def __init__(self, stack: Stack, name: str, tables: tuple[Table, ...]) -> None:
        super().__init__(stack, name, tables)
        self.endpoint = stack.mariadb

    def settings(self) -> dict[str, str]:
        """Do without the certificate that the server does not have."""
        return {"database.ssl.mode": "disable"}


class MysqlValues(BinlogValues):
    """One database of the stack's MySQL."""

    connector = "mysql"
    types = MYSQL
    keys = KEYS

    def __init__(self, stack: Stack, name: str, tables: tuple[Table, ...]) -> None:
        super().__init__(stack, name, tables)
        self.endpoint = stack.mysql

    def settings(self) -> dict[str, str]:
        """Nothing beside what every connector has."""
        return {}
