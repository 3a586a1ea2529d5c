"""Random transactions over the tables: every kind of change, from a seed."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.chaos.alterations import Columns
from tests.chaos.shapes import SHAPES, Column, Database, Shape, literal

# Rows of one statement that takes many.
MOST_ROWS = 12
TRUNCATES = 10  # of a whole run, on average
USUAL_STATEMENTS = 3.4  # of a transaction
ROLLED_BACK = 0.08  # of all transactions
IN_PIECES = 0.2  # of all transactions
MOST_STATEMENTS = 8  # of a transaction


@dataclass(frozen=True, slots=True)
class Transaction:
    """Statements, in the pieces in which the server gets them.

    It may end in a conflict with another connection: then nothing of it has happened.
    """

    pieces: tuple[str, ...]
    statements: int
    kind: str = "changes"


class Generator:
    """Writes the transactions of one connection.

    Args:
        seed: Of the whole run.
        connection: The number of the connection. Tables without a primary key are for the first
            alone: nothing but the workload itself keeps their keys apart.
        database: Whose SQL is written.
        columns: Which columns the tables have by now.
        total: The statements of the whole run, over which rare things are spread.
    """

    def __init__(
        self, seed: int, connection: int, database: Database, columns: Columns, *, total: int
    ) -> None:
        self._rng = random.Random(f"{seed}/{connection}")
        self._database = database
        self._columns = columns
        self._truncates = TRUNCATES * USUAL_STATEMENTS / total
        self._shapes = [s for s in SHAPES if s.declared or connection == 0]
        weights: dict[Callable[[Shape], list[str]], int] = {
            self._insert: 14,
            self._insert_many: 5,
            self._upsert: 8,
            self._update: 30,
            self._update_many: 5,
            self._touch: 3,
            self._change_key: 5,
            self._delete: 8,
            self._delete_many: 1,
            self._replace: 4,
            self._come_and_go: 3,
            self._savepoint: 2,
        }
        self._makers, self._weights = list(weights), list(weights.values())

    def initial(self, shape: Shape) -> Iterator[str]:
        """Fill two thirds of a table, as a snapshot shall find it."""
        numbers = [n for n in range(shape.rows) if n % 3]
        for start in range(0, len(numbers), 200):
            yield self._insert_rows(shape, numbers[start : start + 200])

    def transactions(self) -> Iterator[Transaction]:
        """Write transactions without end."""
        rng = self._rng
        while True:
            shape = rng.choice(self._shapes)
            if rng.random() < self._truncates:
                yield from self._truncate(shape)
                continue
            wanted = 1 if rng.random() < 0.4 else rng.randint(2, MOST_STATEMENTS)
            statements: list[str] = []
            while len(statements) < wanted:
                maker = rng.choices(self._makers, self._weights)[0]
                statements += maker(shape)
                # Most transactions stay with a table or two.
                shape = shape if rng.random() < 0.6 else rng.choice(self._shapes)
            undone = rng.random() < ROLLED_BACK
            if len(statements) == 1 and not undone:
                yield Transaction((statements[0],), 1)
                continue
            counted = sum("SAVEPOINT" not in statement for statement in statements)
            parts = ["BEGIN", *statements, "ROLLBACK" if undone else "COMMIT"]
            # Between two pieces other connections come in, and so their changes in the log.
            middle = len(parts) // 2 if rng.random() < IN_PIECES else 0
            pieces = tuple(";".join(p) for p in (parts[:middle], parts[middle:]) if p)
            yield Transaction(pieces, counted, "rolled back" if undone else "changes")

    def _insert(self, shape: Shape) -> list[str]:
        return [self._insert_rows(shape, [self._number(shape)])]

    def _insert_many(self, shape: Shape) -> list[str]:
        most = 3 if any(column.big for column in shape.columns) else MOST_ROWS
        return [self._insert_rows(shape, self._numbers(shape, self._rng.randint(2, most)))]

    def _upsert(self, shape: Shape) -> list[str]:
        """Insert a row, or change the one that is there, in one statement."""
        if not shape.declared:
            return self._update(shape)
        number = self._number(shape)
        columns = self._some_columns(shape)
        names = ", ".join([*shape.key_names, *(c.name for c in self._all(shape))])
        values = ", ".join([*shape.keys(number), *self._values(self._all(shape))])
        if self._database is Database.POSTGRES:
            sets = ", ".join(f"{c.name} = excluded.{c.name}" for c in columns)
            key = ", ".join(shape.key_names)
            rule = f"ON CONFLICT ({key}) DO UPDATE SET {sets}"
        else:
            sets = ", ".join(f"{c.name} = VALUES({c.name})" for c in columns)
            rule = f"ON DUPLICATE KEY UPDATE {sets}"
        return [f"INSERT INTO {shape.name} ({names}) VALUES ({values}) {rule}"]

    def _update(self, shape: Shape) -> list[str]:
        return [self._update_where(shape, self._is(shape, self._number(shape)))]

    def _update_many(self, shape: Shape) -> list[str]:
        numbers = self._numbers(shape, self._rng.randint(2, MOST_ROWS))
        return [self._update_where(shape, self._among(shape, numbers))]

    def _touch(self, shape: Shape) -> list[str]:
        """Update rows to what they are already."""
        name = self._rng.choice(self._all(shape)).name
        where = self._is(shape, self._number(shape))
        return [f"UPDATE {shape.name} SET {name} = {name} WHERE {where}"]

    def _change_key(self, shape: Shape) -> list[str]:
        """Give a row another key, if that is free; often nothing else of it changes.

        Large values change with the key: PostgreSQL does not log those that stay, and so nothing
        tells a mirror what the row of the new key holds. Its table would be parked.
        """
        old, new = self._numbers(shape, 2)
        key = zip(shape.key_names, shape.keys(new), strict=True)
        sets = [f"{name} = {value}" for name, value in key]
        columns = [column for column in self._all(shape) if column.big]
        if not columns and self._rng.random() < 0.5:
            columns = [self._rng.choice(self._all(shape))]
        sets += [self._set(column) for column in columns]
        where, changes = self._is(shape, old), ", ".join(sets)
        if self._database is Database.MARIADB and shape.declared:
            return [f"UPDATE IGNORE {shape.name} SET {changes} WHERE {where}"]
        taken = f"SELECT 1 FROM {shape.name} WHERE {self._is(shape, new)}"
        return [f"UPDATE {shape.name} SET {changes} WHERE {where} AND NOT EXISTS ({taken})"]

    def _delete(self, shape: Shape) -> list[str]:
        return [f"DELETE FROM {shape.name} WHERE {self._is(shape, self._number(shape))}"]

    def _delete_many(self, shape: Shape) -> list[str]:
        numbers = self._numbers(shape, self._rng.randint(2, MOST_ROWS))
        return [f"DELETE FROM {shape.name} WHERE {self._among(shape, numbers)}"]

    def _replace(self, shape: Shape) -> list[str]:
        """Delete a row and insert another of the same key."""
        number = self._number(shape)
        delete = f"DELETE FROM {shape.name} WHERE {self._is(shape, number)}"
        return [delete, self._insert_rows(shape, [number])]

    def _come_and_go(self, shape: Shape) -> list[str]:
        """Insert, delete and insert one key; now and then it ends deleted."""
        number = self._number(shape)
        delete = f"DELETE FROM {shape.name} WHERE {self._is(shape, number)}"
        insert = self._insert_rows(shape, [number])
        last = [self._insert_rows(shape, [number])] if self._rng.random() < 0.7 else []
        return [insert, delete, *last]

    def _savepoint(self, shape: Shape) -> list[str]:
        """Change something and think better of it, in the middle of a transaction."""
        inside = self._rng.choices(self._makers[:-1], self._weights[:-1])[0](shape)
        back = ["ROLLBACK TO SAVEPOINT here"] if self._rng.random() < 0.7 else []
        return ["SAVEPOINT here", *inside, *back, "RELEASE SAVEPOINT here"]

    def _truncate(self, shape: Shape) -> Iterator[Transaction]:
        """Empty a table and fill a part of it again."""
        numbers = self._numbers(shape, min(shape.rows // 3, 400))
        fill = [
            self._insert_rows(shape, numbers[start : start + 50])
            for start in range(0, len(numbers), 50)
        ]
        if self._database is Database.POSTGRES and self._rng.random() < 0.5:
            sql = ";".join(("BEGIN", f"TRUNCATE {shape.name}", *fill, "COMMIT"))
            yield Transaction((sql,), 1 + len(fill), "truncate")
            return
        yield Transaction((f"TRUNCATE TABLE {shape.name}",), 1, "truncate")
        yield Transaction((";".join(("BEGIN", *fill, "COMMIT")),), len(fill))

    def _insert_rows(self, shape: Shape, numbers: Sequence[int]) -> str:
        """Insert the rows whose keys are free."""
        columns = self._all(shape)
        names = ", ".join([*shape.key_names, *(c.name for c in columns)])
        rows = [[*shape.keys(number), *self._values(columns)] for number in numbers]
        if not shape.declared:
            return self._insert_undeclared(shape, names, numbers, rows)
        values = ", ".join(f"({', '.join(row)})" for row in rows)
        if self._database is Database.POSTGRES:
            return f"INSERT INTO {shape.name} ({names}) VALUES {values} ON CONFLICT DO NOTHING"
        return f"INSERT IGNORE INTO {shape.name} ({names}) VALUES {values}"

    def _insert_undeclared(
        self, shape: Shape, names: str, numbers: Sequence[int], rows: Sequence[Sequence[str]]
    ) -> str:
        """Insert rows into a table that would take a key twice."""
        types = [c.kind.type(self._database) for c in (*shape.key, *self._all(shape))]
        parts = []
        for number, row in zip(numbers, rows, strict=True):
            values = ", ".join(
                f"CAST({value} AS {kind})" if self._database is Database.POSTGRES else value
                for value, kind in zip(row, types, strict=True)
            )
            found = f"SELECT 1 FROM {shape.name} WHERE {self._is(shape, number)}"
            parts.append(f"SELECT {values} FROM (SELECT 1) one WHERE NOT EXISTS ({found})")
        return f"INSERT INTO {shape.name} ({names}) {' UNION ALL '.join(parts)}"

    def _update_where(self, shape: Shape, where: str) -> str:
        sets = ", ".join(self._set(column) for column in self._some_columns(shape))
        return f"UPDATE {shape.name} SET {sets} WHERE {where}"

    def _set(self, column: Column) -> str:
        return f"{column.name} = {self._values([column])[0]}"

    def _some_columns(self, shape: Shape) -> list[Column]:
        """Choose the columns of an update; large values mostly stay as they are."""
        columns = [c for c in self._all(shape) if not c.big or self._rng.random() < 0.15]
        return self._rng.sample(columns, self._rng.randint(1, min(3, len(columns))))

    def _all(self, shape: Shape) -> tuple[Column, ...]:
        return self._columns.of(shape)

    def _values(self, columns: Sequence[Column]) -> list[str]:
        rng = self._rng
        return [
            "NULL"
            if column.nullable and rng.random() < (0.7 if column.often_null else 0.15)
            else literal(column.kind, rng, self._database)
            for column in columns
        ]

    def _is(self, shape: Shape, number: int) -> str:
        key = zip(shape.key_names, shape.keys(number), strict=True)
        return " AND ".join(f"{name} = {value}" for name, value in key)

    def _among(self, shape: Shape, numbers: Sequence[int]) -> str:
        # In the order of the key, so that two connections seldom wait for one another in a circle.
        keys = ", ".join(f"({', '.join(shape.keys(number))})" for number in sorted(numbers))
        return f"({', '.join(shape.key_names)}) IN ({keys})"

    def _number(self, shape: Shape) -> int:
        """Choose a key; the first hundredth of them is busier than the rest."""
        if self._rng.random() < 0.1:
            return self._rng.randrange(max(1, shape.rows // 100))
        return self._rng.randrange(shape.rows)

    def _numbers(self, shape: Shape, count: int) -> list[int]:
        return self._rng.sample(range(shape.rows), count)
