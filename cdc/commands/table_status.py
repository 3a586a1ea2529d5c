"""Where one table stands: what it says of itself, held against what Kafka holds."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pyiceberg.table import Table

from cdc.errors import LostLedgerError, LostRecordsError
from cdc.observe.status import TableStatus
from cdc.runtime.tables.table_views import ledger_without_spark
from cdc.schema import mode_of
from cdc.source.topics import OffsetRange, topic_pattern
from cdc.state.ledger import Ledger
from cdc.state.left_topics import LeftTopic
from cdc.state.names import TOPIC_PROPERTY
from cdc.state.parked import ParkedTable
from cdc.state.source_identity import SourceIdentity

Place = tuple[str, int]
# Counts of bad records, by topic and table; those of before there could be several have no table.
Counts = Mapping[tuple[str, str | None], int]
TOTALS = ("records", "position-deletes", "equality-deletes", "data-files", "delete-files")


@dataclass(frozen=True, slots=True)
class ReadTable:
    """One table, how far it has come, and when it came there."""

    table: Table
    ledger: Ledger | None
    committed: int | None
    lost: str | None = None

    @property
    def topic(self) -> str:
        """The topic that it mirrors."""
        return self.table.properties[TOPIC_PROPERTY]

    @property
    def name(self) -> str:
        """Its whole name."""
        return ".".join(self.table.name())

    @property
    def offsets(self) -> dict[int, int]:
        """The next offset of each partition."""
        marks = self.ledger.partitions if self.ledger is not None else {}
        return {partition: mark.next_offset for partition, mark in sorted(marks.items())}


@dataclass(frozen=True, slots=True)
class Held:
    """What Kafka holds, and when records came that tables need next."""

    globs: Sequence[str]  # over the topics of the mirror
    ranges: Mapping[str, Mapping[int, OffsetRange]]
    times: Mapping[tuple[Place, int], int | None]

    def is_named(self, topic: str) -> bool:
        """Say whether a topic is one of the mirror's."""
        return re.fullmatch(topic_pattern(self.globs), topic) is not None


def read_table(table: Table) -> ReadTable:
    """Read how far a table has come."""
    try:
        found = ledger_without_spark(table)
        return ReadTable(
            table, *((None, None) if found is None else (found.ledger, found.committed))
        )
    except LostLedgerError as error:
        return ReadTable(table, None, None, str(error))


def next_records(
    tables: Iterable[ReadTable], ranges: Mapping[str, Mapping[int, OffsetRange]]
) -> Iterator[tuple[Place, int]]:
    """Name the records that the tables and the topics without one need next."""
    without = dict(ranges)
    for read in tables:
        without.pop(read.topic, None)
        offsets = read.offsets
        for partition, place in ranges.get(read.topic, {}).items():
            start = offsets.get(partition, place.first)
            if place.first <= start < place.next:
                yield (read.topic, partition), start
    for topic, places in without.items():
        for partition, place in places.items():
            if place.first < place.next:
                yield (topic, partition), place.first


def table_statuses(
    tables: Sequence[ReadTable],
    held: Held,
    words: Sequence[ParkedTable],
    counts: Counts,
    now: datetime,
    retired: Mapping[str, LeftTopic] | None = None,
) -> tuple[TableStatus, ...]:
    """Say where tables stand, and which topics have none.

    Args:
        tables: The tables of a mirror.
        held: What Kafka holds of their topics.
        words: What the last run said of parked tables.
        counts: How many records are in quarantine.
        now: By this machine's clock.
        retired: Topics that tables have left.
    """
    found = [_status(read, held, counts, _word(read, words), now) for read in tables]
    left = retired or {}
    found += _without_table({read.topic for read in tables}, held, words, counts, now, left)
    return tuple(sorted(found, key=lambda status: (status.topic, status.table or "")))


