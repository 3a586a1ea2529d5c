"""The workload on a real database: some connections at once, at a pace that can be held back."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import psycopg
import pymysql
from pymysql.constants import CLIENT

from cdc.sandbox import PostgresEndpoint
from cdc.sandbox.endpoints import BinlogEndpoint
from tests.chaos.alterations import Alteration, Columns, added_columns
from tests.chaos.shapes import SHAPES, Database
from tests.chaos.statements import Generator, Transaction

CONNECTIONS = 3

Tell = Callable[[str], None]


class Client(Protocol):
    """One connection."""

    def run(self, sql: str) -> None:
        """Run statements that the server gets in one piece.

        Raises:
            Conflict: Another connection was in the way; nothing of an open transaction is left.
        """

    def close(self) -> None: ...


class Conflict(Exception):
    """A deadlock, a lock that did not come, or a key that another connection took first."""


class Outdated(Conflict):
    """The statement names a column that its table does not have any more."""


class PostgresClient:
    """A connection to PostgreSQL."""

    CONFLICTS = (psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation)

    def __init__(self, endpoint: PostgresEndpoint) -> None:
        self._connection = psycopg.connect(endpoint.url, autocommit=True)
        self._connection.execute("SET deadlock_timeout = '20ms'")
        self._connection.execute("SET synchronous_commit = off")

    def run(self, sql: str) -> None:
        try:
            # Without parameters it goes as it is, many statements in one message.
            self._connection.execute(sql.encode())
        except (*self.CONFLICTS, psycopg.errors.UndefinedColumn) as error:
            self._connection.execute("ROLLBACK")
            kind = Conflict if isinstance(error, self.CONFLICTS) else Outdated
            raise kind(str(error)) from error

    def close(self) -> None:
        self._connection.close()


class MariadbClient:
    """A connection to MariaDB."""

    CONFLICTS = (1205, 1213, 1062)  # a lock's time is over, a deadlock, a key that is taken
    OUTDATED = (1054, 1412)  # an unknown column, a table that has changed since

    def __init__(self, endpoint: BinlogEndpoint, database: str) -> None:
        self._connection = pymysql.connect(
            host=endpoint.host,
            port=endpoint.port,
            user=endpoint.user,
            password=endpoint.password,
            database=database,
            charset="utf8mb4",
            autocommit=True,
            client_flag=CLIENT.MULTI_STATEMENTS,
            init_command="SET innodb_lock_wait_timeout = 5",
        )

    def run(self, sql: str) -> None:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql)
                while cursor.nextset():
                    pass
        except pymysql.MySQLError as error:
            if error.args[0] not in (*self.CONFLICTS, *self.OUTDATED):
                raise
            self._connection.query("ROLLBACK")
            kind = Conflict if error.args[0] in self.CONFLICTS else Outdated
            raise kind(str(error)) from error

    def close(self) -> None:
        self._connection.close()


class Workload:
    """Random transactions of several connections at once.

    Args:
        connect: Opens a connection.
        database: Whose SQL is spoken.
        seed: The same seed gives each connection the same transactions; how those of different
            connections mix is up to the server.
        statements: How many there are in all.
        columns: Is told which columns the tables have.
        alterations: How those change; some are added if nothing else is asked.
        allowed: Gives how many may be done by now.
        tell: Receives a line about each change of columns.
    """

    def __init__(
        self,
        connect: Callable[[], Client],
        database: Database,
        *,
        seed: int,
        statements: int,
        tell: Tell,
        columns: Columns,
        alterations: Sequence[Alteration] | None = None,
        allowed: Callable[[], float] = lambda: float("inf"),
    ) -> None:
        self._connect = connect
        self._database = database
        self._seed = seed
        self._total = statements
        self._allowed = allowed
        self._tell = tell
        self._columns = columns
        self._alterations = added_columns(database) if alterations is None else alterations
        self._outdating = any(alteration.outdates for alteration in self._alterations)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failures: list[BaseException] = []
        self._altered = 0
        self.done = 0
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0

    def create(self) -> None:
        """Make the tables and their first rows."""
        generator = self._generator(-1)
        with self._client() as client:
            for shape in SHAPES:
                for statement in (*shape.create_sql(self._database), *generator.initial(shape)):
                    client.run(statement)

    def run(self) -> None:
        """Do all of it, and raise what went wrong in any connection."""
        started = time.monotonic()
        threads = [
            threading.Thread(target=self._guarded, args=(number,), name=f"workload-{number}")
            for number in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.monotonic() - started
        if self._failures:
            raise self._failures[0]

    def stop(self) -> None:
        """Let every connection end after the transaction in hand."""
        self._stop.set()

    def _guarded(self, number: int) -> None:
        try:
            self._work(number)
        except BaseException as error:
            self._failures.append(error)
            self.stop()

    def _work(self, number: int) -> None:
        generator = self._generator(number)
        transactions = generator.transactions()
        with self._client() as client:
            while self.done < self._total and not self._stop.is_set():
                if self.done > self._allowed():
                    time.sleep(0.05)
                    continue
                if number == 0 and self._alteration_is_due():
                    self._alter(client)
                    continue
                self._do(client, next(transactions))

    def _do(self, client: Client, transaction: Transaction) -> None:
        kind = transaction.kind
        try:
            for piece in transaction.pieces:
                client.run(piece)
        except Outdated:
            if not self._outdating:
                raise
            kind = "outdated"
        except Conflict:
            kind = "conflicts"
        with self._lock:
            self.done += transaction.statements
            self.counts[kind] += 1

    def _alteration_is_due(self) -> bool:
        return (
            self._altered < len(self._alterations)
            and self.done >= self._alterations[self._altered].due * self._total
        )

    def _alter(self, client: Client) -> None:
        alteration = self._alterations[self._altered]
        try:
            client.run(alteration.sql)
        except Conflict:
            return  # once more, then
        self._altered += 1
        self._columns.now[alteration.table] = alteration.columns
        with self._lock:
            self.done += 1
            self.counts["DDL"] += 1
        self._tell(f"after {self.done} statements: {alteration.sql}")

    def _generator(self, connection: int) -> Generator:
        return Generator(self._seed, connection, self._database, self._columns, total=self._total)

    @contextmanager
    def _client(self) -> Iterator[Client]:
        client = self._connect()
        try:
            yield client
        finally:
            client.close()


def summary(workload: Workload) -> dict[str, Any]:
    """Tell what the workload did."""
    return {
        "statements": workload.done,
        "seconds": round(workload.seconds, 1),
        "statements_per_second": round(workload.done / max(workload.seconds, 0.1)),
        **{f"{kind} transactions": count for kind, count in sorted(workload.counts.items())},
    }
