"""The records of one topic partition, read for one table: decoded, and what they tell of."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode import DecodedChanges, DecodePlan, decode_changes, key_forms
from cdc.errors import AccountError, MirrorError, SpreadKeyError, TopicGrewError
from cdc.model import OFFSET, TIME, Failed, Outcome, PartitionMark, PartitionReport
from cdc.runtime.task.bad_records import BadRecords
from cdc.runtime.task.discoveries import Discoveries
from cdc.runtime.task.tally import Tally
from cdc.runtime.task.target_plan import TargetPlan


@dataclass(slots=True)
class SharedDecoder:
    """Decodes one chunk of records, once for all tables that want the same of it."""

    partition: int
    decoded: list[tuple[DecodePlan, int, DecodedChanges]] = field(default_factory=list)

    def __call__(self, chunk: pa.RecordBatch, plan: DecodePlan) -> DecodedChanges:
        """Decode the records of a chunk, or of its end: a table may have its beginning already."""
        for known, count, changes in self.decoded:
            if count == len(chunk) and known == plan:
                return changes
        changes = decode_changes(
            self.partition,
            chunk.column("offset"),
            chunk.column("key"),
            chunk.column("value"),
            plan,
        )
        self.decoded.append((plan, len(chunk), changes))
        return changes


class PartitionRecords:
    """The records of one topic partition in one batch, for one table."""

    def __init__(self, topic: str, partition: int, plan: TargetPlan) -> None:
        self.topic = topic
        self.partition = partition
        self.plan = plan
        self.tally = Tally(self.mark)
        self.bad = BadRecords()
        self.discoveries = Discoveries(plan, self.mark)
        self.changes: list[pa.Table] = []
        self._failure: MirrorError | None = None
        self._key_changed = False  # a record with another key has come

    def take(self, chunk: pa.RecordBatch, decoder: SharedDecoder) -> None:
        """Decode a chunk of records."""
        if self.plan.findings.until_key_change:
            chunk, decoder = self._until_key_change(chunk), SharedDecoder(self.partition)
            if not len(chunk):
                return
        self.tally.take(chunk.column("offset"))
        if self._failure is None:
            try:
                self._take(self._from_start(chunk), decoder)
            except MirrorError as error:
                self._failure = error

    @property
    def stopped(self) -> Outcome | None:
        """What keeps the records from being written in this pass, if anything does."""
        count, table = self.plan.routing.partition_count, self.plan.decode.table
        if count is not None and self.partition >= count:
            return Failed(TopicGrewError(self.topic, count))
        if table is not None and table.config_key and self.partition > 0:
            return Failed(SpreadKeyError(self.topic, table.config_key))
        return Failed(self._failure) if self._failure else self.discoveries.unplanned

    def report(self, outcome: Outcome) -> PartitionReport:
        """Report what became of the records."""
        return PartitionReport(
            topic=self.topic,
            partition=self.partition,
            first_offset=self.tally.first_offset,
            next_offset=self.tally.next_offset,
            outcome=outcome,
            target=self.plan.name,
            bad_record=self.bad.first,
            schemaless=self.discoveries.schemaless,
            snapshots=tuple(self.discoveries.snapshots.values()),
        )

    @property
    def mark(self) -> PartitionMark | None:
        """How far this partition has been applied."""
        return self.plan.marks.get(self.partition)

    @property
    def start(self) -> PartitionMark | None:
        """From where on this partition is read."""
        return self.plan.findings.rewinds.get(self.partition, self.mark)

    def _until_key_change(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """Leave out the first record that has another key than the table, and all behind it."""
        if self._key_changed:
            return chunk.slice(0, 0)
        try:
            decoded = SharedDecoder(self.partition)(chunk, self.plan.decode)
        except MirrorError:
            return chunk  # it is met again, and told, where the records are taken
        others = [p.offset for s, p in decoded.places.items() if s.key != self.plan.key]
        if not others:
            return chunk
        self._key_changed = True
        return chunk.slice(0, int(np.searchsorted(chunk.column("offset").to_numpy(), min(others))))

    def _from_start(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """Leave out what the table has, and is not to be read again."""
        start, offsets = self.start, chunk.column("offset")
        if start is None or offsets[0].as_py() >= start.next_offset:
            return chunk
        return chunk.slice(int(np.searchsorted(offsets.to_numpy(), start.next_offset)))

    def _take(self, chunk: pa.RecordBatch, decoder: SharedDecoder) -> None:
        plan, forms = self.plan, frozenset[str]()
        # With one partition, and without rows to replace, it does not matter where a key goes.
        if plan.routing.partition_count != 1 and not plan.mode.is_log:
            forms = key_forms(chunk.column("key"))
        decoded = decoder(chunk, plan.decode)
        self.discoveries.take(decoded, forms)
        self.bad.take(decoded.bad_records, chunk)
        if self.discoveries.unplanned:
            self.changes.clear()  # this pass writes nothing: the memory is better free
        else:
            self._see_that_all_are_told(decoded, len(chunk))
            self.changes += (
                _timed(changes, chunk) if plan.mode.is_timed else changes
                for changes in decoded.changes
            )

    def _see_that_all_are_told(self, decoded: DecodedChanges, records: int) -> None:
        """See that each record is a change, a truncate or a tombstone, or bad."""
        changes = sum(map(len, decoded.changes)) - decoded.extra
        others = len(decoded.truncates) + decoded.tombstones + len(decoded.bad_records)
        if self.plan.decode.table is not None and changes + others != records:
            raise AccountError(self.topic, f"{records} records, {changes} changes, {others} others")


def _timed(changes: pa.Table, records: pa.RecordBatch) -> pa.Table:
    """Give changes of which the source tells no time the one at which Kafka got them."""
    if not changes[TIME].null_count:
        return changes
    indices = np.searchsorted(records.column("offset").to_numpy(), changes[OFFSET].to_numpy())
    arrival = records.column("timestamp").take(pa.array(indices)).cast(changes[TIME].type)
    times = pc.coalesce(changes[TIME], arrival)
    return changes.set_column(changes.column_names.index(TIME), TIME, times)
