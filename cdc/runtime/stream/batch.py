"""One micro-batch, from the records of all topics to one commit per table.

1. plan     what each topic's tables look like, and what their ledgers have
2. write    one job for all tables: decode, collapse, files
3. evolve   only where a task met something new; then step 2 again for those tables alone
4. commit   tables side by side: rows, deletes and ledger in one atomic commit each
5. observe  the account of the batch

A batch that is cut off anywhere before step 4 has changed no table, and one cut off in step 4 has
changed some: whatever runs next starts from the tables' ledgers, so those are not changed again.
"""

import logging
import pickle
import time
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cdc.collapse import Key
from cdc.commit import remove_files
from cdc.decode import old_key
from cdc.errors import CommitConflictError, MirrorError, RestlessTopicError
from cdc.model import Account, Cutoff, PartitionReport, TargetId, cutoffs_in_order
from cdc.observe import BatchProgress
from cdc.runtime.follow.changed_types import tables_with_changed_types
from cdc.runtime.follow.columns import ColumnFollower
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.follow.follower import Arrivals, TableFollower
from cdc.runtime.stream.batch_plan import BatchPlan
from cdc.runtime.stream.plans import Plans
from cdc.runtime.stream.record_access import Held, OldKeys, Reread, holds_nothing, no_old_keys
from cdc.runtime.tables.mirrored_table import (
    MirroredTable,
    note_key_forms,
    replacement,
    rewind,
)
from cdc.runtime.tables.reports import TargetReports, by_target
from cdc.runtime.tables.table_commit import TableCommit
from cdc.runtime.tables.table_rows import TableRows, with_keys
from cdc.runtime.task.write_task import REPORT_SCHEMA, WriteTask
from cdc.state.cutoffs import new_snapshot

logger = logging.getLogger(__name__)

# A table is written again after news; schemas, other types, a truncate, a quarantine and rows may
# come one after the other.
MOST_PASSES = 8
# How often a table is written again that somebody else changed in the meantime.
MOST_CONFLICTS = 5
COMMIT_THREADS = 4
# Small partitions share a task; more tasks than this per core only cost their start.
TASKS_PER_CORE = 4

Reports = dict[TargetId, TargetReports]


