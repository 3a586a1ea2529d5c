"""Where a run starts: in each table's own ledger, and at the first record of new topics."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from cdc.errors import LostRecordsError, MirrorError, NotDebeziumError
from cdc.model import TableName
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.follow.describe import describe
from cdc.runtime.follow.follower import TableFollower
from cdc.runtime.follow.source_tables import Available, FirstRecord, SourceTablesFollower
from cdc.runtime.tables.mirrored_table import MirroredTable, note_partitions
from cdc.runtime.tables.open_tables import OpenTables
from cdc.source.topics import OffsetRange, open_topics

logger = logging.getLogger(__name__)


def starting_offsets(
    context: MirrorContext, follower: TableFollower, source_tables: SourceTablesFollower
) -> dict[tuple[str, int], int]:
    """Open or create the tables of the topics there are, and find the first record each needs.

    Run twice, the second run opens the same tables and finds the same offsets.
    """
    config, tables = context.config, context.tables
    source_tables.recover()
    with open_topics(config.kafka.client_options()) as reader:
        topics = reader.matching(config.source.topics)
        ranges = reader.ranges(topics)
        samples = reader.peek(ranges)
    logger.info("topics=%d partitions=%d", len(topics), len(ranges))
    available = {
        topic: {partition: ranges[topic, partition] for partition in partitions}
        for topic, partitions in topics.items()
    }
    found: dict[str, FirstRecord] = {}
    for topic, record in samples.items():
        with _parking(topic, tables):
            news = describe(record, context.dialect, context.wire, context.declarations)
            if news.table is not None:
                tables.open(topic, news.table)
                found[topic] = FirstRecord(record, news)
    source_tables.follow(found, available)
    for topic, first in found.items():
        # Where a topic starts for a new table, its first batch tells what the table is like.
        if (topic, None) not in tables.parked and topic not in context.left:
            with _parking(topic, tables):
                follower.admit(topic, first.news)
    for topic, partitions in topics.items():
        ends = {partition: ranges[topic, partition].next for partition in partitions}
        for target in tables.of_topic(topic):
            note_partitions(tables[target], ends)
    starts = {
        (topic, partition): _start(
            topic, partition, place, context, source_tables.is_left(topic, available[topic])
        )
        for (topic, partition), place in ranges.items()
    }
    context.parked.keep(
        lambda topic, table: _may_be_parked(topic, table, available, tables, source_tables)
    )
    context.parked.save()
    return starts


@contextmanager
def _parking(topic: str, tables: OpenTables) -> Iterator[None]:
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
    available: Available,
    tables: OpenTables,
    source_tables: SourceTablesFollower,
) -> bool:
    """Say whether a table that was parked in the last run is so now, or has yet to go on."""
    if any(topic == where and table == _text(name) for where, name in tables.parked):
        return True
    ranges = available.get(topic, {})
    opened = tables.of_topic(topic)
    if not opened:
        return not source_tables.is_left(topic, ranges) and any(
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


def _start(
    topic: str, partition: int, place: OffsetRange, context: MirrorContext, left: bool
) -> int:
    """Find the first record that one of the topic's tables needs."""
    tables = context.tables
    starts = [
        _start_of(tables[target], partition, place, tables) for target in tables.of_topic(topic)
    ]
    needed = [start for start in starts if start is not None]
    if needed:
        return min(needed)
    if topic in tables.parked_topics or left:
        return place.next
    return max(place.first, context.left.first_offsets(topic).get(partition, 0))


def _start_of(
    mirrored: MirroredTable, partition: int, place: OffsetRange, tables: OpenTables
) -> int | None:
    mark = mirrored.view.marks.get(partition)
    if mark is None:
        return max(place.first, mirrored.first_offsets.get(partition, 0))
    if place.first <= mark.next_offset <= place.next:
        return mark.next_offset
    lost = LostRecordsError(mirrored.topic, partition, mark.next_offset, place.first, place.next)
    tables.park(mirrored.id, lost)
    return None
