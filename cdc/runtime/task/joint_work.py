"""The records of all partitions of a topic, written as if they had come through one.

When a topic gets more partitions, the changes of a key go on in another one. Until everything from
before is applied, a batch may hold changes of one key in two partitions, of which Kafka does not
say which is newer. The source position does: between changes of one row it only rises.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cdc.collapse import after_cutoff, with_deletes_at
from cdc.model import OFFSET, POSITION, PartitionMark, PartitionReport
from cdc.runtime.task.partition import PartitionWork
from cdc.runtime.task.table_writer import TableWriter, WrittenChanges


def finish_jointly(works: Sequence[PartitionWork]) -> list[PartitionReport]:
    """Write the changes of several partitions of one table; the first report has the files."""
    blocked = [work.blocked() for work in works]
    if any(blocked):
        return [report or work.report() for report, work in zip(blocked, works, strict=True)]
    parts = [part for work in works if (part := _bounded(work)) is not None and len(part)]
    first, *others = works
    for work in others:  # all changes are counted in the first report
        first.extra += work.extra
        work.extra = 0
    report = first.guarded(lambda: _write(works, parts))
    if report.news is not None or report.failure is not None:
        return [report, *(work.report() for work in others)]
    return [report, *(_finish_empty(work) for work in others)]


def _finish_empty(work: PartitionWork) -> PartitionReport:
    return work.guarded(lambda: work.report_written(WrittenChanges()))


def _bounded(work: PartitionWork) -> pa.Table | None:
    """Apply a truncate of the batch to one partition's changes."""
    changes, plan = work.joined_changes(), work.plan
    if changes is None or plan.truncate is None or not plan.bounded:
        return changes
    if plan.rule.wipes:
        kept = after_cutoff(changes, work.partition, plan.truncate)
        work.wiped += len(changes) - len(kept)
        return kept
    ended = with_deletes_at(changes, plan.key, work.partition, plan.truncates)
    work.extra += len(ended) - len(changes)  # what stands for a truncate is no record
    return ended


def _write(works: Sequence[PartitionWork], parts: Sequence[pa.Table]) -> PartitionReport:
    first = works[0]
    if not parts:
        return first.report_written(WrittenChanges())
    plan = first.plan
    emptied = plan.truncate is not None and plan.rule.wipes
    writer = TableWriter(
        first.topic,
        None,
        _furthest(works),
        replace(plan, truncates=(), empty=plan.empty or emptied),
    )
    return first.report_written(writer.write(_in_order(parts)))


def _in_order(parts: Sequence[pa.Table]) -> pa.Table:
    """Join changes by source position, and number them as if those were offsets."""
    changes = pa.concat_tables(parts, promote_options="default")
    order = np.argsort(changes[POSITION].to_numpy(), kind="stable")
    changes = changes.take(pa.array(order))
    numbers = pa.array(np.arange(len(changes)))
    return changes.set_column(changes.column_names.index(OFFSET), OFFSET, numbers)


def _furthest(works: Sequence[PartitionWork]) -> PartitionMark | None:
    starts = [work.start for work in works]
    marks = [mark for mark in starts if mark is not None]
    return max(marks, key=lambda mark: mark.position, default=None)
