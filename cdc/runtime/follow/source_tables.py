"""What a run does about tables that were dropped, made again or renamed at the source.

The catalog is asked at the start of a stream, when a topic joins that has no table, and as often as
parked tables are tried again; never for a batch. Whatever there is to do is done at the start of a
stream, so one that runs is ended for it, between two batches.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cdc.config import MirrorConfig, SchemaChange
from cdc.decode import named_by
from cdc.dialect import Dialect
from cdc.errors import AwaitedTableError, EndedTopicError, MirrorError, RenamedTableError
from cdc.model import SourceTable, TargetId, Unplanned
from cdc.runtime.follow.table_fates import TableFates, is_read_up
from cdc.runtime.follow.table_renames import TableRenames
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.runtime.tables.open_tables import Tables
from cdc.source.topics import OffsetRange, Record, open_topics

logger = logging.getLogger(__name__)

# The connector sends the last records of the old name before the first of the new one, but to other
# partitions of Kafka: for so long those may still be on their way.
SETTLE_SECONDS = 3.0

# Many topics may join in one batch: the catalog's answer holds for all of them.
SAME_SECONDS = 0.5
TELL = "Tell with renamed_from in a rule of the one or the other which name it had before"
IN_BETWEEN = f"it may be a name that one had in between. {TELL}"

Held = Mapping[str, Mapping[int, OffsetRange]]


@dataclass(frozen=True, slots=True)
class Told:
    """The first record of a topic, and what it tells."""

    record: Record
    news: Unplanned


class Lineage:
    """Follows the tables of one stream."""

    def __init__(self, config: MirrorConfig, dialect: Dialect, tables: Tables) -> None:
        self._config = config
        self._dialect = dialect
        self._tables = tables
        self._fates = TableFates(tables, tables.watch)
        self._renames = TableRenames(config, tables)
        # Tables that must have read their topics up to some offsets before something is done.
        self._awaited: dict[TargetId, Mapping[int, int]] = {}
        self._arrived = False
        tables.on_arrival = self._arrive

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
        self._renames.recover()
        self._tables.watch.look()

    def is_left(self, topic: str, places: Mapping[int, OffsetRange]) -> bool:
        """Say whether a topic holds nothing but records whose table has left it."""
        left = self._tables.retired.get(topic)
        return left is not None and left.is_over(_nexts(places))

    def follow(self, told: Mapping[str, Told], held: Held) -> None:
        """Do what is to be done, when all tables are open that there are.

        Done twice, it is done once.

        Args:
            told: The topics that hold records, by name.
            held: What Kafka has of all topics.
        """
        self._open_silent(told, held)
        self._pass_over(told, held)
        bare = {
            topic: first
            for topic, first in told.items()
            if self._is_bare(topic) and not self.is_left(topic, held[topic])
        }
        # What the config tells comes first: it may leave no doubt about the others.
        for topic in sorted(bare, key=lambda topic: not self._is_told(bare[topic])):
            try:
                self._follow_rename(topic, bare, len(held[topic]))
            except MirrorError as error:
                if error.retryable:
                    raise
                self._tables.park((topic, None), error)
        for mirrored in self._tables.opened:
            places = held.get(mirrored.topic, {})
            needed = self._needed(mirrored, places) if self._fates.is_gone(mirrored) else {}
            read_up = is_read_up(mirrored, needed)
            if self._fates.follow(mirrored, _nexts(places) if read_up else None):
                self._awaited[mirrored.id] = needed

    def tick(self) -> None:
        """Ask the catalog whether something is to be done."""
        if self._tables.watch.look() is not None:
            self._arrived |= any(self._fates.is_new(table) for table in self._tables.opened)

    def _is_bare(self, topic: str) -> bool:
        """Say whether a topic has no table, and is not parked."""
        parked = any(topic == where for where, _ in self._tables.parked)
        return not parked and not self._tables.targets(topic)

    def _pass_over(self, told: Mapping[str, Told], held: Held) -> None:
        """Deal with records that came late for tables which have left their topics.

        Those of a dropped table are nobody's. Those of a renamed one are lost to it.
        """
        found = self._tables.watch.found
        for topic, first in told.items():
            left, source = self._tables.retired.get(topic), first.news.table
            if left is None or source is None or found is None or not found.lacks(source):
                continue
            if not self._is_bare(topic) or self.is_left(topic, held[topic]):
                continue
            if left.successor is not None:
                self._tables.park(
                    (topic, None), EndedTopicError(str(source), topic, left.successor)
                )
            else:
                logger.warning("passed over topic=%s from=%s", topic, dict(left.offsets))
                self._tables.retired.note(replace(left, offsets=_nexts(held[topic])))

    def _open_silent(self, told: Mapping[str, Told], held: Held) -> None:
        """Open the tables of topics of which Kafka has deleted all records."""
        found = self._tables.watch.found
        for topic in held.keys() - told.keys() if found is not None else ():
            source = named_by(topic, self._dialect)
            if source is not None and found is not None and not self.is_left(topic, held[topic]):
                if found.database:
                    source = replace(source, database=found.database)
                try:
                    self._tables.open(topic, source)
                except MirrorError as error:
                    if error.retryable:
                        raise
                    logger.warning("not opened topic=%s reason=%s", topic, error)

    def _is_told(self, first: Told) -> bool:
        """Say whether the config has an older name of a table."""
        source = first.news.table
        assert source is not None
        return bool(self._config.tables.rule_for(source.schema, source.table).renamed_from)

    def _follow_rename(self, topic: str, bare: Mapping[str, Told], width: int) -> None:
        first = bare[topic]
        source = first.news.table
        assert source is not None
        former = self._renames.former(topic, source)
        if not former:
            if self._renames.may_be_passing(source):
                raise RenamedTableError(str(source), "another table", IN_BETWEEN)
            return
        if self._renames.policy(former, source) is SchemaChange.IGNORE:
            return
        if topic not in self._tables.retired:  # what is read then is newer in any case
            self._expect_newer(former, first)
        if not self._is_told(first):
            self._expect_alone(former, topic, bare)
        age = time.time() - first.record.time / 1000
        time.sleep(min(SETTLE_SECONDS, max(0.0, SETTLE_SECONDS - age)))
        old = former[0].topic
        with open_topics(self._config.kafka.client_options()) as reader:
            ranges = reader.ranges(reader.matching([old]))
        places = {partition: place for (_, partition), place in ranges.items()}
        needed = {mirrored.id: self._needed(mirrored, places) for mirrored in former}
        behind = {m.id: needed[m.id] for m in former if not is_read_up(m, needed[m.id])}
        if behind:
            self._awaited |= behind
            raise AwaitedTableError(str(source), str(former[0].source), old)
        self._renames.follow(former, _nexts(places), topic, source, width)

    def _expect_alone(
        self, former: list[MirroredTable], topic: str, bare: Mapping[str, Told]
    ) -> None:
        """See that a table cannot have had one more name in between.

        Raises:
            RenamedTableError: Another topic may hold records of it.
        """
        for other, first in bare.items():
            source = first.news.table
            if other != topic and source is not None and self._renames.may_be_passing(source):
                new = str(bare[topic].news.table)
                reason = f"it may have been {source} in between. {TELL}"
                raise RenamedTableError(new, str(former[0].source), reason)

    def _needed(self, mirrored: MirroredTable, places: Mapping[int, OffsetRange]) -> dict[int, int]:
        """Give the offsets up to which a table must have its topic to have all records of it.

        The last offset of a partition may be no record, but a mark of a transaction.
        """
        marks = mirrored.marks
        ends = {p: place.next for p, place in places.items() if place.next > place.first}
        late = {
            (mirrored.topic, partition): end - 1
            for partition, end in ends.items()
            if partition not in marks or marks[partition].next_offset < end
        }
        if late:
            with open_topics(self._config.kafka.client_options()) as reader:
                for (_, partition), when in reader.times(late).items():
                    if when is None:
                        ends[partition] -= 1
        return ends

    def _expect_newer(self, former: list[MirroredTable], first: Told) -> None:
        """See that a topic is of the table since it was renamed, and not of one before it.

        Raises:
            RenamedTableError: Its first record is older than what is applied.
        """
        places = first.news.places.values()
        begin = max((place.position for place in places), default=-1)
        last = max((m.position for table in former for m in table.marks.values()), default=-1)
        if 0 <= begin <= last:
            reason = f"{first.record.topic} holds records from before"
            raise RenamedTableError(str(first.news.table), str(former[0].source), reason)

    def _arrive(self, topic: str, source: SourceTable) -> None:
        """Look at a topic that joins while the stream runs.

        Raises:
            AwaitedTableError: Its table has one already, under another name.
            EndedTopicError: Its table is gone.
        """
        self._tables.watch.look(newer_than=SAME_SECONDS)
        former = self._renames.former(topic, source) or self._renames.may_be_passing(source)
        if former and self._renames.policy(former, source) is not SchemaChange.IGNORE:
            self._arrived = True
            raise AwaitedTableError(str(source), str(former[0].source), former[0].topic)
        found, left = self._tables.watch.found, self._tables.retired.get(topic)
        if left is not None and found is not None and found.lacks(source):
            raise EndedTopicError(str(source), topic, left.successor)


def _nexts(places: Mapping[int, OffsetRange]) -> dict[int, int]:
    return {partition: place.next for partition, place in places.items()}
