"""Records in quarantine, applied once their cause is gone: one table at a time.

1. read     the table's records, with the table and the settings as they are now
2. compare  with what came after them: a newer change of the row, or a truncate, wins
3. apply    what is left, by the code of every batch, in one commit of the table
4. let go   what was applied or overtaken, in one commit of the quarantine

Cut off between the two commits, the next replay finds the records again and applies them again:
in a mirror that leaves the rows as they are, a history has their versions already, and in a log
their rows are looked for first.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cdc.collapse import mode_of
from cdc.errors import CommitConflictError, MirrorError, UnreplayableTableError
from cdc.model import TargetId
from cdc.observe.replay_report import TableReplay, staying
from cdc.runtime.follow.columns import ColumnFollower
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.follow.follower import TableFollower
from cdc.runtime.replay.apply_records import ChosenRecords, apply_records
from cdc.runtime.replay.newer_changes import Mask, find_overtaken
from cdc.runtime.replay.quarantined_changes import (
    Place,
    Reading,
    places_of,
    read_changes,
    read_tableless,
    source_of,
)
from cdc.runtime.stream.batch_tools import BatchTools, open_tools
from cdc.runtime.stream.commits import MOST_CONFLICTS
from cdc.runtime.stream.plans import Plans
from cdc.runtime.tables.table_rows import TableRows
from cdc.source.topic_log import TopicLog

logger = logging.getLogger(__name__)

LOST = "Kafka has deleted what came after it, so a newer change may have been applied"
MOVED = "it gave its row another key, and the row has changed since under one of the two"
TRUNCATE = (
    "it is a truncate, which cannot be made up for: the table may have rows that it removed. Drop "
    "the table and take a new snapshot, or remove this record with `quarantine drop`"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of the records of one table; masks over them."""

    ready: Mask
    overtaken: Mask
    there: Mask  # applied by a replay that was cut off
    stays: Mapping[Place, str]  # the others, and why

    @property
    def leaves(self) -> Mask:
        """The records that have no more to do in quarantine once the ready ones are applied."""
        return self.ready | self.overtaken | self.there


