"""One micro-batch, from the records of all topics to one commit per table.

1. plan     what each topic's table looks like, and what its ledger has
2. write    one job for all tables: decode, collapse, files
3. evolve   only where a task met something new; then step 2 again for those topics alone
4. commit   tables side by side: rows, deletes and ledger in one atomic commit each
5. observe  the account of the batch

A batch that is cut off anywhere before step 4 has changed no table, and one cut off in step 4 has
changed some: whatever runs next starts from the tables' ledgers, so those are not changed again.
"""

import logging
import pickle
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cdc.apply import merge_changes, rows_of_keys
from cdc.commit import RowChange, commit_rows, read_ledger, translated
from cdc.dialect import Dialect
from cdc.errors import (
    AccountError,
    CommitConflictError,
    MirrorError,
    NotDebeziumError,
    RestlessTopicError,
)
from cdc.model import (
    MISSING,
    Account,
    FileKind,
    Ledger,
    News,
    PartitionMark,
    PartitionReport,
    Truncate,
    WrittenFile,
)
from cdc.observe import BatchProgress
from cdc.runtime.tables import MirroredTable, Tables
from cdc.runtime.write_task import REPORT_SCHEMA, WriteTask, bounds_of

logger = logging.getLogger(__name__)

# A topic is written again after news; schemas, a truncate, a quarantine and rows may come one after
# the other.
MOST_PASSES = 6
COMMIT_THREADS = 4
# Small partitions share a task; more tasks than this per core only cost their start.
TASKS_PER_CORE = 4

Offsets = Mapping[tuple[str, int], int]
# Reads given records once more: from the first offsets up to the next ones.
Reread = Callable[[Offsets, Offsets], DataFrame]


@dataclass(frozen=True, slots=True)
class TopicReports:
    """What the tasks of one topic did."""

    topic: str
    partitions: tuple[PartitionReport, ...]

    @property
    def failure(self) -> MirrorError | None:
        """The first thing that went wrong."""
        return next((p.failure for p in self.partitions if p.failure is not None), None)

    @property
    def has_news(self) -> bool:
        """Whether a task met something that the plan does not cover."""
        return any(p.news is not None for p in self.partitions)

    @property
    def unreadable(self) -> MirrorError | None:
        """The first record that cannot be read, if there is one."""
        for part in self.partitions:
            if part.bad is not None:
                bad = part.bad
                return NotDebeziumError(self.topic, part.partition, bad.offset, bad.reason)
        return None

    @property
    def news(self) -> News:
        """What all tasks met, so that the table is made for all of it at once."""
        found = [p.news for p in self.partitions if p.news is not None]
        return News(
            next((news.table for news in found if news.table is not None), None),
            tuple(dict.fromkeys(schema for news in found for schema in news.schemas)),
            quarantine=any(news.quarantine for news in found),
        )

    @property
    def missing(self) -> pa.Table | None:
        """The keys of all changes that leave out a value, and the names of those."""
        found = [p.news.missing for p in self.partitions if p.news and p.news.missing is not None]
        return pa.concat_tables(found) if found else None

    @property
    def truncate(self) -> Truncate | None:
        """The last truncate of the batch."""
        found = [p.news.truncate for p in self.partitions if p.news and p.news.truncate]
        return max(found, key=lambda t: (t.position, t.offset), default=None)

    @property
    def files(self) -> tuple[WrittenFile, ...]:
        """All files of the topic."""
        return tuple(file for p in self.partitions for file in p.files)

    @property
    def account(self) -> Account:
        """All records of the topic."""
        return reduce(Account.__add__, (p.account for p in self.partitions), Account())


