"""How a case tells its story: the statements of a source, batch by batch, as Debezium reports them.

    s.insert(1, "new")
    s.insert(2, "new")
    s.batch()              # the tool has read and written what stands above
    s.update(1, "paid")
    s.delete(2)

Offsets, log positions and times count up by themselves; a case that is about them says its own.
Values stand in the order of the table's columns, as the messages hold them.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tests.unit.messages import Message, Table, base64_of, change, tombstone

PLACEHOLDER = "__debezium_unavailable_value"
# What happened when; in milliseconds since 1970, as the source block has it.
START = 1_700_000_000_000
SECOND = 1_000

# Every column that the tool adds starts with this.
OWN = "_mirror_"
OLD_KEY = "__debezium.oldkey"
TOMBSTONE = "tombstone"
GARBAGE = "garbage"

Row = Mapping[str, Any]
Key = tuple[Any, ...]


class Unsent:
    """Stands for a value that the source leaves out, since the statement did not change it."""

    def __repr__(self) -> str:
        return "UNSENT"


UNSENT = Unsent()


@dataclass(frozen=True, slots=True)
class Sent(Message):
    """A record as it lies in Kafka."""

    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a topic: a change, a tombstone or garbage."""

    op: str  # c u d r t, or one of the two names above
    table: Table
    partition: int
    offset: int
    position: int
    time: int
    before: Row | None = None
    after: Row | None = None
    # The key that the row had until now: Debezium names it in a header of the insert.
    old_key: Row | None = None
    # A row of a snapshot with which the connector began anew.
    anew: bool = False

    @property
    def row(self) -> Row:
        """The row that the record is about: as it is now, or else as it was."""
        return self.after if self.after is not None else self.before or {}

    def message(self) -> Sent:
        """Write the record as JSON with schemas, and its header as Connect does by default."""
        made = self._message()
        text = None if self.old_key is None else json.dumps(dict(self.old_key)).encode()
        headers = () if text is None else ((OLD_KEY, text),)
        return Sent(made.topic, made.partition, made.offset, made.key, made.value, headers)

    def _message(self) -> Message:
        where: dict[str, Any] = {
            "table": self.table,
            "partition": self.partition,
            "offset": self.offset,
        }
        if self.op == TOMBSTONE:
            return tombstone(self.row, **where)
        made = change(
            "c" if self.op == GARBAGE else self.op,
            self._written(self.before),
            self._written(self.after),
            lsn=self.position,
            source={"ts_ms": self.time, **(self._marks if self.anew else {})},
            **where,
        )
        return replace(made, value=b"no message at all") if self.op == GARBAGE else made

    @property
    def _marks(self) -> dict[str, str]:
        """What tells a snapshot without a commit before it, as seen on a real server."""
        return {"snapshot": "true", "sequence": f'[null,"{self.position}"]'}

    def _written(self, row: Row | None) -> Row | None:
        if row is None:
            return None
        kinds = {block["field"]: block["type"] for block in self.table.columns}
        return {
            name: _placeholder(kinds[name]) if value is UNSENT else value
            for name, value in row.items()
        }


def _placeholder(kind: str) -> str:
    return base64_of(PLACEHOLDER.encode()) if kind == "bytes" else PLACEHOLDER


@dataclass(frozen=True, slots=True)
class Action:
    """What happens to a table, or to the tool, before a batch is read."""

    kind: str  # topic, compact, rollback, repartition or restart
    table: str = ""
    argument: Any = None


@dataclass(slots=True)
class Step:
    """Some actions, and the records of all the case's tables that are read after them."""

    actions: list[Action] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)


class Clock:
    """Counts what all tables of a case share: batches, the place in the log, the time."""

    def __init__(self) -> None:
        self.steps: list[Step] = [Step()]
        self.now = 0  # the batch that is being filled
        self.position = 1_000
        self.time = START