class Replayer:
    """Replays the quarantine of one mirror."""

    def __init__(
        self,
        spark: SparkSession,
        context: MirrorContext,
        log: TopicLog,
        *,
        anyway: bool = False,
    ) -> None:
        """Prepare to replay.

        Args:
            spark: The session with the mirror's catalog.
            context: The mirror, none of whose tables is open. A dry one changes nothing, and
                tells what would be done.
            log: What Kafka has.
            anyway: Also apply records of which nobody can tell whether they are the newest.
        """
        self._spark, self._context, self._tables = spark, context, context.tables
        self._log, self._anyway = log, anyway
        self._rows = TableRows(spark, context.catalog)
        self._follower = TableFollower(context, ColumnFollower(context))
        self._plans = Plans(context)

    def run(self, table: str | None = None) -> list[TableReplay]:
        """Replay all tables, or one; what fails with one stops no other.

        Run twice, the second run finds in quarantine only what could not be applied.
        """
        quarantine = self._context.quarantine
        return [
            self._replay(name, topic)
            for name, topic in quarantine.tables(self._spark)
            if table is None or table == name
        ]

    def _replay(self, name: str | None, topic: str) -> TableReplay:
        records = self._context.quarantine.records(self._spark, name, topic)
        outcome = TableReplay(name or topic, topic, len(records))
        try:
            target = self._open(name, topic, records)
            if target is None:
                reading = read_tableless(self._context, topic, records)
                return replace(outcome, stays=staying(reading.unreadable))
            return self._until_alone(target, records, outcome)
        except MirrorError as error:
            logger.warning("not replayed table=%s reason=%s", outcome.table, error)
            return replace(outcome, failure=str(error))

    def _open(self, name: str | None, topic: str, records: pa.Table) -> TargetId | None:
        """Open the table of some records; None where no record tells which source it has."""
        source = source_of(self._context, topic, records)
        if source is None:
            return None
        self._tables.open(topic, source)
        found = [t for t in self._tables.of_topic(topic) if name is None or str(t[1]) == name]
        if len(found) != 1:
            raise UnreplayableTableError(name or topic)
        return found[0]

    def _until_alone(
        self, target: TargetId, records: pa.Table, outcome: TableReplay
    ) -> TableReplay:
        """Replay, and do all of it again where somebody wrote to the table in the meantime."""
        for _ in range(MOST_CONFLICTS):
            try:
                return self._attempt(target, records, outcome)
            except CommitConflictError as conflict:
                logger.warning("replayed again table=%s reason=%s", target[1], conflict)
                self._tables[target].reopen()
        return self._attempt(target, records, outcome)

    def _attempt(self, target: TargetId, records: pa.Table, outcome: TableReplay) -> TableReplay:
        follower = None if self._context.dry_run else self._follower
        reading = read_changes(self._plans, target, records, follower)
        verdict = self._verdict(target, reading)
        applied, overtaken = int(verdict.ready.sum()), int(verdict.overtaken.sum())
        if applied and not self._context.dry_run:
            chosen = records.filter(pa.array(verdict.ready))
            account = apply_records(self._tools(chosen), self._frame(chosen), target)
            applied, overtaken = account.applied, overtaken + account.superseded
        if verdict.leaves.any() and not self._context.dry_run:
            leaving = records.filter(pa.array(verdict.leaves))
            self._context.quarantine.discard(self._spark, leaving)
        return replace(
            outcome,
            applied=applied,
            superseded=overtaken,
            there=int(verdict.there.sum()),
            stays=staying(verdict.stays),
        )

    def _verdict(self, target: TargetId, reading: Reading) -> Verdict:
        """Decide what becomes of each record; a log takes everything that can be read."""
        mirrored = self._tables[target]
        overtaken: set[Place] = set()
        there: set[Place] = set()
        stays = dict(reading.unreadable)
        if mode_of(mirrored.rule).is_log:
            there = places_of(self._rows.logged(mirrored, reading.places()))
        else:
            stays |= dict.fromkeys(reading.truncates, TRUNCATE)
            overtaken, refused = self._compared(target, reading)
            stays |= refused
        masks = [reading.mask_of(places) for places in (stays, overtaken, there)]
        ready = ~(masks[0] | masks[1] | masks[2])
        return Verdict(ready, overtaken=masks[1], there=masks[2], stays=stays)

    def _compared(self, target: TargetId, reading: Reading) -> tuple[set[Place], dict[Place, str]]:
        """Find the records that have been overtaken, and those of which nobody can tell."""
        changes = reading.changes
        if changes is None or not len(changes):
            return set(), {}
        decode = self._plans.decode_plan(target)
        mirrored = self._tables[target]
        found = find_overtaken(mirrored, decode, changes, reading.offsets(), self._log)
        old = places_of(changes.filter(pa.array(found.newer)))
        new = places_of(changes.filter(pa.array(~found.newer)))
        # A record makes two changes where it gave its row another key.
        refused = dict.fromkeys(old & new, MOVED)
        if not self._anyway:
            unknown = places_of(changes.filter(pa.array(found.unknown & ~found.newer)))
            refused |= dict.fromkeys(unknown - old, LOST)
        return old - new, refused

    def _tools(self, records: pa.Table) -> BatchTools:
        """Read the chosen records again where a batch reads Kafka again."""
        log = ChosenRecords(lambda: self._frame(records), self._log)
        return open_tools(self._spark, self._context, log)

    def _frame(self, records: pa.Table) -> DataFrame:
        """Give records as Kafka does; that they came when they were put aside is near enough."""
        names = ["topic", "partition", "offset", "key", "value", "time"]
        as_read = records.select(names).rename_columns([*names[:-1], "timestamp"])
        frame = self._spark.createDataFrame(as_read)
        return frame.repartition(1).sortWithinPartitions("partition", "offset")
