"""`status`: where each table of a mirror stands, and how its columns came to be.

Nothing is changed, and no Spark is started: the catalog is read through pyiceberg. It is read
before Kafka is asked, so that no table seems to be ahead of its topic.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from pyiceberg.table import Table

from cdc.commands.column_record import column_history
from cdc.commands.table_status import (
    Counts,
    Held,
    Place,
    ReadTable,
    next_records,
    read_table,
    table_statuses,
)
from cdc.config import MirrorConfig
from cdc.observe.column_history import ColumnHistories
from cdc.observe.status import MirrorStatus
from cdc.runtime.tables.catalog_reader import CatalogReader
from cdc.source.topics import open_topics
from cdc.state.left_topics import read_left_topics
from cdc.state.parked import read_parked


class StatusReader:
    """Reads the status of one mirror as often as it is asked; what cannot change is kept."""

    def __init__(self, config: MirrorConfig) -> None:
        self._config = config
        self._catalog = CatalogReader(config)
        self._times: dict[tuple[Place, int], int | None] = {}
        self._counted: tuple[int | None, Counts] = (None, {})

    def status(self) -> MirrorStatus:
        """Read where each table stands.

        Raises:
            MirrorError: The catalog or Kafka does not answer.
        """
        tables = [read_table(table) for table in self._catalog.tables()]
        quarantine = self._catalog.quarantine()
        noted = quarantine.properties if quarantine is not None else {}
        counts = self._quarantined(quarantine)
        held = self._held(tables)
        now = datetime.now(UTC)
        return MirrorStatus(
            self._config.name,
            now.isoformat(timespec="seconds"),
            table_statuses(tables, held, read_parked(noted), counts, now, read_left_topics(noted)),
            dict(self._catalog.unreadable),
        )

    def columns(self) -> ColumnHistories:
        """Read what the tables did to follow their sources; Kafka is not asked.

        Raises:
            MirrorError: The catalog does not answer.
        """
        tables = [column_history(table) for table in self._catalog.tables()]
        return ColumnHistories(self._config.name, tuple(sorted(tables, key=lambda t: t.table)))

    def close(self) -> None:
        """Let go of the catalog. Safe to repeat."""
        self._catalog.close()

    def _held(self, tables: Sequence[ReadTable]) -> Held:
        """Ask Kafka how far the topics go, also those that the config no longer names."""
        globs = self._config.source.topics
        with open_topics(self._config.kafka.client_options()) as reader:
            topics = reader.matching([*globs, *sorted({read.topic for read in tables})])
            flat = reader.ranges(topics)
            ranges = {
                topic: {partition: flat[topic, partition] for partition in partitions}
                for topic, partitions in topics.items()
            }
            # Read from one offset at a time: of two tables of a topic one may be behind.
            wanted: dict[Place, set[int]] = {}
            for place, offset in next_records(tables, ranges):
                wanted.setdefault(place, set()).add(offset)
            times: dict[tuple[Place, int], int | None] = {}
            while wanted:
                asked = {place: offsets.pop() for place, offsets in wanted.items()}
                wanted = {place: offsets for place, offsets in wanted.items() if offsets}
                new = {p: o for p, o in asked.items() if (p, o) not in self._times}
                read = reader.times(new) if new else {}
                known = {at: self._times[at] for at in asked.items() if at in self._times}
                times |= known | {(place, new[place]): when for place, when in read.items()}
        # A mark of a transaction may be followed by a record any time.
        self._times = {at: when for at, when in times.items() if when is not None}
        return Held(globs, ranges, times)

    def _quarantined(self, quarantine: Table | None) -> Counts:
        """Count bad records; they are read only when there are new ones."""
        snapshot = quarantine.current_snapshot() if quarantine is not None else None
        if quarantine is None or snapshot is None:
            return {}
        if self._counted[0] != snapshot.snapshot_id:
            self._counted = snapshot.snapshot_id, count_quarantined(quarantine)
        return self._counted[1]


@contextmanager
def open_status(config: MirrorConfig) -> Iterator[StatusReader]:
    """Open what a status is read from."""
    reader = StatusReader(config)
    try:
        yield reader
    finally:
        reader.close()


def count_quarantined(quarantine: Table) -> Counts:
    """Count the bad records of each table."""
    names = [c.name for c in quarantine.schema().fields if c.name in ("topic", "table")]
    rows = quarantine.scan(selected_fields=tuple(names)).to_arrow()
    counted = rows.group_by(names).aggregate([([], "count_all")]).to_pylist()
    return {(row["topic"], row.get("table")): row["count_all"] for row in counted}
