"""Changes of one topic partition, or of all, as files of one table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse import (
    Circumstances,
    CollapsedChanges,
    fill,
    take_over,
    touched_keys,
    unsent_inserts,
    unsent_values,
)
from cdc.config import DeleteKind
from cdc.errors import MissingValueError
from cdc.model import MISSING, FileKind, PartitionMark, Unsent, WrittenFile
from cdc.runtime.task.row_finder import RowFinder
from cdc.runtime.task.tally import Offsets
from cdc.runtime.task.target_plan import TargetPlan

# Key columns whose bounds keep a MERGE from reading the whole table.
BOUNDED = (pa.types.is_integer, pa.types.is_string)


def _none() -> Offsets:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class WrittenChanges:
    """What became of changes: files, and the offsets of those that count."""

    files: tuple[WrittenFile, ...] = ()
    applied: Offsets = field(default_factory=_none)
    key_bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)


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
        self._partition = partition
        # Since a record was put aside, its key may have moved to another partition.
        self._lane = None if plan.findings.replayed else partition
        self._mark = mark
        self._plan = plan
        self._mode = plan.mode
        self._writer = plan.writer
        self._finder: RowFinder | None = None
        if plan.index is not None:
            replaceable = self._mode.replaceable
            self._finder = RowFinder(plan.index, plan.writer, plan.key, partition, replaceable)

    def write(
        self, changes: pa.Table, survivors: pa.Table | None = None
    ) -> WrittenChanges | Unsent:
        """Collapse changes and write what they leave; nothing where only the driver can look.

        Args:
            changes: Those of one partition, or of all.
            survivors: Changes that a history has, and which come again: their rows may be newer
                than a cutoff.

        Raises:
            MissingValueError: A change leaves out a value that nobody has.
        """
        plan, rows = self._plan, self._plan.findings.rows
        moves = {} if self._partition is None else plan.findings.moves.get(self._partition, {})
        changes = take_over(changes, plan.key, moves, rows)
        if self._mode.keeps_versions and rows is None and not plan.empty:
            # The index does not tell whether the row that it finds is a deleted one.
            return self._to_look_up(changes, self._every_value(changes))
        collapsed = self._collapsed(changes, rows, survivors)
        unsent = unsent_values(collapsed.rows, plan.key)
        if unsent is not None and rows is None and not plan.empty:
            to_look_up = self._to_look_up(changes, unsent)
            rows = self._look_up(unsent)
            if rows is None:
                return to_look_up
            collapsed = self._collapsed(changes, rows, survivors)
            unsent = unsent_values(collapsed.rows, plan.key)
            if unsent is not None and to_look_up.moved:
                return to_look_up
        if unsent is not None:
            raise MissingValueError(self._topic, unsent[MISSING][0].as_py()[0])
        return WrittenChanges(
            files=tuple(self._files(collapsed)),
            applied=collapsed.applied,
            key_bounds=bounds_of(changes, plan.key),
        )

    def _to_look_up(self, changes: pa.Table, unsent: pa.Table) -> Unsent:
        """Name values for the driver to look up, and rows that may have them under another key."""
        if self._partition is None:
            return Unsent(unsent)
        moved = unsent_inserts(fill(changes, self._plan.key))
        return Unsent(unsent, tuple((self._partition, offset) for offset in moved))

    def _every_value(self, changes: pa.Table) -> pa.Table:
        """Name all columns of the table for every key that has a change."""
        keys = touched_keys(changes, self._plan.key)
        names = [name for name in self._writer.schema.names if name not in self._plan.key]
        unsent = pa.repeat(pa.scalar(names, pa.list_(pa.string())), len(keys))
        return keys.append_column(MISSING, unsent)

    def _look_up(self, unsent: pa.Table) -> pa.Table | None:
        """Read what changes leave out; None where only the driver can."""
        if self._finder is None:
            return None
        names = pc.unique(unsent[MISSING].combine_chunks().flatten()).to_pylist()
        return self._finder.rows(touched_keys(unsent, self._plan.key), names)

    def _collapsed(
        self, changes: pa.Table, rows: pa.Table | None, survivors: pa.Table | None
    ) -> CollapsedChanges:
        """Give the rows to write and the keys to delete, in the table's mode."""
        plan = self._plan
        circumstances = Circumstances(
            key=plan.key,
            partition=self._partition,
            mark=self._mark,
            empty=plan.empty,
            cutoffs=plan.findings.cutoffs,
            rows=rows,
            survivors=survivors,
            inserts_are_new=plan.inserts_are_new,
            replayed=plan.findings.replayed,
        )
        return self._mode.collapse(changes, circumstances)

    def _files(self, collapsed: CollapsedChanges) -> Iterator[WrittenFile]:
        """Write the rows, and whatever makes the rows go that they replace."""
        rows, keys = collapsed.rows, collapsed.deleted_keys
        if len(keys):
            if self._plan.rule.deletes is DeleteKind.EQUALITY:
                names = self._mode.delete_key(self._plan.key)
                if self._mode.replaceable is not None:
                    yes = pa.repeat(pa.scalar(True), len(keys))
                    keys = keys.append_column(self._mode.replaceable, yes)
                yield self._writer.write_keys(FileKind.EQUALITY_DELETES, keys, names)
            elif self._finder is not None:
                yield from self._writer.write_positions(self._finder.positions(keys))
            else:
                yield self._writer.write_keys(FileKind.DELETED_KEYS, keys, self._plan.key)
        if len(rows):
            for written in self._writer.write_rows(rows, self._lane):
                if self._finder is not None:
                    self._finder.add(written, rows)
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
