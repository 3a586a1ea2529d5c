"""Where a run starts: in each table's own ledger, and at the first record of new topics."""

import logging

from cdc.config import MirrorConfig
from cdc.dialect import Dialect
from cdc.errors import LostRecordsError, MirrorError, NotDebeziumError
from cdc.runtime.describe import describe
from cdc.runtime.tables import Tables
from cdc.source.topics import OffsetRange, Record, open_topics

logger = logging.getLogger(__name__)


def starting_offsets(
    config: MirrorConfig, dialect: Dialect, tables: Tables
) -> dict[tuple[str, int], int]:
    """Open or create the tables of the topics there are, and find the first record each needs.

    Run twice, the second run opens the same tables and finds the same offsets.
    """
    with open_topics(config.kafka.client_options()) as reader:
        topics = reader.matching(config.source.topics)
        ranges = reader.ranges(topics)
        samples = reader.peek(ranges)
    logger.info("topics=%d partitions=%d", len(topics), len(ranges))
    for topic, record in samples.items():
        try:
            open_table(record, dialect, tables)
        except NotDebeziumError as error:
            # One bad record is no reason to leave its table: the batch sees what else is there.
            logger.warning("unreadable topic=%s reason=%s", topic, error)
        except MirrorError as error:
            if error.retryable:
                raise
            tables.park(topic, error)
    return {
        (topic, partition): _start(topic, partition, place, tables)
        for (topic, partition), place in ranges.items()
    }


def open_table(record: Record, dialect: Dialect, tables: Tables) -> None:
    """Open the table that a record belongs to, or create it, so that the first batch finds it."""
    news = describe(record, dialect, tables.wire, tables.declarations)
    if news.table is None:
        return
    if tables.open(record.topic, news.table) is None:
        # One record tells too little to guess a table's types from: the first batch has more.
        if not any(schema.inferred for schema in news.schemas):
            tables.evolve(record.topic, news)
    else:
        tables.recognise(record.topic, news.schemas)


def _start(topic: str, partition: int, place: OffsetRange, tables: Tables) -> int:
    ledger = tables[topic].ledger if topic in tables else None
    mark = ledger.partitions.get(partition) if ledger else None
    if topic not in tables.parked and mark is not None:
        if place.first <= mark.next_offset <= place.next:
            return mark.next_offset
        tables.park(
            topic, LostRecordsError(topic, partition, mark.next_offset, place.first, place.next)
        )
    return place.next if topic in tables.parked else place.first
