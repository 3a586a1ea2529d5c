"""What a mode makes of the changes of a batch: four objects, and nothing else asks for the mode."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from cdc.collapse.append import log_rows
from cdc.collapse.collapse import CollapsedChanges, collapse
from cdc.collapse.cutoffs import after_cutoff, with_deletes_at
from cdc.collapse.fill import fill
from cdc.collapse.history import last_versions, versions
from cdc.collapse.keys import of_touched_keys
from cdc.collapse.replayed import without_applied
from cdc.collapse.soft import collapse_soft, mark_deletes
from cdc.config import ApplyMode, ResolvedRule
from cdc.model import CURRENT, Cutoff, PartitionMark


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What changes are applied to: a table as it is, and what a batch knows of it."""

    key: tuple[str, ...]
    partition: int | None = None  # None for changes of all partitions, cut off already
    mark: PartitionMark | None = None  # how far the partition has been applied
    empty: bool = False  # the table has no row
    cutoffs: tuple[Cutoff, ...] = ()  # of the batch, in their order
    rows: pa.Table | None = None  # that were looked up in the table
    survivors: pa.Table | None = None  # changes that a history has, and is not to be ended by
    inserts_are_new: bool = True  # an insert is one of a row that is not there
    replayed: bool = False  # the changes may have been applied before


class Mode(ABC):
    """What a change does to a table."""

    # Every change is a row, and none takes the place of another.
    is_log = False
    # What a row was stays, with the times at which it was so; it is not made again.
    keeps_versions = False
    # Rows from before a cutoff are removed, and not kept as ended ones.
    wipes = False
    # Rows tell when their changes were made.
    is_timed = False
    # Of a key's rows only those with yes in this column are ever replaced.
    replaceable: str | None = None

    def delete_key(self, key: Sequence[str]) -> tuple[str, ...]:
        """Give the columns by which an equality delete finds its row."""
        return (*key, *([] if self.replaceable is None else [self.replaceable]))

    def first_cutoff(self, cutoffs: Sequence[Cutoff]) -> Cutoff:
        """Give the cutoff from which on partitions that are ahead are read again."""
        return cutoffs[-1]  # whatever came before it goes

    def cut(
        self, changes: pa.Table, at: Circumstances, current: pa.Table | None = None
    ) -> pa.Table:
        """Let the cutoffs of a batch end rows that the changes of a partition made before them.

        Args:
            changes: The changes.
            at: What they are applied to.
            current: Rows of the table whose keys have changes here, and which they end too.
        """
        if not at.cutoffs or at.partition is None:
            return changes
        return with_deletes_at(changes, at.key, at.partition, at.cutoffs, current, at.survivors)

    @abstractmethod
    def collapse(self, changes: pa.Table, at: Circumstances) -> CollapsedChanges:
        """Give the rows to write and the keys to delete. What is unsent stays named.

        Args:
            changes: Those of one partition, or of all.
            at: What they are applied to.
        """


class _Mirror(Mode):
    """The current state of the source's rows."""

    wipes = True

    def cut(
        self, changes: pa.Table, at: Circumstances, current: pa.Table | None = None
    ) -> pa.Table:
        if not at.cutoffs or at.partition is None:
            return changes
        return after_cutoff(changes, at.partition, at.cutoffs[-1])

    def collapse(self, changes: pa.Table, at: Circumstances) -> CollapsedChanges:
        return collapse(
            fill(self.cut(changes, at), at.key, at.rows),
            at.key,
            at.mark,
            empty=at.empty or bool(at.cutoffs),
            inserts_are_new=at.inserts_are_new,
            looked_up=at.rows is not None,
        )


class _SoftMirror(Mode):
    """The current state of the rows, and those that were deleted, marked."""

    def collapse(self, changes: pa.Table, at: Circumstances) -> CollapsedChanges:
        filled = fill(mark_deletes(self.cut(changes, at), at.key), at.key, at.rows)
        return collapse_soft(filled, at.key, empty=at.empty, looked_up=at.rows is not None)


class _Log(Mode):
    """Every change."""

    is_log = True
    is_timed = True

    def cut(
        self, changes: pa.Table, at: Circumstances, current: pa.Table | None = None
    ) -> pa.Table:
        return changes  # a truncate is one more row

    def collapse(self, changes: pa.Table, at: Circumstances) -> CollapsedChanges:
        assert at.partition is not None
        return log_rows(fill(changes, at.key, at.rows), at.partition)


class _History(Mode):
    """Every version of a row."""

    keeps_versions = True
    is_timed = True
    replaceable = CURRENT

    def first_cutoff(self, cutoffs: Sequence[Cutoff]) -> Cutoff:
        return cutoffs[0]  # of each it is asked which versions are newer

    def collapse(self, changes: pa.Table, at: Circumstances) -> CollapsedChanges:
        newest = current = None
        if at.rows is not None:
            # What was looked up is for all partitions; a version is ended by one of them.
            newest = last_versions(of_touched_keys(at.rows, changes, at.key), at.key)
            current = newest.filter(newest[CURRENT]) if at.cutoffs else None
        changes = fill(self.cut(changes, at, current), at.key, newest)
        if at.replayed and newest is not None:
            changes = without_applied(changes, at.key, newest)
        return versions(changes, at.key, at.mark, newest)


MIRROR, SOFT_MIRROR, LOG, HISTORY = _Mirror(), _SoftMirror(), _Log(), _History()


def mode_of(rule: ResolvedRule) -> Mode:
    """Give the mode that a table's rule asks for."""
    if rule.mode is ApplyMode.MIRROR:
        return SOFT_MIRROR if rule.soft else MIRROR
    return {ApplyMode.APPEND: LOG, ApplyMode.HISTORY: HISTORY}[rule.mode]
