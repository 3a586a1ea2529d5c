"""What a value test is made of: columns and their edges, handling modes, and what is expected.

A cell is one edge of one type in one wire format under one handling mode. What the mirror should
hold in it is said in SQL, which the source answers itself: nothing here decodes a message.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# Rows with smaller keys are in the table before any connector starts; those from the second on are
# there too, but empty, and filled afterwards.
FIRST_STREAMED = 1000
FIRST_UPDATED = 2000
# Of a table whose key is of all columns, the rows that are deleted in the end.
GONE = "id % 2 = 1"
NULL = "null"
ABSENT = "absent"  # the type of a column that the mirror does not have


class Format(StrEnum):
    """How the messages of a connector are written."""

    JSON = "json"
    AVRO = "avro"


class Mode(StrEnum):
    """A setting of Debezium that decides on the form of some values."""

    TIME = "time.precision.mode"
    DECIMAL = "decimal.handling.mode"
    BINARY = "binary.handling.mode"
    UNSIGNED = "bigint.unsigned.handling.mode"
    HSTORE = "hstore.handling.mode"
    INTERVAL = "interval.handling.mode"


@dataclass(frozen=True, slots=True)
class Setup:
    """One connector: its format and its modes. Its name is the prefix of its topics."""

    name: str
    format: Format
    modes: Mapping[Mode, str]

    def settings(self) -> dict[str, str]:
        """Give the modes as settings of the connector."""
        return {mode.value: chosen for mode, chosen in self.modes.items()}


@dataclass(frozen=True, slots=True)
class Loss:
    """What Debezium itself does not carry: in which rows, what comes instead, and why."""

    why: str
    when: str  # an SQL condition on {v}
    becomes: str = "NULL"  # an SQL expression on {v}


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Reading:
    """How a plain SQL client reads a column, and the type that Spark shows for its mirror."""

    sql: str  # an expression on {v}
    type: str
    losses: tuple[Loss, ...] = ()
    # From what the client gives to what the mirror holds, where SQL cannot say it.
    finish: Callable[[Any], Any] = _unchanged
    # An SQL condition on {v}: the record is not applied, but kept in the quarantine.
    rejected: str | None = None

    def expected_sql(self, column: str) -> str:
        """Select what the mirror should hold."""
        cases = [f"WHEN {self.rejected} THEN NULL"] if self.rejected else []
        cases += [f"WHEN {loss.when} THEN {loss.becomes}" for loss in self.losses]
        # Without need, a CASE would change the type that some clients see.
        text = f"CASE {' '.join(cases)} ELSE {self.sql} END" if cases else self.sql
        return text.replace("{v}", column)

    def fate_sql(self, column: str) -> str:
        """Select what becomes of a value: -1 if it is rejected, 0 if it is exact, or its loss."""
        cases = [f"WHEN {self.rejected} THEN -1"] if self.rejected else []
        cases += [f"WHEN {loss.when} THEN {place}" for place, loss in enumerate(self.losses, 1)]
        text = f"CASE {' '.join(cases)} ELSE 0 END" if cases else "0"
        return text.replace("{v}", column)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of types; its edges are SQL literals by what they show."""

    type: str
    edges: Mapping[str, str]
    reading: Callable[[Setup], Reading]
    mode: Mode | None = None  # the one that decides on its form
    # What the config of the mirror chooses for it in `types`.
    choice: str | None = None
    # Edges over which the connector falls when it meets them in a snapshot, and how.
    only_streamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Its type, and what the config makes of it."""
        return f"{self.type} as {self.choice}" if self.choice else self.type

    @property
    def name(self) -> str:
        """Its name, made from its type."""
        words = re.sub(r"\W+", "_", self.title.replace("[]", " array"), flags=re.ASCII)
        return words.strip("_").lower()

    @property
    def sql_type(self) -> str:
        """Its type without what else is said of the column."""
        return re.split(" DEFAULT | NOT NULL", self.type)[0]


class Layout(StrEnum):
    """How the edges of a table's columns lie in its rows."""

    SIDE_BY_SIDE = "an edge of every column in each row, null where a column has no more"
    ONE_BY_ONE = "a single edge in each row: so a rejected value takes no other one with it"
    FULL = "an edge of every column in each row, again from the first where there are no more"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of types."""

    name: str
    columns: tuple[Column, ...]
    layout: Layout = Layout.SIDE_BY_SIDE
    keyed: bool = False  # whether all columns belong to the key

    def rows(self, first: int) -> dict[int, dict[str, str]]:
        """Give the edges of each row, by key and column; a column that is not named is null.

        Args:
            first: The first key: 0 for the rows of the snapshot, or one of the two above.
        """
        if self.keyed and first == FIRST_UPDATED:
            return {}
        rows = self._full() if self.layout is Layout.FULL else self._with_nulls(streamed=first > 0)
        if self.layout is not Layout.FULL and first != FIRST_UPDATED:
            rows.append({})  # null everywhere; an update that changes nothing may not be told
        return dict(enumerate(rows, first))

    def before_update(self) -> dict[int, dict[str, str]]:
        """Give the rows that are to be updated, as they are before."""
        rows = self.rows(FIRST_UPDATED)
        if self.layout is not Layout.FULL:
            return {key: {} for key in rows}
        later = [*rows.values()][1:] + [*rows.values()][:1]
        return dict(zip(rows, later, strict=True))

    def all_rows(self) -> dict[int, dict[str, str]]:
        """Give the rows as they are at the end."""
        rows = self.rows(0) | self.rows(FIRST_STREAMED) | self.rows(FIRST_UPDATED)
        return {key: edges for key, edges in rows.items() if not self.keyed or key % 2 == 0}

    def keys_in_order(self) -> list[int]:
        """Give the key of each record in the topic, which has one partition."""
        snapshot = [*self.rows(0), *self.before_update()]
        return [*snapshot, *self.rows(FIRST_STREAMED), *self.rows(FIRST_UPDATED)]

    def records_of_snapshot(self) -> int:
        """Count the records that the topic gets of the snapshot."""
        return len(self.rows(0)) + len(self.before_update())

    def records(self) -> int:
        """Count the records that the topic gets."""
        if not self.keyed:
            return len(self.keys_in_order())
        rows = self.rows(0) | self.rows(FIRST_STREAMED)
        # Each is updated, and a delete has a tombstone.
        return 2 * len(rows) + 2 * (len(rows) - len(self.all_rows()))

    def literals(self, edges: Mapping[str, str]) -> list[str]:
        """Give the values of a row, in the order of the columns."""
        return [c.edges[edges[c.name]] if c.name in edges else "NULL" for c in self.columns]

    def _with_nulls(self, *, streamed: bool) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = []
        for column in self.columns:
            start = len(rows) if self.layout is Layout.ONE_BY_ONE else 0
            for place, edge in enumerate(column.edges, start):
                rows += [{}] * (place + 1 - len(rows))
                if streamed or edge not in column.only_streamed:
                    rows[place] = rows[place] | {column.name: edge}
        return rows

    def _full(self) -> list[dict[str, str]]:
        longest = max(len(column.edges) for column in self.columns)
        edges = {column.name: [*column.edges] for column in self.columns}
        return [{n: e[place % len(e)] for n, e in edges.items()} for place in range(longest)]


Cell = tuple[str, str, Format, str]


@dataclass(slots=True)
class Tally:
    """The cells that were compared, and the types that the server does not have."""

    cells: set[Cell] = field(default_factory=set)
    lost: dict[Cell, str] = field(default_factory=dict)
    rejected: set[Cell] = field(default_factory=set)
    values: int = 0
    missing: Mapping[str, str] = field(default_factory=dict)

    def add(
        self,
        column: Column,
        edge: str,
        setup: Setup,
        *,
        why_lost: str | None = None,
        rejected: bool = False,
    ) -> None:
        """Count one compared value; the same cell may come again, from another row."""
        mode = f"{column.mode.value}={setup.modes[column.mode]}" if column.mode else "any mode"
        cell = (column.title, edge, setup.format, mode)
        self.cells.add(cell)
        self.values += 1
        if why_lost is not None:
            self.lost[cell] = why_lost
        if rejected:
            self.rejected.add(cell)

    def lines(self, database: str) -> list[str]:
        """Tell the counts."""
        formats = Counter(str(format_) for _, _, format_, _ in self.cells)
        modes = Counter(mode for _, _, _, mode in self.cells)
        reasons = Counter(self.lost.values())
        return [
            f"{database}: {len(self.cells)} cells; {self.values} values, in rows of a snapshot, "
            "inserted ones and updated ones",
            f"  by format: {_listed(formats)}",
            f"  by mode: {_listed(modes)}",
            f"  {len(self.rejected)} cells are kept in the quarantine, where they belong",
            f"  {len(self.lost)} cells are lost before they reach Kafka:",
            *(f"  {count:5} {why}" for why, count in sorted(reasons.items())),
            *(f"  {name} is not in this server: {why}" for name, why in self.missing.items()),
        ]


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
