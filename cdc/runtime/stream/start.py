"""Where a run starts: in each table's own ledger, and at the first record of new topics."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from cdc.config import MirrorConfig
from cdc.dialect import Dialect
from cdc.errors import LostRecordsError, MirrorError, NotDebeziumError
from cdc.model import TableName
from cdc.runtime.follow.describe import describe
from cdc.runtime.follow.source_tables import Lineage, Told
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.runtime.tables.open_tables import Tables
from cdc.source.topics import OffsetRange, open_topics

logger = logging.getLogger(__name__)


def starting_offsets(
    config: MirrorConfig, dialect: Dialect, tables: Tables, lineage: Lineage
) -> dict[tuple[str, int], int]:
    """Open or create the tables of the topics there are, and find the first record each needs.

    Run twice, the second run opens the same tables and finds the same offsets.
    """
    lineage.recover()
    with open_topics(config.kafka.client_options()) as reader:
        topics = reader.matching(config.source.topics)
        ranges = reader.ranges(topics)
        samples = reader.peek(ranges)
    logger.info("topics=%d partitions=%d", len(topics), len(ranges))
    held = {
        topic: {partition: ranges[topic, partition] for partition in partitions}
        for topic, partitions in topics.items()
    }
    told: dict[str, Told] = {}
    for topic, record in samples.items():
        with _parking(topic, tables):
            news = describe(record, dialect, tables.wire, tables.declarations)
            if news.table is not None:
                tables.open(topic, news.table)
                told[topic] = Told(record, news)
    lineage.follow(told, held)
    for topic, first in told.items():
        # Where a topic starts for a new table, its first batch tells what the table is like.
        if (topic, None) not in tables.parked and topic not in tables.retired:
            with _parking(topic, tables):
                tables.admit(topic, first.news)
    for topic, partitions in topics.items():
        tables.note_partitions(topic, {p: ranges[topic, p].next for p in partitions})
    starts = {
        (topic, partition): _start(
            topic, partition, place, tables, lineage.is_left(topic, held[topic])
        )
        for (topic, partition), place in ranges.items()
    }
    tables.words.keep(lambda topic, table: _may_be_parked(topic, table, held, tables, lineage))
    tables.words.leave()
    return starts


@contextmanager
def _parking(topic: str, tables: Tables) -> Iterator[None]:
    """Park a topic that cannot be mirrored, and go on with the others."""
    try:
        yield
    except NotDebeziumError as error:
        # One bad record is no reason to leave its table: the batch sees what else is there.
        logger.warning("unreadable topic=%s reason=%s", topic, error)
    except MirrorError as error:
        if error.retryable:
            raise
        tables.park((topic, None), error)


def _may_be_parked(
    topic: str,
    table: str | None,
    held: Mapping[str, Mapping[int, OffsetRange]],
    tables: Tables,
    lineage: Lineage,
) -> bool:
    """Say whether a table that was parked in the last run is so now, or has yet to go on."""
    if any(topic == where and table == _text(name) for where, name in tables.parked):
        return True
    ranges = held.get(topic, {})
    opened = tables.targets(topic)
    if not opened:
        return not lineage.is_left(topic, ranges) and any(
            place.next > place.first for place in ranges.values()
        )
    for target in opened:
        marks = tables[target].marks
        waits = any(
            place.next > (marks[partition].next_offset if partition in marks else place.first)
            for partition, place in ranges.items()
        )
        if table in (None, _text(target[1])) and waits:
            return True
    return False


def _text(name: TableName | None) -> str | None:
    return None if name is None else str(name)


def _start(topic: str, partition: int, place: OffsetRange, tables: Tables, left: bool) -> int:
    """Find the first record that one of the topic's tables needs."""
    starts = [
        _start_of(tables[target], partition, place, tables) for target in tables.targets(topic)
    ]
    needed = [start for start in starts if start is not None]
    if needed:
        return min(needed)
    if topic in tables.parked_topics or left:
        return place.next
    return max(place.first, tables.retired.floor(topic).get(partition, 0))


def _start_of(
    mirrored: MirroredTable, partition: int, place: OffsetRange, tables: Tables
) -> int | None:
    mark = mirrored.ledger.partitions.get(partition) if mirrored.ledger else None
    if mark is None:
        return max(place.first, mirrored.floor.get(partition, 0))
    if place.first <= mark.next_offset <= place.next:
        return mark.next_offset
    lost = LostRecordsError(mirrored.topic, partition, mark.next_offset, place.first, place.next)
    tables.park(mirrored.id, lost)
    return None