class BatchRunner:
    """Runs the batches of one stream."""

    def __init__(
        self,
        spark: SparkSession,
        context: MirrorContext,
        reread: Reread,
        old_keys: OldKeys = no_old_keys,
        held: Held = holds_nothing,
        arrivals: Arrivals | None = None,
    ) -> None:
        self._spark = spark
        self._context = context
        self._tables = context.tables
        self._columns = ColumnFollower(context)
        self._follower = TableFollower(context, self._columns, arrivals)
        self._plans = Plans(context)
        self._reread = reread
        self._old_keys = old_keys
        self._held = held
        self._rows = TableRows(spark, context.catalog)
        self._table_commit = TableCommit(spark, context.config.name, context.catalog, self._rows)
        self._most_tasks = spark.sparkContext.defaultParallelism * TASKS_PER_CORE

    def run(self, records: DataFrame, batch: int) -> tuple[BatchProgress, set[str]]:
        """Apply one batch. Run twice, the second run finds every record in the ledgers.

        Raises:
            MirrorError: A retryable failure; the tables that are committed stay so.
        """
        started = time.monotonic()
        plan = self._plan()
        reports = self._write(records, plan)
        reports = self._evolve(reports, plan)
        written = time.monotonic()
        committed = self._commit(reports, plan)
        return self._observe(batch, committed, started, written)

    def replay(self, records: DataFrame, target: TargetId) -> Account:
        """Apply records of one table that were put aside before, in one commit.

        The marks stay as they are. Run twice, the second run leaves the rows as they are.

        Args:
            records: The records, those of a partition in one task and in their order.
            target: Their table, which is open.

        Raises:
            CommitConflictError: Somebody wrote to the table since it was opened; nothing is done.
            MirrorError: The records cannot be applied.
        """
        plan = BatchPlan(replayed=frozenset({target}))
        report = self._evolve(self._write(records, plan, [target]), plan).get(target)
        if report is None:
            raise self._tables.parked[target]
        try:
            if report.account.applied:
                self._table_commit(self._tables[target], report, (), alone=True)
        except MirrorError as error:
            # Where a commit may have been made its files must stay.
            if isinstance(error, CommitConflictError) or not error.retryable:
                self._remove_rows(report)
            raise
        return report.account

    def _plan(self) -> BatchPlan:
        """Step 1: see what has changed around the tables since the batch before."""
        self._context.source.columns.begin()
        for mirrored in self._tables.active:
            self._rows.fill_defaults(mirrored)
        return BatchPlan()

    def _write(
        self, records: DataFrame, plan: BatchPlan, only: Collection[TargetId] | None = None
    ) -> Reports:
        """Step 2: write the files of all tables, or of some."""
        task = WriteTask(
            self._context.dialect,
            self._plans.of_batch(plan, only),
            frozenset(self._tables.parked_topics),
            self._context.wire,
        )
        tasks = 1 if task.joint else self._most_tasks
        done = records.coalesce(tasks).mapInArrow(task, REPORT_SCHEMA).collect()
        parts: list[PartitionReport] = [pickle.loads(row.report) for row in done]
        return by_target(parts)

    def _evolve(self, reports: Reports, plan: BatchPlan) -> Reports:
        """Step 3: let the tables follow what the tasks met, until nothing is new."""
        for _ in range(MOST_PASSES):
            restless = {i: report for i, report in reports.items() if self._restless(report, plan)}
            wrong = {} if restless else self._changed_types(reports.values())
            if not restless and not wrong:
                return self._within_ceilings(reports)
            again = [report for report in restless.values() if self._follow(report, plan)]
            again += [reports[i] for i, reason in wrong.items() if self._drop(reports[i], reason)]
            reports = {i: r for i, r in reports.items() if i not in restless and i not in wrong}
            reports |= self._write_again(again, plan)
        for report in [r for r in reports.values() if self._restless(r, plan)]:
            self._park(report, report.failure or RestlessTopicError(report.topic))
            del reports[report.id]
        return self._within_ceilings(reports)

    def _changed_types(
        self, reports: Iterable[TargetReports]
    ) -> dict[TargetId, MirrorError | None]:
        schemaless = [report.id for report in reports if report.bare]
        return tables_with_changed_types(
            self._context, self._columns, schemaless, self._plans.read_in
        )

    def _drop(self, report: TargetReports, reason: MirrorError | None) -> bool:
        """Drop what was read wrong; say whether it can be read again."""
        if reason is not None:
            self._park(report, reason)
        else:
            self._remove(report)
        return reason is None

    def _within_ceilings(self, reports: Reports) -> Reports:
        """Park the tables of which more is bad than the quarantine is for."""
        kept: Reports = {}
        for target, report in reports.items():
            known = target in self._tables
            excess = report.beyond(self._tables[target].rule.max_quarantined) if known else None
            if excess is None:
                kept[target] = report
            else:
                self._park(report, excess)
        return kept

    def _restless(self, report: TargetReports, plan: BatchPlan) -> bool:
        return report.restless or self._new_snapshot(report, plan) is not None

    def _new_snapshot(self, report: TargetReports, plan: BatchPlan) -> Cutoff | None:
        """Tell where something begins that replaces what the table has, unless it is planned.

        A new snapshot, or another table of the same name.
        """
        if report.id not in self._tables or report.id in plan.replayed:
            return None
        mirrored, planned = self._tables[report.id], plan.truncates.get(report.id, ())
        begun = (replacement(mirrored), new_snapshot(mirrored.ledger, report.snapshots))
        return next((found for found in begun if found is not None and found not in planned), None)

    def _follow(self, report: TargetReports, plan: BatchPlan) -> bool:
        """Make a table fit; say whether its records are to be written again."""
        failure, snapshot = report.failure, self._new_snapshot(report, plan)
        if failure is None and not report.has_news and snapshot is None:
            failure = report.unreadable
        try:
            if failure is not None:
                raise failure
            key = self._tables[report.id].key if report.id in self._tables else None
            self._follower.follow(report.id, report.news, self._settle)
            for target in self._tables.of_topic(report.topic):
                self._rows.fill_defaults(self._tables[target])
            if key is not None and self._tables[report.id].key != key:
                # What was found out of its records was so under the old key.
                plan.forget(report.id)
                self._remove(report)
                return True
            self._note_key_forms(report)
            if report.truncates or snapshot is not None:
                mirrored = self._tables[report.id]
                known = plan.truncates.get(report.id, ())
                begun = () if snapshot is None else (snapshot,)
                truncates = cutoffs_in_order((*known, *report.truncates, *begun))
                plan.truncates[report.id] = truncates
                plan.rewinds[report.id] = rewind(mirrored, truncates)
                self._rows.end_all(mirrored)
            if report.missing is not None and not report.changes_plan and snapshot is None:
                self._look_up(report, report.missing, plan)
        except MirrorError as error:
            if error.retryable:
                raise
            self._park(report, error)
            return False
        self._remove(report)
        return True

    def _note_key_forms(self, report: TargetReports) -> None:
        """Let tables know how their records' keys begin, where they have not met that."""

        def ends() -> dict[int, int]:
            return {partition: end for partition, (_, end) in self._held(report.topic).items()}

        forms = report.news.key_forms
        for target in self._targets_of(report) if forms else ():
            note_key_forms(self._tables[target], forms, ends)

    def _targets_of(self, report: TargetReports) -> list[TargetId]:
        """Name the table of a report; a topic that was new has its tables now."""
        return [report.id] if report.id[1] else self._tables.of_topic(report.topic)

    def _settle(self, mirrored: MirroredTable, key: tuple[str, ...]) -> tuple[str, ...]:
        """Apply all that came before a table's key changed, in a commit of its own.

        A delete names its row by the key of its time, and no other column: under the new key
        nobody could tell which row is meant. So all partitions are read up to the change, as far
        as Kafka holds them. Done twice, the second time finds nothing.

        Args:
            mirrored: The table, under its old key.
            key: Columns of the new one.

        Returns:
            Those of them that some row of the table has no value for.
        """
        target, topic = mirrored.id, mirrored.topic
        plan = BatchPlan(settling=frozenset({target}))
        held, marks = self._held(topic), mirrored.marks
        first = {
            (topic, partition): marks[partition].next_offset if partition in marks else start
            for partition, (start, _) in held.items()
        }
        next_ = {(topic, partition): end for partition, (_, end) in held.items()}
        if held:
            reports = self._write(self._reread(first, next_), plan, [target])
            self._commit(self._evolve(reports, plan), plan)
        if target in self._tables.parked:
            raise self._tables.parked[target]
        return self._rows.lacking(mirrored, key)

    def _look_up(self, report: TargetReports, missing: pa.Table, plan: BatchPlan) -> None:
        """Read what changes leave out, of rows whose key was changed under the old one."""
        mirrored = self._tables[report.id]
        decode = self._plans.decode_plan(report.id)
        moves: dict[int, dict[int, Key]] = {}
        for partition, offset in report.moved:
            header = self._old_keys(report.topic, partition, offset)
            old = old_key(header, decode) if header is not None else None
            if old is not None:
                moves.setdefault(partition, {})[offset] = old
        if moves:
            plan.moves[report.id] = moves
            missing = with_keys(missing, [o for part in moves.values() for o in part.values()])
        plan.rows[report.id] = self._rows.read(mirrored, missing)

    def _write_again(self, reports: Collection[TargetReports], plan: BatchPlan) -> Reports:
        """Write the records of some tables once more."""
        if not reports:
            return {}
        parts = [part for report in reports for part in report.partitions]
        first = {(p.topic, p.partition): p.first_offset for p in parts}
        next_ = {(p.topic, p.partition): p.next_offset for p in parts}
        for report in reports:
            for partition, mark in plan.rewinds.get(report.id, {}).items():
                place = report.topic, partition
                first[place] = min(mark.next_offset, first.get(place, mark.next_offset))
                next_.setdefault(place, self._tables[report.id].marks[partition].next_offset)
        only = [target for report in reports for target in self._targets_of(report)]
        return self._write(self._reread(first, next_), plan, only)

    def _commit(self, reports: Reports, plan: BatchPlan) -> list[TargetReports]:
        """Step 4: commit the tables; one that somebody else changed meanwhile is written again."""
        committed: list[TargetReports] = []
        for attempt in range(MOST_CONFLICTS + 1):
            done, lost = self._commit_all(reports.values(), plan)
            committed += done
            if not lost:
                break
            if attempt == MOST_CONFLICTS:
                raise next(iter(lost.values()))
            for target, conflict in lost.items():
                logger.warning("written again table=%s reason=%s", target[1], conflict)
                self._remove_rows(reports[target])
                self._tables[target].reopen()
                plan.forget(target)
            reports = self._evolve(
                self._write_again([reports[target] for target in lost], plan), plan
            )
        return committed

    def _commit_all(
        self, reports: Iterable[TargetReports], plan: BatchPlan
    ) -> tuple[list[TargetReports], dict[TargetId, CommitConflictError]]:
        """Commit tables side by side; give those that are done, and those that lost a race."""
        pending = [r for r in reports if r.id in self._tables and r.progress]
        # The ledgers must not pass a bad record before it is safe.
        try:
            self._context.quarantine.commit(
                part for report in pending for part in report.partitions
            )
        except CommitConflictError as conflict:  # those that are new are told by the next attempt
            for report in pending:
                self._remove_bad(report)
            return [], {report.id: conflict for report in pending}
        retry: MirrorError | None = None
        committed, lost = [], {}
        with ThreadPoolExecutor(COMMIT_THREADS, thread_name_prefix="commit") as threads:
            futures = {
                report.id: threads.submit(
                    self._table_commit,
                    self._tables[report.id],
                    report,
                    plan.truncates.get(report.id, ()),
                )
                for report in pending
            }
            for report in pending:
                try:
                    futures[report.id].result()
                    committed.append(report)
                except CommitConflictError as conflict:
                    lost[report.id] = conflict
                except MirrorError as error:
                    if error.retryable:
                        retry = error
                    else:
                        self._remove_rows(report)
                        self._tables.park(report.id, error)
        if retry is not None:
            raise retry
        return committed, lost

    def _observe(
        self, batch: int, committed: list[TargetReports], started: float, written: float
    ) -> tuple[BatchProgress, set[str]]:
        """Step 5: say what the batch did."""
        progress = BatchProgress(
            batch=batch,
            tables=len(committed),
            account=reduce(Account.__add__, (r.account for r in committed), Account()),
            write_seconds=written - started,
            commit_seconds=time.monotonic() - written,
        )
        logger.info("%s", progress)
        for report in committed:
            self._context.parked.resume(report.id)
        self._context.parked.save()
        return progress, {str(report.id[1]) for report in committed}

    def _park(self, report: TargetReports, reason: MirrorError) -> None:
        self._remove(report)
        self._tables.park(report.id, reason)

    def _remove(self, report: TargetReports) -> None:
        """Delete the files of a pass that is done again or given up, and of which none counts."""
        self._remove_rows(report)
        self._remove_bad(report)

    def _remove_bad(self, report: TargetReports) -> None:
        """Delete the files of bad records, which are not in quarantine."""
        self._context.quarantine.remove(
            part.quarantined for part in report.partitions if part.quarantined is not None
        )

    def _remove_rows(self, report: TargetReports) -> None:
        """Delete the table's files alone: the bad records are in quarantine already."""
        if report.files:
            remove_files(self._tables[report.id].table, report.files)