def _waiting(
    topic: str, offsets: Mapping[int, int], held: Held, now: datetime
) -> tuple[int, float]:
    """Count the records that wait behind some offsets, and say how long the oldest has waited."""
    count, oldest = 0, None
    for partition, place in held.ranges[topic].items():
        start = max(offsets.get(partition, place.first), place.first)
        if start >= place.next:
            continue
        time = held.times.get(((topic, partition), start), -1)
        if time is None:
            continue  # nothing but marks of transactions
        count += place.next - start
        if time >= 0:
            oldest = time if oldest is None else min(time, oldest)
    behind = 0.0 if oldest is None else max(0.0, now.timestamp() - oldest / 1000)
    return count, round(behind, 3)


def _status(
    read: ReadTable,
    held: Held,
    counts: Counts,
    word: ParkedTable | None,
    now: datetime,
) -> TableStatus:
    snapshot = read.table.current_snapshot()
    summary = (
        snapshot.summary.additional_properties
        if snapshot is not None and snapshot.summary is not None
        else {}
    )
    total = {name: int(summary.get(f"total-{name}", 0)) for name in TOTALS}
    topic, name = read.topic, read.name
    dropped = SourceIdentity.read(read.table.properties).dropped
    status = TableStatus(
        topic=topic,
        table=name,
        mode=mode_of(read.table.schema()),
        last_commit=iso_time(read.committed),
        batch=None if read.ledger is None else read.ledger.batch,
        rows=max(0, total["records"] - total["position-deletes"]),
        equality_deletes=total["equality-deletes"],
        data_files=total["data-files"],
        delete_files=total["delete-files"],
        quarantined=counts.get((topic, name), 0) + counts.get((topic, None), 0),
        offsets=read.offsets,
        parked=None if word is None else word.reason,
        parked_since=None if word is None else word.since,
        lost=read.lost or _lost(read, held),
        ended=_ended(read.topic, held),
        dropped=None if dropped is None else dropped.since,
    )
    if topic not in held.ranges or read.lost is not None:
        return status
    waiting, behind = _waiting(topic, read.offsets, held, now)
    return replace(status, waiting=waiting, behind_seconds=behind)


def _ended(topic: str, held: Held) -> str | None:
    """Say why nothing comes for a table any more."""
    if topic not in held.ranges:
        return (
            "Kafka has no such topic. The table stays as it is: drop it if it is not needed, or "
            "see that [kafka] has the right address."
        )
    if not held.is_named(topic):
        return (
            "source.topics does not name the topic any more. The table stays as it is: drop it if "
            "it is not needed, or name its topic again."
        )
    return None


def _lost(read: ReadTable, held: Held) -> str | None:
    """Say what Kafka no longer holds of what a table needs next."""
    if read.topic not in held.ranges:
        return None
    for partition, next_ in read.offsets.items():
        place = held.ranges[read.topic].get(partition, OffsetRange(0, 0))
        if not place.first <= next_ <= place.next:
            lost = LostRecordsError(read.topic, partition, next_, place.first, place.next)
            return str(lost)
    return None


def _word(read: ReadTable, words: Iterable[ParkedTable]) -> ParkedTable | None:
    """Find what was said of a table, or else of its topic, if that still holds."""
    found = None
    for word in words:
        if word.topic == read.topic and word.holds_at(read.offsets):
            if word.table == read.name:
                return word
            if word.table is None:
                found = word
    return found


def _without_table(
    known: set[str],
    held: Held,
    words: Iterable[ParkedTable],
    counts: Counts,
    now: datetime,
    retired: Mapping[str, LeftTopic],
) -> Iterator[TableStatus]:
    """Tell of topics that hold records and have no table."""
    said = {word.topic: word for word in words if held.is_named(word.topic)}
    for topic in {*held.ranges, *said} - known:
        offsets = retired[topic].offsets if topic in retired else {}
        waiting, behind = _waiting(topic, offsets, held, now) if topic in held.ranges else (0, 0.0)
        word = said.get(topic)
        if waiting or word is not None:
            yield TableStatus(
                topic=topic,
                waiting=waiting,
                behind_seconds=behind,
                quarantined=counts.get((topic, None), 0),
                parked=None if word is None else word.reason,
                parked_since=None if word is None else word.since,
            )


def iso_time(milliseconds: int | None) -> str | None:
    """Write milliseconds since 1970 as people and programs read them."""
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")
