"""What is left of the records of a table, written: of each partition by itself, or of all at once.

When a topic gets more partitions, the changes of a key go on in another one. Until everything from
before is applied, a batch may hold changes of one key in two partitions, of which Kafka does not
say which is newer. The source position does: between changes of one row it only rises. So such
changes are written as if they had come through one partition.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from cdc.collapse import Circumstances
from cdc.errors import MirrorError, UnwritableError
from cdc.model import (
    OFFSET,
    POSITION,
    Failed,
    Outcome,
    PartitionMark,
    PartitionReport,
    Unplanned,
    Unsent,
    Written,
)
from cdc.runtime.task.changes_to_write import ChangesToWrite, changes_to_write, survivors_to_keep
from cdc.runtime.task.partition import PartitionRecords
from cdc.runtime.task.table_writer import TableWriter, WrittenChanges
from cdc.runtime.task.tally import Offsets
from cdc.runtime.task.target_plan import TargetPlan

Result = TypeVar("Result")
Numbers = np.ndarray[Any, np.dtype[np.int64]]


def finish(records: PartitionRecords) -> PartitionReport:
    """Write what the records of one partition leave of each key."""
    outcome = records.stopped
    if outcome is None:
        outcome = _guarded(records, partial(_write, records))
    return records.report(outcome)


def finish_together(parts: Sequence[PartitionRecords]) -> list[PartitionReport]:
    """Write the changes of several partitions of one table; the first report has the files."""
    stopped = [records.stopped for records in parts]
    outcomes = stopped if any(stopped) else _write_together(parts)
    # Those that nothing stops wait for the others.
    return [
        records.report(outcome or Unplanned())
        for records, outcome in zip(parts, outcomes, strict=True)
    ]


def _guarded(records: PartitionRecords, write: Callable[[], Result]) -> Result | Failed:
    """Write, and tell what goes wrong with it."""
    try:
        return write()
    except MirrorError as error:
        return Failed(error)
    except pa.ArrowException as error:  # an OSError, such as a full disk, is none of these
        return Failed(UnwritableError(records.topic, records.partition, str(error)))


def _write(records: PartitionRecords) -> Outcome:
    part = changes_to_write(records)
    done: WrittenChanges | Unsent = WrittenChanges()
    if part.changes is not None and len(part.changes):
        mark = records.mark if records.plan.mode.keeps_versions else records.start
        writer = TableWriter(records.topic, records.partition, mark, records.plan)
        done = writer.write(part.changes, part.survivors)
    if isinstance(done, Unsent):
        return Unplanned(unsent=done)
    return _written(records, part, done)


def _written(records: PartitionRecords, part: ChangesToWrite, done: WrittenChanges) -> Written:
    """Tell what was written of one partition; the bad records are written last."""
    plan = records.plan
    # A truncate that wipes nothing new counts for nothing; in a log it is a row.
    last = [c for c in records.discoveries.truncates if c == plan.findings.cutoff]
    truncated = [] if plan.mode.is_log else [cutoff.offset for cutoff in last]
    applied = np.concatenate([done.applied, np.array(truncated, np.int64)])
    return Written(
        account=records.tally.account(applied, records.bad.offsets),
        position=part.position,
        files=done.files,
        key_bounds=done.key_bounds,
        quarantined=records.bad.write(plan.quarantine, records.partition, plan.name),
        survivors=survivors_to_keep(records, part.survivors),
    )


def _write_together(parts: Sequence[PartitionRecords]) -> Sequence[Outcome | None]:
    """Write the changes of all partitions, and tell of each what became of its records."""
    done = _guarded(parts[0], partial(_write_merged, parts))
    if isinstance(done, Unplanned | Failed):
        return [done, *([None] * (len(parts) - 1))]
    return [
        _guarded(records, partial(_written, records, *own))
        for records, own in zip(parts, done, strict=True)
    ]


def _write_merged(
    parts: Sequence[PartitionRecords],
) -> list[tuple[ChangesToWrite, WrittenChanges]] | Unplanned:
    """Write all changes as those of one partition, and tell which of each partition count."""
    left = [changes_to_write(records) for records in parts]
    merged = _merged([_cut(records, part) for records, part in zip(parts, left, strict=True)])
    if merged is None:
        return [(part, WrittenChanges()) for part in left]
    plan = _without_cutoffs(parts[0].plan)
    done = TableWriter(parts[0].topic, None, _furthest(parts), plan).write(merged.changes)
    if isinstance(done, Unsent):
        return Unplanned(unsent=done)
    first, *others = (merged.applied_of(number, done.applied) for number in range(len(parts)))
    written = [replace(done, applied=first), *(WrittenChanges(applied=own) for own in others)]
    return list(zip(left, written, strict=True))


def _cut(records: PartitionRecords, part: ChangesToWrite) -> pa.Table | None:
    """Let the cutoffs of the batch end what one partition's changes made before them."""
    plan = records.plan
    at = Circumstances(key=plan.key, partition=records.partition, cutoffs=plan.findings.cutoffs)
    return None if part.changes is None else plan.mode.cut(part.changes, at)


def _without_cutoffs(plan: TargetPlan) -> TargetPlan:
    """Give the plan of a table whose changes are cut off already."""
    emptied = plan.mode.wipes and bool(plan.findings.cutoffs)
    findings = replace(plan.findings, cutoffs=())
    return replace(plan, findings=findings, empty=plan.empty or emptied)


@dataclass(frozen=True, slots=True)
class _Merged:
    """The changes of several partitions by source position, numbered as if those were offsets."""

    changes: pa.Table
    # Of each change the number of its part, and the offset that it has there.
    part: Numbers
    offset: Offsets

    def applied_of(self, part: int, numbers: Numbers) -> Offsets:
        """Give the offsets of those changes that are of one part."""
        offsets: Offsets = self.offset[numbers[self.part[numbers] == part]]
        return offsets


def _merged(tables: Sequence[pa.Table | None]) -> _Merged | None:
    there = [(number, table) for number, table in enumerate(tables) if table is not None]
    if not any(len(table) for _, table in there):
        return None
    changes = pa.concat_tables([table for _, table in there], promote_options="default")
    part = np.concatenate([np.full(len(table), number) for number, table in there])
    order = np.argsort(changes[POSITION].to_numpy(), kind="stable")
    changes = changes.take(pa.array(order))
    offset = changes[OFFSET].to_numpy()
    numbers = pa.array(np.arange(len(changes)))
    changes = changes.set_column(changes.column_names.index(OFFSET), OFFSET, numbers)
    return _Merged(changes, part[order], offset)


def _furthest(parts: Sequence[PartitionRecords]) -> PartitionMark | None:
    starts = [records.start for records in parts]
    marks = [mark for mark in starts if mark is not None]
    return max(marks, key=lambda mark: mark.position, default=None)
