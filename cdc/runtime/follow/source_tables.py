"""What a run does about tables that were dropped, made again or renamed at the source.

The catalog is asked at the start of a stream, when a topic joins that has no table, and as often as
parked tables are tried again; never for a batch. Whatever there is to do is done at the start of a
stream, so one that runs is ended for it, between two batches.
"""

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from cdc.config import SchemaChange
from cdc.decode import named_by
from cdc.errors import AwaitedTableError, EndedTopicError, MirrorError
from cdc.model import SourceTable, TargetId, Unplanned
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.follow.dropped_tables import DroppedTables, is_read_up
from cdc.runtime.follow.renamed_tables import RenamedTables
from cdc.runtime.follow.source_decisions import Arrival, left_topic_action, rename_policy
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.source.topics import OffsetRange, Record, open_topics
from cdc.state.table_view import TableView

logger = logging.getLogger(__name__)

# The connector sends the last records of the old name before the first of the new one, but to other
# partitions of Kafka: for so long those may still be on their way.
SETTLE_SECONDS = 3.0

# Many topics may join in one batch: the catalog's answer holds for all of them.
SAME_SECONDS = 0.5

Available = Mapping[str, Mapping[int, OffsetRange]]


@dataclass(frozen=True, slots=True)
class FirstRecord:
    """The first record of a topic, and what it tells."""

    record: Record
    news: Unplanned

    @property
    def first_position(self) -> int:
        """Its place in the source's log; -1 where it tells none."""
        return min((place.position for place in self.news.places.values()), default=-1)