class BatchRunner:
    """Runs the batches of one stream."""

    def __init__(
        self, spark: SparkSession, mirror: str, dialect: Dialect, tables: Tables, reread: Reread
    ) -> None:
        self._spark = spark
        self._mirror = mirror
        self._dialect = dialect
        self._tables = tables
        self._reread = reread
        self._most_tasks = spark.sparkContext.defaultParallelism * TASKS_PER_CORE

    def run(self, records: DataFrame, batch: int) -> tuple[BatchProgress, set[str]]:
        """Apply one batch. Run twice, the second run finds every record in the ledgers.

        Raises:
            MirrorError: A retryable failure; the tables that are committed stay so.
        """
        started = time.monotonic()
        # 1. plan
        truncates: dict[str, Truncate | None] = dict.fromkeys(self._tables.topics)
        rows: dict[str, pa.Table] = {}
        # 2. write
        reports = self._write(records, truncates, rows)
        # 3. evolve
        for _ in range(MOST_PASSES):
            restless = [r for r in reports.values() if self._is_restless(r)]
            if not restless:
                break
            again = self._evolve(restless, truncates, rows)
            for report in restless:
                del reports[report.topic]
            if again:
                reports |= self._write(self._records_of(again), truncates, rows)
        for report in list(reports.values()):
            if self._is_restless(report):
                self._park(report, report.failure or RestlessTopicError(report.topic))
                del reports[report.topic]
        written = time.monotonic()
        # 4. commit
        committed = self._commit(reports.values(), truncates)
        # 5. observe
        account = reduce(Account.__add__, (r.account for r in committed), Account())
        progress = BatchProgress(
            batch=batch,
            tables=len(committed),
            account=account,
            write_seconds=written - started,
            commit_seconds=time.monotonic() - written,
        )
        logger.info("%s", progress)
        return progress, {str(self._tables[r.topic].table.name) for r in committed}

    def _is_restless(self, report: TopicReports) -> bool:
        # Without a table there is no ledger that could pass the records that cannot be read.
        homeless = report.topic not in self._tables and report.unreadable is not None
        return report.failure is not None or report.has_news or homeless

    def _write(
        self,
        records: DataFrame,
        truncates: Mapping[str, Truncate | None],
        rows: Mapping[str, pa.Table],
    ) -> dict[str, TopicReports]:
        task = WriteTask(
            self._dialect,
            self._tables.plans(truncates, rows),
            frozenset(self._tables.parked),
            self._tables.wire,
        )
        done = records.coalesce(self._most_tasks).mapInArrow(task, REPORT_SCHEMA).collect()
        by_topic: dict[str, list[PartitionReport]] = {}
        for row in done:
            report: PartitionReport = pickle.loads(row.report)
            by_topic.setdefault(report.topic, []).append(report)
        return {topic: TopicReports(topic, tuple(parts)) for topic, parts in by_topic.items()}

    def _evolve(
        self,
        restless: list[TopicReports],
        truncates: dict[str, Truncate | None],
        rows: dict[str, pa.Table],
    ) -> list[TopicReports]:
        """Make the tables fit; give the topics that are to be written again."""
        again = []
        for report in restless:
            failure = report.failure
            if failure is None and not report.has_news:
                failure = report.unreadable
            if failure is not None and failure.retryable:
                raise failure
            if failure is not None:
                self._park(report, failure)
                continue
            try:
                self._tables.evolve(report.topic, report.news)
                if report.missing is not None:
                    rows[report.topic] = self._look_up(report.topic, report.missing)
            except MirrorError as error:
                if error.retryable:
                    raise
                self._park(report, error)
                continue
            self._remove(report)
            truncates[report.topic] = report.truncate or truncates.get(report.topic)
            again.append(report)
        return again

    def _look_up(self, topic: str, missing: pa.Table) -> pa.Table:
        """Read from a table what changes of it leave out: of their keys, and no other."""
        mirrored = self._tables[topic]
        keys = missing.select(list(mirrored.key)).combine_chunks()
        names = sorted({name for names in missing[MISSING].to_pylist() for name in names})
        with translated(str(mirrored.table.name)):
            return rows_of_keys(
                self._spark,
                self._tables.catalog.sql_name(mirrored.table.name),
                keys,
                names,
                bounds_of(keys, mirrored.key),
            )

    def _records_of(self, reports: Iterable[TopicReports]) -> DataFrame:
        parts = [part for report in reports for part in report.partitions]
        first = {(p.topic, p.partition): p.first_offset for p in parts}
        next_ = {(p.topic, p.partition): p.next_offset for p in parts}
        return self._reread(first, next_)

    def _commit(
        self, reports: Iterable[TopicReports], truncates: Mapping[str, Truncate | None]
    ) -> list[TopicReports]:
        pending = [r for r in reports if r.topic in self._tables and self._is_progress(r)]
        # The ledgers must not pass a bad record before it is safe.
        self._tables.quarantine.commit(part for report in pending for part in report.partitions)
        retry: MirrorError | None = None
        committed = []
        with ThreadPoolExecutor(COMMIT_THREADS, thread_name_prefix="commit") as threads:
            futures = {
                report.topic: threads.submit(
                    self._commit_table, report, truncates.get(report.topic) is not None
                )
                for report in pending
            }
            for report in pending:
                try:
                    futures[report.topic].result()
                    committed.append(report)
                except MirrorError as error:
                    if error.retryable:
                        retry = error
                    else:
                        self._park(report, error)
        if retry is not None:
            raise retry
        return committed

    def _is_progress(self, report: TopicReports) -> bool:
        """Whether a record is new to the ledger; a replayed batch is none."""
        return report.account.read > report.account.duplicates

    def _commit_table(self, report: TopicReports, truncate: bool) -> None:
        """Commit one table. Run twice, the second run raises a conflict and changes nothing."""
        mirrored = self._tables[report.topic]
        if not report.account.balanced:
            raise AccountError(report.topic, str(report.account))
        ledger = self._next_ledger(mirrored, report)
        merged = any(p.replaces for p in report.partitions) and not any(
            f.kind is FileKind.EQUALITY_DELETES for f in report.files
        )
        if merged:
            with translated(str(mirrored.table.name)):
                merge_changes(
                    self._spark,
                    self._tables.catalog.sql_name(mirrored.table.name),
                    report.files,
                    mirrored.key,
                    _joined_bounds(report.partitions, mirrored.key),
                    ledger,
                )
        else:
            change = RowChange(
                files=report.files,
                ledger=ledger,
                key=mirrored.key,
                since=mirrored.table.snapshot_id,
                truncate=truncate,
            )
            commit_rows(mirrored.table, change)
        mirrored.table.refresh()
        if read_ledger(mirrored.table) != ledger:
            raise CommitConflictError(str(mirrored.table.name), "its ledger is another one")
        mirrored.advance(ledger)
        if merged:
            mirrored.table.remove(report.files)  # the MERGE wrote files of its own

    def _next_ledger(self, mirrored: MirroredTable, report: TopicReports) -> Ledger:
        old = mirrored.ledger
        marks = dict(old.partitions) if old else {}
        for part in report.partitions:
            before = marks.get(part.partition, PartitionMark(0))
            marks[part.partition] = PartitionMark(
                max(before.next_offset, part.next_offset), max(before.position, part.position)
            )
        number = old.batch + 1 if old else 0
        return Ledger(self._mirror, report.topic, number, marks, report.account)

    def _park(self, report: TopicReports, reason: MirrorError) -> None:
        self._remove(report)
        self._tables.park(report.topic, reason)

    def _remove(self, report: TopicReports) -> None:
        """Delete the files of a pass that is done again or given up."""
        if report.files:
            self._tables[report.topic].table.remove(report.files)
        self._tables.quarantine.remove(
            part.quarantined for part in report.partitions if part.quarantined is not None
        )


def _joined_bounds(
    partitions: Iterable[PartitionReport], key: tuple[str, ...]
) -> dict[str, tuple[object, object]]:
    """Join the partitions' key bounds; a column without bounds somewhere has none."""
    parts = [p.key_bounds for p in partitions if p.files]
    return {
        name: (min(p[name][0] for p in parts), max(p[name][1] for p in parts))
        for name in key
        if parts and all(name in p for p in parts)
    }
