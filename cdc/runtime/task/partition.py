"""The records of one topic partition, from bytes to a report."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse import after_cutoff, last_places
from cdc.config import ApplyMode
from cdc.decode import DecodedChanges, DecodePlan, decode_changes, key_forms
from cdc.errors import ManyTablesError, MirrorError, SpreadKeyError, TopicGrewError, UnwritableError
from cdc.model import (
    NO_POSITION,
    OFFSET,
    POSITION,
    TIME,
    Account,
    BadRecord,
    Cutoff,
    News,
    PartitionMark,
    PartitionReport,
    SchemaPlace,
    SourceSchema,
    SourceTable,
    WrittenFile,
)
from cdc.runtime.task.table_writer import TableWriter, WrittenChanges
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


@dataclass(slots=True)
class PartitionWork:
    """The records of one topic partition in one batch, for one table."""

    topic: str
    partition: int
    plan: TargetPlan
    read: int = 0
    duplicates: int = 0
    reread: int = 0  # applied before, and read again for a truncate that came late
    tombstones: int = 0
    wiped: int = 0
    extra: int = 0  # changes beyond one for each record
    first_offset: int = -1
    next_offset: int = 0
    table: SourceTable | None = None
    schemas: dict[SourceSchema, SchemaPlace] = field(default_factory=dict)
    truncates: list[Cutoff] = field(default_factory=list)
    snapshots: dict[tuple[int, int | None], Cutoff] = field(default_factory=dict)
    changes: list[pa.Table] = field(default_factory=list)
    reread_changes: pa.Table | None = None  # that a history has, and which are not made again
    bad: list[BadRecord] = field(default_factory=list)
    bad_records: list[pa.RecordBatch] = field(default_factory=list)
    failure: MirrorError | None = None
    bare: bool = False  # some records carry no schema
    rekeyed: bool = False  # a record with another key has come
    key_forms: frozenset[str] = frozenset()  # that the table has not met

    def take(self, chunk: pa.RecordBatch, decoder: SharedDecoder) -> None:
        """Decode a chunk of records."""
        if self.plan.settling:
            chunk, decoder = self._under_this_key(chunk), SharedDecoder(self.partition)
            if not len(chunk):
                return
        self._count(chunk)
        if self.failure is None:
            try:
                self._take(self._undelivered(chunk), decoder)
            except MirrorError as error:
                self.failure = error

    def blocked(self) -> PartitionReport | None:
        """Say what keeps the records from being written in this pass, if anything does."""
        if self.plan.width is not None and self.partition >= self.plan.width:
            return self.report(failure=TopicGrewError(self.topic, self.plan.width))
        table = self.plan.decode.table
        if table is not None and table.config_key and self.partition > 0:
            return self.report(failure=SpreadKeyError(self.topic, table.config_key))
        if self.failure is not None:
            return self.report(failure=self.failure)
        return self.report(news=self._news()) if self._met_news() else None

    def finish(self) -> PartitionReport:
        """Write what the records leave of each key."""
        return self.blocked() or self.guarded(self._write)

    def guarded(self, write: Callable[[], PartitionReport]) -> PartitionReport:
        """Write, and report what goes wrong with it."""
        try:
            report = write()
            return report if report.news else replace(report, quarantined=self._write_bad())
        except MirrorError as error:
            return self.report(failure=error)
        except pa.ArrowException as error:  # an OSError, such as a full disk, is none of these
            return self.report(failure=UnwritableError(self.topic, self.partition, str(error)))

    @property
    def mark(self) -> PartitionMark | None:
        """How far this partition has been applied."""
        return self.plan.marks.get(self.partition)

    @property
    def start(self) -> PartitionMark | None:
        """From where on this partition is read."""
        return self.plan.rewinds.get(self.partition, self.mark)

    def _under_this_key(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """Leave out the first record that has another key than the table, and all behind it."""
        if self.rekeyed:
            return chunk.slice(0, 0)
        try:
            decoded = SharedDecoder(self.partition)(chunk, self.plan.decode)
        except MirrorError:
            return chunk  # it is met again, and told, where the records are taken
        others = [p.offset for s, p in decoded.places.items() if s.key != self.plan.key]
        if not others:
            return chunk
        self.rekeyed = True
        return chunk.slice(0, int(np.searchsorted(chunk.column("offset").to_numpy(), min(others))))

    def _count(self, chunk: pa.RecordBatch) -> None:
        offsets = chunk.column("offset")
        if self.first_offset < 0:
            self.first_offset = offsets[0].as_py()
        self.next_offset = offsets[-1].as_py() + 1
        self.read += len(offsets)

    def _undelivered(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """Leave out what the table's ledger has already."""
        mark, start = self.mark, self.start
        offsets = chunk.column("offset")
        if mark is None or start is None or offsets[0].as_py() >= mark.next_offset:
            return chunk
        old = int(np.searchsorted(offsets.to_numpy(), mark.next_offset))
        kept = chunk.slice(min(old, int(np.searchsorted(offsets.to_numpy(), start.next_offset))))
        self.duplicates += old
        self.reread += old - (len(chunk) - len(kept))
        return kept

    def _take(self, chunk: pa.RecordBatch, decoder: SharedDecoder) -> None:
        # With one partition, and without rows to replace, it does not matter where a key goes.
        if self.plan.width != 1 and self.plan.bounded:
            self.key_forms |= key_forms(chunk.column("key")) - self.plan.key_forms
        decoded = decoder(chunk, self.plan.decode)
        self.tombstones += decoded.tombstones
        self.extra += decoded.extra
        self.bare |= decoded.schemaless
        if decoded.table and self.table and decoded.table != self.table:
            raise ManyTablesError(self.topic, (str(self.table), str(decoded.table)))
        self.table = decoded.table or self.table
        self.schemas = dict(decoded.places) | self.schemas  # the first place counts
        self.truncates += decoded.truncates
        if self.plan.bounded and not self.plan.replayed:
            for begin in decoded.snapshots:
                self.snapshots.setdefault((begin.position, begin.time), begin)
        if decoded.bad_records:
            self.bad += decoded.bad_records
            offsets = pa.array([record.offset for record in decoded.bad_records])
            self.bad_records.append(chunk.filter(pc.is_in(chunk.column("offset"), offsets)))
        if self._met_news():
            self.changes.clear()  # this pass writes nothing: the memory is better free
        else:
            timed = self.plan.rule.mode is not ApplyMode.MIRROR
            self.changes += (_timed(c, chunk) if timed else c for c in decoded.changes)

    def _met_news(self) -> bool:
        # A table that does not exist has nothing to wipe.
        known = self.plan.decode.table is not None
        known_barrier = known and self.plan.bounded
        unplanned = [t for t in self.truncates if known_barrier and not self._handled(t)]
        homeless = known and self.bad and self.plan.quarantine is None
        moving = known and self.key_forms and not self.plan.replayed
        return bool(self.schemas or unplanned or homeless or moving)

    def _handled(self, truncate: Cutoff) -> bool:
        pending = self.plan.barrier
        if truncate in self.plan.truncates or (pending is not None and pending.covers(truncate)):
            return True
        # A history is as that truncate left it, and is not made again.
        return self._history and self._applied_before(truncate.offset)

    @property
    def _history(self) -> bool:
        return self.plan.rule.mode is ApplyMode.HISTORY

    def _applied_before(self, offset: int) -> bool:
        return self.mark is not None and offset < self.mark.next_offset

    def _news(self) -> News:
        homeless = bool(self.bad) and self.plan.quarantine is None
        return News(
            self.table,
            tuple(self.schemas),
            tuple(self.truncates),
            quarantine=homeless,
            places=self.schemas,
            key_forms=self.key_forms,
        )

    def _write(self) -> PartitionReport:
        changes = self.joined_changes()
        if changes is None or not len(changes):
            return self.report_written(WrittenChanges())
        mark = self.mark if self._history else self.start
        writer = TableWriter(self.topic, self.partition, mark, self.plan)
        return self.report_written(writer.write(changes, self.reread_places))

    @property
    def reread_places(self) -> pa.Table | None:
        """Where the rows of a history come from that are no older than what is read again."""
        if self.reread_changes is None:
            return None
        return last_places(self.reread_changes, self.plan.key)

    def _places_to_keep(self) -> pa.Table | None:
        """Where current versions of a history come from that a truncate may not end.

        What a new snapshot finds unchanged makes no version, and yet is not gone.
        """
        reread = self.reread_places
        if not self._history or not any(t.is_reload for t in self.plan.truncates):
            return reread
        parts = [last_places(changes, self.plan.key) for changes in self.changes]
        parts += [] if reread is None else [reread]
        return pa.concat_tables(parts, promote_options="default") if parts else None

    def report_written(self, written: WrittenChanges) -> PartitionReport:
        """Report what became of the records, those that made no change among them."""
        if written.wanted is not None:
            return self.report(news=News(missing=written.wanted, moved=written.moved))
        # A truncate that wipes nothing new counts for nothing; in a log it is a row.
        truncates = len(self.truncates)
        done = int(self.plan.truncate in self.truncates) if self.plan.bounded else truncates
        superseded = self.tombstones + self.wiped + truncates - done + written.superseded
        # A record that makes two changes is one record, and one that is read again a duplicate.
        old_bad = sum(self._applied_before(bad.offset) for bad in self.bad)
        beyond = self.extra + self.reread - old_bad
        spare = min(beyond, superseded)
        account = Account(
            read=self.read,
            applied=done + written.applied - (beyond - spare),
            superseded=superseded - spare,
            duplicates=self.duplicates,
            quarantined=len(self.bad) - old_bad,
        )
        return replace(
            self.report(account),
            reread=self._places_to_keep(),
            position=max((_greatest(part) for part in self.changes), default=NO_POSITION),
            files=written.files,
            key_bounds=written.key_bounds,
        )

    def joined_changes(self) -> pa.Table | None:
        """Join the chunks' changes, without those that an earlier batch's truncate wiped out."""
        if not self.changes:
            return None
        changes = pa.concat_tables(self.changes, promote_options="default")
        if self._history and self.reread and self.mark is not None:
            old = pc.less(changes[OFFSET], self.mark.next_offset)
            self.reread_changes = changes.filter(old)
            self.wiped += len(self.reread_changes)
            changes = changes.filter(pc.invert(old))
        barrier = self.plan.barrier
        if barrier is None or barrier.partition == self.partition or not self.plan.bounded:
            return changes
        kept = after_cutoff(changes, self.partition, barrier)
        self.wiped += len(changes) - len(kept)
        return kept

    def report(
        self,
        account: Account | None = None,
        *,
        news: News | None = None,
        failure: MirrorError | None = None,
    ) -> PartitionReport:
        """Report without any file."""
        return PartitionReport(
            topic=self.topic,
            partition=self.partition,
            first_offset=self.first_offset,
            next_offset=self.next_offset,
            position=NO_POSITION,
            account=account or Account(read=self.read),
            target=self.plan.name,
            bad=self.bad[0] if self.bad else None,
            bare=self.bare,
            snapshots=tuple(self.snapshots.values()),
            news=news,
            failure=failure,
        )

    def _write_bad(self) -> WrittenFile | None:
        """Write the records that go into quarantine and are not there already."""
        plan = self.plan.quarantine
        if plan is None or not self.bad:
            return None
        records = pa.Table.from_batches(self.bad_records)
        offsets = records["offset"].combine_chunks()
        new = pc.greater_equal(offsets, plan.marks.get(self.partition, 0))
        reasons = {record.offset: record.reason for record in self.bad}
        now = datetime.now(UTC)
        rows = pa.table(
            {
                "table": pa.array([str(self.plan.name)] * len(records)),
                "topic": records["topic"],
                "partition": records["partition"],
                "offset": offsets,
                "key": records["key"],
                "value": records["value"],
                "reason": pa.array([reasons[offset] for offset in offsets.to_pylist()]),
                "schema_id": _schema_ids(records["value"].combine_chunks()),
                "time": pa.array([now] * len(records), pa.timestamp("us", "UTC")),
            }
        ).filter(new)
        return plan.writer.write_quarantined(rows) if len(rows) else None


def _timed(changes: pa.Table, records: pa.RecordBatch) -> pa.Table:
    """Give changes of which the source tells no time the one at which Kafka got them."""
    if not changes[TIME].null_count:
        return changes
    places = np.searchsorted(records.column("offset").to_numpy(), changes[OFFSET].to_numpy())
    arrival = records.column("timestamp").take(pa.array(places)).cast(changes[TIME].type)
    times = pc.coalesce(changes[TIME], arrival)
    return changes.set_column(changes.column_names.index(TIME), TIME, times)


def _schema_ids(values: pa.Array) -> pa.Array:
    """Read the schema ids of Avro messages; JSON has none."""
    heads = (value[1:5] if value and value[0] == 0 else b"" for value in values.to_pylist())
    ids = [int.from_bytes(head, "big", signed=True) if len(head) == 4 else None for head in heads]
    return pa.array(ids, pa.int32())


def _greatest(changes: pa.Table | None) -> int:
    if changes is None or not len(changes):
        return NO_POSITION
    return int(pc.max(changes[POSITION]).as_py())
