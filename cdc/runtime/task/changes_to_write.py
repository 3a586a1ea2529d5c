"""The changes of one partition that are left to be written, of all that its records make."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse import after_cutoff, survivors
from cdc.model import NO_POSITION, OFFSET, POSITION
from cdc.runtime.task.partition import PartitionRecords


@dataclass(frozen=True, slots=True)
class ChangesToWrite:
    """The changes of one partition without those that are not applied anyway."""

    changes: pa.Table | None
    # What a history has already, and is not made again: its rows may be newer than a cutoff.
    survivors: pa.Table | None = None
    # Of all changes that were read the greatest.
    position: int = NO_POSITION


def changes_to_write(records: PartitionRecords) -> ChangesToWrite:
    """Join the chunks' changes, without those that an earlier batch's cutoff wiped out."""
    if not records.changes:
        return ChangesToWrite(None)
    plan = records.plan
    changes = pa.concat_tables(records.changes, promote_options="default")
    position = int(pc.max(changes[POSITION]).as_py()) if len(changes) else NO_POSITION
    known = None
    if plan.mode.keeps_versions and records.mark is not None and records.start != records.mark:
        old = pc.less(changes[OFFSET], records.mark.next_offset)
        known = survivors(changes.filter(old), plan.key)
        changes = changes.filter(pc.invert(old))
    pending = plan.pending_cutoff
    if pending is not None and pending.partition != records.partition and not plan.mode.is_log:
        changes = after_cutoff(changes, records.partition, pending)
    return ChangesToWrite(changes, known, position)


def survivors_to_keep(records: PartitionRecords, known: pa.Table | None) -> pa.Table | None:
    """Give where current versions of a history come from that a cutoff may not end.

    What a new snapshot finds unchanged makes no version, and yet is not gone.
    """
    plan = records.plan
    if not plan.mode.keeps_versions or not any(c.is_reload for c in plan.findings.cutoffs):
        return known
    parts = [survivors(changes, plan.key) for changes in records.changes]
    parts += [] if known is None else [known]
    return pa.concat_tables(parts, promote_options="default") if parts else None