class Source:
    """One table of a case's database; it writes the records of its statements into the batch."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self.table = table
        self.columns = [block["field"] for block in table.columns]
        self._clock = clock
        self._offsets: dict[int, int] = {}
        self._partition = 0
        self._late = 0
        self._frozen_time: int | None = None
        self.sources: list[Source] = [self]
        self.stated: list[Row] | None = None
        self.special: dict[str, list[Row]] = {}
        self.stopped = False

    # The statements.

    def insert(self, *values: Any, **where: int) -> Record:
        """INSERT one row."""
        return self._change("c", None, self._row(values), **where)

    def update(self, *values: Any, before: Key | None = None, **where: int) -> Record:
        """UPDATE one row to these values; `before` is sent under REPLICA IDENTITY FULL alone."""
        old = None if before is None else self._row(before)
        return self._change("u", old, self._row(values), **where)

    def delete(self, *values: Any, **where: int) -> Record:
        """DELETE one row; without REPLICA IDENTITY FULL only its key is known."""
        return self._change("d", self._row(values), None, **where)

    def snapshot(self, *values: Any, **where: int) -> Record:
        """The connector's snapshot reads one row."""
        return self._change("r", None, self._row(values), **where)

    def begin_anew(self, *rows: Key) -> None:
        """The connector lost its place and reads the whole table: these rows are all there are."""
        position = self._clock.position + 1
        with self.at_one_time():
            for row in rows:
                self._change("r", None, self._row(row), position=position)
                records = self._batch().records
                records[-1] = replace(records[-1], anew=True)

    def truncate(self, **where: int) -> Record:
        """TRUNCATE the table."""
        return self._change("t", None, None, **where)

    def tombstone(self, *key: Any, **where: int) -> Record:
        """Debezium's record without a value that follows a delete."""
        row = dict(zip(self.table.key, key, strict=True))
        return self._change(TOMBSTONE, None, row, **where)

    def garbage(self, *values: Any, **where: int) -> Record:
        """A record that is no message."""
        return self._change(GARBAGE, None, self._row(values), **where)

    def change_key(self, old: Any, *values: Any, partition: int | None = None) -> None:
        """UPDATE the primary key: Debezium makes a delete, a tombstone and an insert of it.

        Args:
            old: The key until now.
            values: The row from now on.
            partition: Where the new key's records are; the old one's are where all others are.
        """
        position = self._clock.position + 1
        self.delete(old, position=position)
        self.tombstone(old, position=position)
        there = self._partition if partition is None else partition
        made = self.insert(*values, position=position, partition=there)
        named = replace(made, old_key=dict(zip(self.table.key, (old,), strict=True)))
        self._batch().records[-1] = named

    def add_column(self, block: Mapping[str, Any]) -> None:
        """ALTER TABLE … ADD COLUMN."""
        self.table = replace(self.table, columns=(*self.table.columns, dict(block)))
        self.columns = [column["field"] for column in self.table.columns]

    def retype(self, block: Mapping[str, Any]) -> None:
        """ALTER TABLE … ALTER COLUMN … TYPE."""
        columns = [dict(block) if b["field"] == block["field"] else b for b in self.table.columns]
        self.table = replace(self.table, columns=tuple(columns))

    def rekey(self, *key: str) -> None:
        """ALTER TABLE … DROP CONSTRAINT …, ADD PRIMARY KEY."""
        columns = [{**block, "optional": block["field"] not in key} for block in self.table.columns]
        self.table = replace(self.table, columns=tuple(columns), key=key)

    # What Kafka, the connector and the tool do.

    def batch(self) -> None:
        """End a batch: what follows is read in the next one."""
        self._clock.now += 1
        self._batch(0)

    @contextmanager
    def late(self) -> Iterator[None]:
        """Let the statements within be read a batch later: their partition lags behind."""
        self._late = 1
        yield
        self._late = 0

    def redeliver(self, *records: Record) -> None:
        """The connector was restarted and writes these changes once more, behind all others."""
        for record in records:
            again = replace(record, offset=self._next_offset(record.partition))
            self._batch().records.append(again)

    def replay(self, *records: Record) -> None:
        """The tool was killed and reads these very records once more."""
        self._batch().records.extend(records)

    @contextmanager
    def in_partition(self, partition: int) -> Iterator[None]:
        """Let the statements within go to another partition of the topic."""
        old, self._partition = self._partition, partition
        yield
        self._partition = old

    @contextmanager
    def at_one_time(self) -> Iterator[None]:
        """Let all statements within have the same time."""
        self._clock.time += SECOND
        self._frozen_time = self._clock.time
        yield
        self._frozen_time = None

    def fail_over(self, position: int) -> None:
        """Another server takes over, whose log positions are smaller."""
        self._clock.position = position

    def grow(self, partitions: int) -> None:
        """Someone gives the topic more partitions."""
        self._act(Action("topic", self.table.name, partitions))

    def compact(self) -> None:
        """Someone rewrites all data files of the table."""
        self._act(Action("compact", self.table.name))

    def roll_back(self, batches: int) -> None:
        """Someone rolls the table back to where it was after so many batches; the tool restarts."""
        self._act(Action("rollback", self.table.name, batches))

    def repartition(self, *fields: str) -> None:
        """Someone sets other partition fields, and restarts the tool."""
        self._act(Action("repartition", self.table.name, fields))

    def restart(self) -> None:
        """The tool is killed and started again."""
        self._act(Action("restart"))

    def beside(self, name: str) -> "Source":
        """Another table of the same kind, with a topic of its own."""
        table = replace(self.table, name=f"{self.table.name}_{name}")
        other = Source(table, self._clock)
        self.sources.append(other)
        return other

    # What must come of it.

    def holds(self, *rows: Key) -> None:
        """State the rows that a mirror of the current state has at the end."""
        self.stated = [self._row(row) for row in rows]

    def special_in(self, mode: str, *rows: Row) -> None:
        """State what a table of one mode has, where the model does not know."""
        self.special[mode] = list(rows)

    def is_stopped(self) -> None:
        """State that the tool leaves the table as the first batch left it, and says why."""
        self.stopped = True

    # Its own.

    @property
    def steps(self) -> list[Step]:
        """All batches of the case."""
        return self._clock.steps

    def _act(self, action: Action) -> None:
        self._batch(0).actions.append(action)

    def _row(self, values: Key) -> Row:
        """Name values; what is not given is null."""
        assert len(values) <= len(self.columns)
        return dict.fromkeys(self.columns) | dict(zip(self.columns, values, strict=False))

    def _change(
        self,
        op: str,
        before: Row | None,
        after: Row | None,
        *,
        position: int | None = None,
        time: int | None = None,
        partition: int | None = None,
    ) -> Record:
        clock = self._clock
        clock.position = clock.position + 1 if position is None else position
        if time is None and self._frozen_time is None:
            clock.time += SECOND
        moment = time if time is not None else self._frozen_time or clock.time
        place = self._partition if partition is None else partition
        offset = self._next_offset(place)
        record = Record(op, self.table, place, offset, clock.position, moment, before, after)
        self._batch().records.append(record)
        return record

    def _batch(self, late: int | None = None) -> Step:
        steps, place = self._clock.steps, self._clock.now + (self._late if late is None else late)
        while len(steps) <= place:
            steps.append(Step())
        return steps[place]

    def _next_offset(self, partition: int) -> int:
        offset = self._offsets.get(partition, 0)
        self._offsets[partition] = offset + 1
        return offset