class SourceTablesFollower:
    """Follows what becomes of the source's tables, for one stream."""

    def __init__(self, context: MirrorContext) -> None:
        self._context = context
        self._tables = context.tables
        self._dropped = DroppedTables(context)
        self._renamed = RenamedTables(context)
        # Tables that must have read their topics up to some offsets before something is done.
        self._awaited: dict[TargetId, Mapping[int, int]] = {}
        self._arrived = False

    @property
    def due(self) -> bool:
        """Whether there is something to do that the start of a stream can do now."""
        read_up = any(
            target in self._tables and is_read_up(self._tables[target], ends)
            for target, ends in self._awaited.items()
        )
        return self._arrived or read_up

    def recover(self) -> None:
        """Finish what the last run began, before any table is opened, and ask the catalog."""
        self._renamed.recover()
        self._context.source.tables.look()

    def is_left(self, topic: str, available: Mapping[int, OffsetRange]) -> bool:
        """Say whether a topic holds nothing but records whose table has left it."""
        return left_topic_action(self._context.left.get(topic), _nexts(available)) is not None

    def follow(self, first: Mapping[str, FirstRecord], available: Available) -> None:
        """Do what is to be done, when all tables are open that there are.

        Done twice, it is done once.

        Args:
            first: The topics that hold records, by name.
            available: What Kafka has of all topics.
        """
        self._open_silent(first, available)
        self._pass_over(first, available)
        without_table = {
            topic: self._arrival(topic, record)
            for topic, record in first.items()
            if self._has_no_table(topic) and not self.is_left(topic, available[topic])
        }
        # What the config tells comes first: it may leave no doubt about the others.
        for topic in sorted(without_table, key=lambda topic: not without_table[topic].renamed_from):
            others = [a.source for name, a in without_table.items() if name != topic]
            try:
                self._follow_rename(
                    without_table[topic], others, first[topic].record, len(available[topic])
                )
            except MirrorError as error:
                if error.retryable:
                    raise
                self._tables.park((topic, None), error)
        for mirrored in self._tables.active:
            ranges = available.get(mirrored.topic, {})
            needed = self._needed(mirrored, ranges) if self._dropped.is_gone(mirrored) else {}
            read_up = is_read_up(mirrored, needed)
            if self._dropped.follow(mirrored, _nexts(ranges) if read_up else None):
                self._awaited[mirrored.id] = needed

    def arrive(self, topic: str, source: SourceTable) -> None:
        """Look at a topic that joins while the stream runs.

        Raises:
            AwaitedTableError: Its table has one already, under another name.
            EndedTopicError: Its table is gone.
        """
        watch = self._context.source.tables
        watch.look(newer_than=SAME_SECONDS)
        arrival = Arrival(topic, source, self._renamed_from(source))
        self._open_told(arrival)
        decisions = self._renamed.decisions()
        former = decisions.former(arrival) or decisions.may_be_passing(source)
        if former and rename_policy(former, source) is not SchemaChange.IGNORE:
            self._arrived = True
            raise AwaitedTableError(str(source), str(former[0].source), former[0].topic)
        left = self._context.left.get(topic)
        if left is not None and watch.found is not None and watch.found.lacks(source):
            raise EndedTopicError(str(source), topic, left.successor)

    def tick(self) -> None:
        """Ask the catalog whether something is to be done."""
        if self._context.source.tables.look() is not None:
            self._arrived |= any(self._dropped.is_new(table) for table in self._tables.active)

    def _renamed_from(self, source: SourceTable) -> str:
        rule = self._context.config.tables.rule_for(source.schema, source.table)
        return rule.renamed_from

    def _arrival(self, topic: str, first: FirstRecord) -> Arrival:
        source = first.news.table
        assert source is not None
        was_left = topic in self._context.left
        return Arrival(topic, source, self._renamed_from(source), first.first_position, was_left)

    def _open_told(self, arrival: Arrival) -> None:
        """Open the tables of which the config says that an arrival was one."""
        if arrival.renamed_from:
            self._renamed.open_told(arrival)

    def _has_no_table(self, topic: str) -> bool:
        """Say whether a topic has no table, and is not parked."""
        parked = any(topic == where for where, _ in self._tables.parked)
        return not parked and not self._tables.of_topic(topic)

    def _pass_over(self, first: Mapping[str, FirstRecord], available: Available) -> None:
        """Deal with records that came late for tables which have left their topics.

        Those of a dropped table are nobody's. Those of a renamed one are lost to it.
        """
        found = self._context.source.tables.found
        for topic, record in first.items():
            left, source = self._context.left.get(topic), record.news.table
            if left is None or source is None or found is None or not found.lacks(source):
                continue
            if not self._has_no_table(topic) or self.is_left(topic, available[topic]):
                continue
            if left.successor is not None:
                ended = EndedTopicError(str(source), topic, left.successor)
                self._tables.park((topic, None), ended)
            else:
                logger.warning("passed over topic=%s from=%s", topic, dict(left.offsets))
                self._context.left.note(replace(left, offsets=_nexts(available[topic])))

    def _open_silent(self, first: Collection[str], available: Available) -> None:
        """Open the tables of topics of which Kafka has deleted all records."""
        found = self._context.source.tables.found
        for topic in available.keys() - set(first) if found is not None else ():
            source = named_by(topic, self._context.dialect)
            if source is None or found is None or self.is_left(topic, available[topic]):
                continue
            if found.database:
                source = replace(source, database=found.database)
            try:
                self._tables.open(topic, source)
            except MirrorError as error:
                if error.retryable:
                    raise
                logger.warning("not opened topic=%s reason=%s", topic, error)

    def _follow_rename(
        self, arrival: Arrival, others: Sequence[SourceTable], record: Record, width: int
    ) -> None:
        self._open_told(arrival)
        former = self._renamed.decisions().decide(arrival, others)
        if not former:
            return
        age = time.time() - record.time / 1000
        time.sleep(min(SETTLE_SECONDS, max(0.0, SETTLE_SECONDS - age)))
        old = former[0].topic
        with open_topics(self._context.config.kafka.client_options()) as reader:
            ranges = reader.ranges(reader.matching([old]))
        there = {partition: place for (_, partition), place in ranges.items()}
        behind = self._behind(former, there)
        if behind:
            self._awaited |= behind
            raise AwaitedTableError(str(arrival.source), str(former[0].source), old)
        self._renamed.follow(former, _nexts(there), arrival, width)

    def _behind(
        self, former: Sequence[TableView], available: Mapping[int, OffsetRange]
    ) -> dict[TargetId, Mapping[int, int]]:
        """Give the tables that have not read up their topic, and up to where each has to."""
        tables = [self._tables[view.id] for view in former]
        needed = {mirrored.id: self._needed(mirrored, available) for mirrored in tables}
        return {m.id: needed[m.id] for m in tables if not is_read_up(m, needed[m.id])}

    def _needed(
        self, mirrored: MirroredTable, available: Mapping[int, OffsetRange]
    ) -> dict[int, int]:
        """Give the offsets up to which a table must have its topic to have all records of it.

        The last offset of a partition may be no record, but a mark of a transaction.
        """
        marks = mirrored.marks
        ends = {p: place.next for p, place in available.items() if place.next > place.first}
        late = {
            (mirrored.topic, partition): end - 1
            for partition, end in ends.items()
            if partition not in marks or marks[partition].next_offset < end
        }
        if late:
            with open_topics(self._context.config.kafka.client_options()) as reader:
                for (_, partition), when in reader.times(late).items():
                    if when is None:
                        ends[partition] -= 1
        return ends


def _nexts(available: Mapping[int, OffsetRange]) -> dict[int, int]:
    return {partition: place.next for partition, place in available.items()}
