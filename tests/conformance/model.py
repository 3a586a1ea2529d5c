"""What each mode must hold after some records: a dictionary and a loop, and none of `cdc`.

Records come in the order in which they are read. Kafka keeps all records of a key in one partition
and in order, so only a truncate concerns more than one partition; log positions order it there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.source import GARBAGE, TOMBSTONE, UNSENT, Key, Record, Row

Rows = list[dict[str, Any]]
Moment = int  # milliseconds since 1970


@dataclass(slots=True)
class Held:
    """What the source has, or had, under one key."""

    values: dict[str, Any]
    record: Record
    deleted: bool = False


@dataclass(slots=True)
class Version:
    """The values of a key from one moment up to another."""

    values: dict[str, Any]
    since: Moment
    until: Moment | None = None


@dataclass(slots=True)
class Story:
    """All that was under one key; no version is open once it is deleted."""

    versions: list[Version] = field(default_factory=list)

    @property
    def current(self) -> Version | None:
        if self.versions and self.versions[-1].until is None:
            return self.versions[-1]
        return None

    @property
    def latest(self) -> Moment:
        """The last moment at which something was known to change."""
        last = self.versions[-1] if self.versions else None
        return 0 if last is None else last.until if last.until is not None else last.since


class Model:
    """Reads records, and says what a table of each mode holds then."""

    def __init__(
        self, key: Sequence[str], excluded: Sequence[str] = (), *, chosen: bool = False
    ) -> None:
        self._key = tuple(key)
        self._chosen = chosen  # a setting names the key, whatever the source's is
        self._excluded = frozenset(excluded)
        self._rows: dict[Key, Held] = {}
        self._stories: dict[Key, Story] = {}
        self._log: Rows = []
        self._seen: set[tuple[int, int]] = set()
        self._truncates: list[Record] = []
        self._snapshot: int | None = None  # the position of the last with which all began
        self._found: dict[int, set[Key]] = {}  # the keys of each such snapshot, by position
        self._greatest: dict[int, int] = {}  # position, by partition

    def read(self, records: Iterable[Record]) -> None:
        """Read records; one that was read before changes nothing."""
        records = list(records)
        for record in records:
            if record.anew:
                self._found.setdefault(record.position, set()).add(self._key_of(record.row))
        for record in records:
            place = (record.partition, record.offset)
            if place not in self._seen:
                self._seen.add(place)
                if record.op not in (TOMBSTONE, GARBAGE):
                    self._apply(record)

    @property
    def distinct(self) -> int:
        """How many records there were."""
        return len(self._seen)

    def mirror(self) -> Rows:
        """The rows that the source has."""
        return [held.values for held in self._rows.values() if not held.deleted]

    def soft(self) -> Rows:
        """All rows that the source ever had, as they were last."""
        return [held.values | {"_mirror_deleted": held.deleted} for held in self._rows.values()]

    def append(self) -> Rows:
        """Every change."""
        return self._log

    def history(self) -> Rows:
        """Every version of every row."""
        return [
            version.values
            | {
                "_mirror_valid_from": version.since,
                "_mirror_valid_to": version.until,
                "_mirror_current": version.until is None,
            }
            for story in self._stories.values()
            for version in story.versions
        ]

    def _apply(self, record: Record) -> None:
        new = record.position > self._greatest.get(record.partition, -1)
        if not self._chosen and record.table.key != self._key:
            self._change_key(record.table.key)
        if record.anew and record.position != self._snapshot:
            self._begin_anew(record)
        if record.op == "t":
            self._truncate(record)
        elif not self._wiped(record):
            for op, row in self._parts(record):
                self._change(op, self._key_of(row), row, record, new)
        self._note(record)
        old = self._greatest.get(record.partition, -1)
        self._greatest[record.partition] = max(old, record.position)

    def _change_key(self, key: Sequence[str]) -> None:
        """From now on other columns tell rows apart; what is there has values in them."""
        self._key = tuple(key)
        self._rows = {self._key_of(held.values): held for held in self._rows.values()}
        stories = self._stories.values()
        self._stories = {self._key_of(story.versions[-1].values): story for story in stories}

    def _parts(self, record: Record) -> Iterator[tuple[str, Row]]:
        """An update that changes the key is a delete of one row and an insert of another."""
        old, new = record.before, record.after
        if record.op == "u" and old and new and any(old[n] != new[n] for n in self._key):
            yield "d", old
        yield record.op, record.row

    def _wiped(self, record: Record) -> bool:
        """Whether a truncate that another partition brought came after this change."""
        return any(
            truncate.partition != record.partition and record.position <= truncate.position
            for truncate in self._truncates
        )

    def _truncate(self, record: Record) -> None:
        self._truncates.append(record)
        for key, held in self._rows.items():
            before = held.record.partition == record.partition
            if not held.deleted and (before or held.record.position <= record.position):
                held.deleted = True
                self._close(key, record.time)

    def _begin_anew(self, record: Record) -> None:
        """What a new snapshot does not have is gone, as far as anybody knows since then."""
        if self._snapshot is not None:
            for key, held in self._rows.items():
                held.deleted = True
                if key not in self._found[record.position]:
                    self._close(key, record.time)
        self._snapshot = record.position

    def _change(self, op: str, key: Key, row: Row, record: Record, new: bool) -> None:
        held = self._rows.get(key)
        if op == "d":
            if held is not None:
                held.deleted, held.record = True, record
            self._close(key, record.time)
            return
        values = self._filled(row, self._known(record, key))
        self._rows[key] = Held(values, record)
        story = self._stories.setdefault(key, Story())
        current = story.current
        stale = not new and record.time < story.latest
        if stale or (current is not None and _same(current.values, values)):
            return
        since = max(record.time, story.latest)
        self._close(key, since)
        story.versions.append(Version(values, since))

    def _close(self, key: Key, moment: Moment) -> None:
        story = self._stories.get(key)
        if story is not None and story.current is not None:
            story.current.until = max(moment, story.current.since)

    def _key_of(self, row: Row) -> Key:
        return tuple(row.get(name) for name in self._key)

    def _known(self, record: Record, key: Key) -> Held | None:
        """What was under the key; where the row had another until now, what was under that."""
        return self._rows.get(key if record.old_key is None else self._key_of(record.old_key))

    def _filled(self, row: Row, held: Held | None) -> dict[str, Any]:
        return {
            name: held.values[name] if value is UNSENT and held is not None else value
            for name, value in row.items()
            if name not in self._excluded
        }

    def _note(self, record: Record) -> None:
        row = record.row
        held = self._rows.get(self._key_of(row))
        values = self._filled(row, held)
        self._log.append(
            values
            | {
                "_mirror_op": record.op,
                "_mirror_partition": record.partition,
                "_mirror_offset": record.offset,
                "_mirror_position": record.position,
                "_mirror_time": record.time,
            }
        )


def _same(one: Row, other: Row) -> bool:
    """Whether two rows have the same values; a column that joined later was null before."""
    return all(one.get(name) == other.get(name) for name in {*one, *other})
