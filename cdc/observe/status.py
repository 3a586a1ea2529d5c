"""The status of the tables of a mirror."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cdc.observe.text_table import text_table

HEADINGS = (
    *("topic", "table", "mode", "waiting", "behind", "last commit", "batch", "rows"),
    *("data files", "delete files", "quarantined"),
)
NUMBERS = (3, 4, 6, 7, 8, 9, 10)
# Seconds of each unit of time, the greatest first.
UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatus:
    """One mirrored table, or a topic that has none."""

    topic: str
    table: str | None = None
    mode: str = ""
    # Records in Kafka that it does not have yet; None where nobody can tell.
    waiting: int | None = None
    # How long the oldest of them has waited, by its time in Kafka.
    behind_seconds: float | None = None
    last_commit: str | None = None
    batch: int | None = None
    # Those that equality deletes remove are not counted out: only a reader knows them.
    rows: int = 0
    equality_deletes: int = 0
    data_files: int = 0
    delete_files: int = 0
    quarantined: int = 0
    # The next offset of each partition.
    offsets: Mapping[int, int] = field(default_factory=dict)
    parked: str | None = None
    parked_since: str | None = None
    # What it needs next and nobody has any more: the next start will park it.
    lost: str | None = None
    # Why nothing will come any more.
    ended: str | None = None
    # Since when the source has no such table.
    dropped: str | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """Give the table as a row for people."""
        at_most = "≤" if self.equality_deletes else ""
        made = self.table is not None
        return (
            self.topic,
            self.table or "-",
            self.mode or "-",
            _count(self.waiting),
            _duration(self.behind_seconds),
            self.last_commit or "-",
            _count(self.batch),
            f"{at_most}{self.rows:,}" if made else "-",
            _count(self.data_files if made else None),
            _count(self.delete_files if made else None),
            _count(self.quarantined),
        )

    def notes(self) -> Iterator[str]:
        """Say what has to be done about it."""
        name = f"{self.topic} ({self.table})" if self.table else self.topic
        if self.parked is not None:
            at = ", ".join(f"{partition}:{next_}" for partition, next_ in self.offsets.items())
            where = f" at partition:offset {at}" if at else ""
            yield f"{name}: parked: {self.parked} (Since {self.parked_since}{where}.)"
        if self.lost is not None:
            yield f"{name}: lost: {self.lost}"
        if self.ended is not None:
            yield f"{name}: ended: {self.ended}"
        if self.dropped is not None:
            yield f"{name}: dropped at the source since {self.dropped}. The table stays as it is."


@dataclass(frozen=True, slots=True)
class MirrorStatus:
    """All tables of a mirror."""

    mirror: str
    time: str
    tables: tuple[TableStatus, ...]
    # Tables of the catalog that may be the mirror's and cannot be read, and why.
    unreadable: Mapping[str, str] = field(default_factory=dict)

    @property
    def parked(self) -> int:
        """How many tables, or topics without one, are parked."""
        return sum(table.parked is not None for table in self.tables)

    @property
    def exit_code(self) -> int:
        """Fail when a table is parked."""
        return 1 if self.parked else 0

    @property
    def total(self) -> TableStatus:
        """All tables together; it is as far behind as the one that is farthest."""
        tables = self.tables
        behind = [t.behind_seconds for t in tables if t.behind_seconds is not None]
        made = sum(table.table is not None for table in tables)
        return TableStatus(
            topic="total",
            table=f"{made} tables, {self.parked} parked",
            waiting=sum(table.waiting or 0 for table in tables),
            behind_seconds=max(behind, default=None),
            last_commit=max((t.last_commit for t in tables if t.last_commit), default=None),
            rows=sum(table.rows for table in tables),
            equality_deletes=sum(table.equality_deletes for table in tables),
            data_files=sum(table.data_files for table in tables),
            delete_files=sum(table.delete_files for table in tables),
            quarantined=sum(table.quarantined for table in tables),
        )

    def as_json(self) -> dict[str, Any]:
        """Give the status for `--output json`."""
        total = asdict(self.total)
        names = (
            *("waiting", "behind_seconds", "last_commit", "rows", "equality_deletes"),
            *("data_files", "delete_files", "quarantined"),
        )
        return {
            "mirror": self.mirror,
            "time": self.time,
            "parked": self.parked,
            "tables": [asdict(table) for table in self.tables],
            "total": {name: total[name] for name in names},
            "unreadable": dict(self.unreadable),
        }

    def lines(self) -> Iterator[str]:
        """Write the status for people."""
        rows = [HEADINGS, *(table.cells for table in self.tables), self.total.cells]
        yield from text_table(rows, NUMBERS)
        for table in self.tables:
            yield from table.notes()
        for name, reason in self.unreadable.items():
            yield f"{name}: cannot be read: {reason}. See whether its files are there."


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for length, unit in UNITS:
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"
