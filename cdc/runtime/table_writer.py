"""The changes of one topic partition as files of one table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdc.config import ApplyMode, DeleteKind
from cdc.errors import MissingValueError
from cdc.model import MISSING, FileKind, WrittenFile
from cdc.plan import (
    CollapsedChanges,
    after_truncate,
    collapse,
    collapse_soft,
    fill,
    lacking,
    log_rows,
    mark_deletes,
    with_deletes_at,
)
from cdc.runtime.target_plan import TargetPlan

# Key columns whose bounds keep a MERGE from reading the whole table.
BOUNDED = (pa.types.is_integer, pa.types.is_string)


@dataclass(frozen=True, slots=True)
class WrittenChanges:
    """What became of changes: files and counts, or a wish."""

    files: tuple[WrittenFile, ...] = ()
    applied: int = 0
    superseded: int = 0
    replaces: bool = False
    key_bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    # Keys of changes that leave out values, and the names of those: only the driver can look.
    wanted: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class TableWriter:
    """Writes the changes of one partition as its table's rule wants them."""

    topic: str
    partition: int
    plan: TargetPlan

    def write(self, changes: pa.Table) -> WrittenChanges:
        """Collapse changes and write what they leave.

        Raises:
            MissingValueError: A change leaves out a value that nobody has.
        """
        rows = self.plan.rows
        collapsed = self._collapsed(changes, rows)
        wanted = lacking(collapsed.live, self.plan.key)
        if wanted is not None and rows is None:
            return WrittenChanges(wanted=wanted)
        if wanted is not None:
            raise MissingValueError(self.topic, wanted[MISSING][0].as_py()[0])
        return WrittenChanges(
            files=tuple(self._files(collapsed)),
            applied=len(changes) - collapsed.superseded,
            superseded=collapsed.superseded,
            replaces=len(collapsed.replaced) > 0,
            key_bounds=bounds_of(changes, self.plan.key),
        )

    def _collapsed(self, changes: pa.Table, rows: pa.Table | None) -> CollapsedChanges:
        """Give the rows to write and the keys to replace, in the table's mode."""
        plan, key = self.plan, self.plan.key
        if plan.rule.mode is ApplyMode.APPEND:
            return log_rows(fill(changes, key, rows), self.partition)
        if plan.rule.soft:
            if plan.truncate is not None:
                changes = with_deletes_at(changes, key, self.partition, plan.truncate)
            filled = fill(mark_deletes(changes, key), key, rows)
            return collapse_soft(filled, key, empty=plan.empty, looked_up=rows is not None)
        before = len(changes)
        if plan.truncate is not None:
            changes = after_truncate(changes, self.partition, plan.truncate)
        collapsed = collapse(
            fill(changes, key, rows),
            key,
            plan.marks.get(self.partition),
            empty=plan.empty or plan.truncate is not None,
            exact_snapshot=plan.decode.dialect.exact_snapshot,
            looked_up=rows is not None,
        )
        wiped = before - len(changes)
        return replace(collapsed, superseded=collapsed.superseded + wiped)

    def _files(self, collapsed: CollapsedChanges) -> Iterator[WrittenFile]:
        plan = self.plan
        assert plan.writer is not None
        if len(collapsed.live):
            for written in plan.writer.write_rows(collapsed.live, self.partition):
                yield written.file
        if plan.rule.deletes is DeleteKind.EQUALITY:
            kind, keys = FileKind.EQUALITY_DELETES, collapsed.replaced
        else:
            kind, keys = FileKind.DELETED_KEYS, collapsed.replaced
        if len(keys):
            yield plan.writer.write_keys(kind, keys, plan.key)


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
