"""Steps 2 and 3 of a batch: its tables' files, written again until nothing is new."""

import pickle
from collections.abc import Collection, Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cdc.collapse import Key
from cdc.decode import OLD_KEY_HEADER, old_key
from cdc.errors import MirrorError, RestlessTopicError
from cdc.model import Cutoff, PartitionReport, TargetId, Unplanned, Unsent, cutoffs_in_order
from cdc.runtime.follow.changed_types import tables_with_changed_types
from cdc.runtime.follow.columns import Settle
from cdc.runtime.stream.batch_tools import BatchTools
from cdc.runtime.stream.findings import BatchFindings
from cdc.runtime.tables.mirrored_table import note_key_forms, replacement, rewind
from cdc.runtime.tables.reports import TargetReports, by_target
from cdc.runtime.tables.table_rows import with_keys
from cdc.runtime.task.write_task import REPORT_SCHEMA, WriteTask
from cdc.state.cutoffs import new_snapshot

# A table is written again after something unplanned; schemas, other types, a truncate, a quarantine
# and rows may come one after the other.
MOST_PASSES = 8
# Small partitions share a task; more tasks than this per core only cost their start.
TASKS_PER_CORE = 4

Reports = dict[TargetId, TargetReports]


class Passes:
    """Writes the files of one batch."""

    def __init__(self, tools: BatchTools, settle: Settle, findings: BatchFindings) -> None:
        """Begin with what is known of the batch beforehand.

        Args:
            tools: The tables, and what reads and writes them.
            settle: Makes a table ready for another key.
            findings: Grow as the records tell more.
        """
        self.findings = findings
        self._tools = tools
        self._tables = tools.context.tables
        self._settle = settle
        self._most_tasks = tools.spark.sparkContext.defaultParallelism * TASKS_PER_CORE

    def write(self, records: DataFrame, only: Collection[TargetId] | None = None) -> Reports:
        """Write the files of all tables, or of some, in one job."""
        task = WriteTask(
            self._tools.context.dialect,
            self._tools.plans.of_batch(self.findings.tables, only),
            frozenset(self._tables.parked_topics),
            self._tools.context.wire,
        )
        spread = spread_over_tasks(records, task.in_one_task, self._most_tasks)
        done = spread.mapInArrow(task, REPORT_SCHEMA).collect()
        parts: list[PartitionReport] = [pickle.loads(row.report) for row in done]
        return by_target(parts)

    def write_again(self, reports: Collection[TargetReports]) -> Reports:
        """Write the records of some tables once more."""
        if not reports:
            return {}
        parts = [part for report in reports for part in report.partitions]
        first = {(p.topic, p.partition): p.first_offset for p in parts}
        next_ = {(p.topic, p.partition): p.next_offset for p in parts}
        for report in reports:
            for number, mark in self.findings.of(report.id).rewinds.items():
                partition = report.topic, number
                first[partition] = min(mark.next_offset, first.get(partition, mark.next_offset))
                next_.setdefault(partition, self._tables[report.id].marks[number].next_offset)
        only = [target for report in reports for target in self._targets_of(report)]
        return self.write(self._tools.log.read(first, next_), only)

    def follow(self, reports: Reports) -> Reports:
        """Let the tables follow what the tasks met, until nothing is new."""
        for _ in range(MOST_PASSES):
            unsettled = {i: report for i, report in reports.items() if self._needs_pass(report)}
            wrong = {} if unsettled else self._changed_types(reports.values())
            if not unsettled and not wrong:
                return self._within_ceilings(reports)
            again = [report for report in unsettled.values() if self._follow(report)]
            again += [reports[i] for i, reason in wrong.items() if self._drop(reports[i], reason)]
            reports = {i: r for i, r in reports.items() if i not in unsettled and i not in wrong}
            reports |= self.write_again(again)
        for report in [r for r in reports.values() if self._needs_pass(r)]:
            self._tools.park(report, report.failure or RestlessTopicError(report.topic))
            del reports[report.id]
        return self._within_ceilings(reports)

    def _changed_types(
        self, reports: Iterable[TargetReports]
    ) -> dict[TargetId, MirrorError | None]:
        schemaless = [report.id for report in reports if report.schemaless]
        tools = self._tools
        return tables_with_changed_types(
            tools.context, tools.columns, schemaless, tools.plans.read_in
        )

    def _needs_pass(self, report: TargetReports) -> bool:
        return report.needs_pass or self._unplanned_cutoff(report) is not None

    def _unplanned_cutoff(self, report: TargetReports) -> Cutoff | None:
        """Tell where something begins that replaces what the table has, unless it is planned.

        A new snapshot, or another table of the same name.
        """
        found = self.findings.of(report.id)
        if report.id not in self._tables or found.replayed:
            return None
        mirrored = self._tables[report.id]
        begun = (replacement(mirrored), new_snapshot(mirrored.ledger, report.snapshots))
        return next((c for c in begun if c is not None and c not in found.cutoffs), None)

    def _follow(self, report: TargetReports) -> bool:
        """Make a table fit; say whether its records are to be written again."""
        failure, cutoff = report.failure, self._unplanned_cutoff(report)
        unplanned = report.unplanned or Unplanned()
        if failure is None and report.unplanned is None and cutoff is None:
            failure = report.unreadable
        try:
            if failure is not None:
                raise failure
            key = self._tables[report.id].key if report.id in self._tables else None
            self._tools.follower.follow(report.id, unplanned, self._settle)
            for target in self._tables.of_topic(report.topic):
                self._tools.rows.fill_defaults(self._tables[target])
            if key is not None and self._tables[report.id].key != key:
                # What was found out of its records was so under the old key.
                self.findings = self.findings.without_state_of(report.id)
                self._tools.remove(report)
                return True
            self._note_key_forms(report, unplanned)
            if unplanned.truncates or cutoff is not None:
                self._cut(report.id, (*unplanned.truncates, *([] if cutoff is None else [cutoff])))
            if unplanned.unsent is not None and not unplanned.changes_plan and cutoff is None:
                self._look_up(report, unplanned.unsent)
        except MirrorError as error:
            if error.retryable:
                raise
            self._tools.park(report, error)
            return False
        self._tools.remove(report)
        return True

    def _cut(self, target: TargetId, more: Collection[Cutoff]) -> None:
        """Take cutoffs into what is known, and see which partitions are ahead of them."""
        mirrored = self._tables[target]
        cutoffs = cutoffs_in_order((*self.findings.of(target).cutoffs, *more))
        rewinds = rewind(mirrored, cutoffs)
        self.findings = self.findings.adding(target, cutoffs=cutoffs, rewinds=rewinds)
        self._tools.rows.end_all(mirrored)

    def _note_key_forms(self, report: TargetReports, unplanned: Unplanned) -> None:
        """Let tables know how their records' keys begin, where they have not met that."""

        def ends() -> dict[int, int]:
            ranges = self._tools.log.ranges(report.topic)
            return {partition: held.next for partition, held in ranges.items()}

        forms = unplanned.key_forms
        for target in self._targets_of(report) if forms else ():
            note_key_forms(self._tables[target], forms, ends)

    def _targets_of(self, report: TargetReports) -> list[TargetId]:
        """Name the table of a report; a topic that was new has its tables now."""
        return [report.id] if report.id[1] else self._tables.of_topic(report.topic)

    def _look_up(self, report: TargetReports, unsent: Unsent) -> None:
        """Read what changes leave out, of rows whose key was changed under the old one."""
        mirrored = self._tables[report.id]
        decode = self._tools.plans.decode_plan(report.id)
        values = unsent.values
        moves: dict[int, dict[int, Key]] = {}
        for partition, offset in unsent.moved:
            header = self._tools.log.header(report.topic, partition, offset, OLD_KEY_HEADER)
            old = old_key(header, decode) if header is not None else None
            if old is not None:
                moves.setdefault(partition, {})[offset] = old
        if moves:
            self.findings = self.findings.adding(report.id, moves=moves)
            values = with_keys(values, [o for part in moves.values() for o in part.values()])
        rows = self._tools.rows.read(mirrored, values)
        self.findings = self.findings.adding(report.id, rows=rows)

    def _drop(self, report: TargetReports, reason: MirrorError | None) -> bool:
        """Drop what was read wrong; say whether it can be read again."""
        if reason is not None:
            self._tools.park(report, reason)
        else:
            self._tools.remove(report)
        return reason is None

    def _within_ceilings(self, reports: Reports) -> Reports:
        """Park the tables of which more is bad than the quarantine is for."""
        kept: Reports = {}
        for target, report in reports.items():
            known = target in self._tables
            excess = report.excess(self._tables[target].rule.max_quarantined) if known else None
            if excess is None:
                kept[target] = report
            else:
                self._tools.park(report, excess)
        return kept


def spread_over_tasks(
    records: DataFrame, in_one_task: Collection[str], most_tasks: int
) -> DataFrame:
    """Bring small partitions together, and all records of some topics into one task of their own.

    No partition is cut or shuffled: its records stay in their order. Where there are such topics,
    what is not theirs is read beside them, and so the records come from Kafka twice.
    """
    if not in_one_task:
        return records.coalesce(most_tasks)
    theirs = F.col("topic").isin(sorted(in_one_task))
    return records.where(~theirs).coalesce(most_tasks).union(records.where(theirs).coalesce(1))
