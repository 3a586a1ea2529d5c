"""The changes of one topic partition as files of one table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse import (
    CollapsedChanges,
    after_cutoff,
    collapse,
    collapse_soft,
    fill,
    incomplete_inserts,
    lacking,
    last_versions,
    log_rows,
    mark_deletes,
    of_touched_keys,
    take_over,
    touched_keys,
    versions,
    with_deletes_at,
    without_applied,
)
from cdc.config import ApplyMode, DeleteKind
from cdc.errors import MissingValueError
from cdc.model import CURRENT, MISSING, FileKind, PartitionMark, WrittenFile
from cdc.runtime.task.row_finder import RowFinder
from cdc.runtime.task.target_plan import TargetPlan

# Key columns whose bounds keep a MERGE from reading the whole table.
BOUNDED = (pa.types.is_integer, pa.types.is_string)

# Stands for a partition where changes of all partitions are written together.
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class WrittenChanges:
    """What became of changes: files and counts, or a wish."""

    files: tuple[WrittenFile, ...] = ()
    applied: int = 0
    superseded: int = 0
    key_bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    # Keys of changes that leave out values, and the names of those: only the driver can look.
    wanted: pa.Table | None = None
    moved: tuple[int, ...] = ()  # offsets of rows whose key was changed, of which that is true


class TableWriter:
    """Writes the changes of one partition, or of all, as their table's rule wants them."""

    def __init__(
        self, topic: str, partition: int | None, mark: PartitionMark | None, plan: TargetPlan
    ) -> None:
        """Prepare to write.

        Args:
            topic: The changes' topic.
            partition: The changes' partition; None for those of all partitions, in their order.
            mark: How far the changes before these have been applied.
            plan: What is known of the table.
        """
        assert plan.writer is not None
        self._topic = topic
        self._partition = NOWHERE if partition is None else partition
        # Since a record was put aside, its key may have moved to another partition.
        self._lane = None if plan.replayed else partition
        self._mark = mark
        self._plan = plan
        self._writer = plan.writer
        self._history = plan.rule.mode is ApplyMode.HISTORY
        # Of a key's versions only the current one is ever replaced.
        only = CURRENT if self._history else None
        self._finder: RowFinder | None = None
        if plan.index is not None:
            place = self._partition
            self._finder = RowFinder(plan.index, plan.writer, plan.key, place, only)

    def write(self, changes: pa.Table, reread: pa.Table | None = None) -> WrittenChanges:
        """Collapse changes and write what they leave.

        Args:
            changes: Those of one partition, or of all.
            reread: The places of changes from which current versions of a history come.

        Raises:
            MissingValueError: A change leaves out a value that nobody has.
        """
        plan = self._plan
        rows = plan.rows
        moves = plan.moves.get(self._partition, {})
        changes = take_over(changes, plan.key, moves, rows)
        if self._history and rows is None and not plan.empty:
            # The index does not tell whether the row that it finds is a deleted one.
            return self._wish(changes, self._every_column(changes))
        collapsed = self._collapsed(changes, rows, reread)
        wanted = lacking(collapsed.live, plan.key)
        if wanted is not None and rows is None and not plan.empty:
            wish = self._wish(changes, wanted)
            rows = self._look_up(wanted)
            if rows is None:
                return wish
            collapsed = self._collapsed(changes, rows, reread)
            wanted = lacking(collapsed.live, plan.key)
            if wanted is not None and wish.moved:
                return wish
        if wanted is not None:
            raise MissingValueError(self._topic, wanted[MISSING][0].as_py()[0])
        return WrittenChanges(
            files=tuple(self._files(collapsed)),
            applied=len(changes) - collapsed.superseded,
            superseded=collapsed.superseded,
            key_bounds=bounds_of(changes, plan.key),
        )

    def _wish(self, changes: pa.Table, wanted: pa.Table) -> WrittenChanges:
        filled = fill(changes, self._plan.key)
        return WrittenChanges(wanted=wanted, moved=incomplete_inserts(filled))

    def _every_column(self, changes: pa.Table) -> pa.Table:
        """Name all columns of the table for every key that has a change."""
        keys = touched_keys(changes, self._plan.key)
        names = [name for name in self._writer.schema.names if name not in self._plan.key]
        wanted = pa.repeat(pa.scalar(names, pa.list_(pa.string())), len(keys))
        return keys.append_column(MISSING, wanted)

    def _look_up(self, wanted: pa.Table) -> pa.Table | None:
        """Read what changes leave out; None where only the driver can."""
        if self._finder is None:
            return None
        names = pc.unique(wanted[MISSING].combine_chunks().flatten()).to_pylist()
        return self._finder.rows(touched_keys(wanted, self._plan.key), names)

    def _collapsed(
        self, changes: pa.Table, rows: pa.Table | None, reread: pa.Table | None
    ) -> CollapsedChanges:
        """Give the rows to write and the keys to replace, in the table's mode."""
        plan, key = self._plan, self._plan.key
        if plan.rule.mode is ApplyMode.APPEND:
            return log_rows(fill(changes, key, rows), self._partition)
        if self._history or plan.rule.soft:
            newest = None
            if self._history and rows is not None:
                # What was looked up is for all partitions; a version is ended by one of them.
                newest = last_versions(of_touched_keys(rows, changes, key), key)
            if plan.truncates:
                current = newest.filter(newest[CURRENT]) if newest is not None else None
                changes = with_deletes_at(
                    changes, key, self._partition, plan.truncates, current, reread
                )
            if self._history:
                return self._versions(fill(changes, key, newest), newest)
            filled = fill(mark_deletes(changes, key), key, rows)
            return collapse_soft(filled, key, empty=plan.empty, looked_up=rows is not None)
        before = len(changes)
        if plan.truncate is not None:
            changes = after_cutoff(changes, self._partition, plan.truncate)
        collapsed = collapse(
            fill(changes, key, rows),
            key,
            self._mark,
            empty=plan.empty or plan.truncate is not None,
            exact_snapshot=plan.exact,
            looked_up=rows is not None,
        )
        wiped = before - len(changes)
        return replace(collapsed, superseded=collapsed.superseded + wiped)

    def _versions(self, changes: pa.Table, newest: pa.Table | None) -> CollapsedChanges:
        """Make versions; of a replay that was cut off, those that are there are not made again."""
        plan, known = self._plan, 0
        if plan.replayed and newest is not None:
            left = without_applied(changes, plan.key, newest)
            known = len(changes) - len(left)
            changes = left
        made = versions(changes, plan.key, self._mark, newest)
        return replace(made, superseded=made.superseded + known)

    def _files(self, collapsed: CollapsedChanges) -> Iterator[WrittenFile]:
        """Write the rows, and whatever makes the rows go that they replace."""
        live, replaced = collapsed.live, collapsed.replaced
        if len(replaced):
            if self._plan.rule.deletes is DeleteKind.EQUALITY:
                names = self._plan.delete_key
                if self._history:  # of all versions of a key, the current one goes
                    replaced = replaced.append_column(
                        CURRENT, pa.repeat(pa.scalar(True), len(replaced))
                    )
                yield self._writer.write_keys(FileKind.EQUALITY_DELETES, replaced, names)
            elif self._finder is not None:
                yield from self._writer.write_positions(self._finder.positions(replaced))
            else:
                yield self._writer.write_keys(FileKind.DELETED_KEYS, replaced, self._plan.key)
        if len(live):
            for written in self._writer.write_rows(live, self._lane):
                if self._finder is not None:
                    self._finder.add(written, live)
                yield written.file


def bounds_of(changes: pa.Table, key: tuple[str, ...]) -> dict[str, tuple[Any, Any]]:
    """Give the least and the greatest value of the key columns that bounds help with."""
    bounds = {}
    for name in key:
        column = changes[name]
        if any(is_kind(column.type) for is_kind in BOUNDED):
            ends = pc.min_max(column).as_py()
            if ends["min"] is not None:
                bounds[name] = (ends["min"], ends["max"])
    return bounds
