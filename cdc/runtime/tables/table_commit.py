"""Step 4 for one table: its files and its ledger in one commit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from cdc.collapse import mode_of
from cdc.commit import (
    IcebergCatalog,
    RowChange,
    commit_rows,
    read_ledger,
    remove_files,
    set_ledger_property,
    translated,
)
from cdc.errors import AccountError, CatalogError, CommitConflictError
from cdc.model import Cutoff, CutoffCause, FileKind, PartitionMark, Written
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.runtime.tables.reports import TargetReports
from cdc.runtime.tables.table_rows import TableRows
from cdc.sql import merge_changes
from cdc.state.cutoffs import newest_snapshot, pending
from cdc.state.ledger import Ledger


@dataclass(frozen=True, slots=True)
class TableCommit:
    """Commits what the tasks wrote for a table."""

    spark: SparkSession
    mirror: str
    catalog: IcebergCatalog
    rows: TableRows

    def __call__(
        self,
        mirrored: MirroredTable,
        report: TargetReports,
        cutoffs: Sequence[Cutoff],
        *,
        alone: bool = False,
    ) -> None:
        """Commit one table; `alone` only if nobody has written to it since it was opened.

        Run twice, the second run raises a conflict and changes nothing.

        Raises:
            CommitConflictError: Somebody else changed the table; it is as it was without us.
        """
        if not report.account.balanced:
            raise AccountError(report.topic, str(report.account))
        ledger = self._next_ledger(mirrored, report, cutoffs)
        mode = mode_of(mirrored.rule)
        if cutoffs and mode.keeps_versions:
            self.rows.close_others(mirrored, cutoffs, report)
        surely = False
        merged = any(file.kind is FileKind.DELETED_KEYS for file in report.files)
        if merged and alone:
            _expect_unchanged(mirrored)
        if merged:
            with translated(str(mirrored.table.name)):
                merge_changes(
                    self.spark,
                    self.catalog.sql_name(mirrored.table.name),
                    report.files,
                    mirrored.key,
                    _joined_bounds((w for _, w in report.written), mirrored.key),
                    ledger,
                    current_only=mode.keeps_versions,
                )
        else:
            change = RowChange(
                files=report.files,
                ledger=ledger,
                key=mode.delete_key(mirrored.key),
                since=mirrored.table.snapshot_id,
                truncate=bool(cutoffs) and mode.wipes,
                alone=alone,
            )
            surely = commit_rows(mirrored.table, change)
        mirrored.table.refresh()
        if merged:
            set_ledger_property(mirrored.table, ledger)  # the MERGE wrote it into its snapshot
        if read_ledger(mirrored.table) != ledger:
            # The commit is made, and somebody was quick to make another: its files must stay.
            raise CatalogError(str(mirrored.table.name), "a second mirror writes to it")
        mirrored.advance(ledger, report.files if surely else None)
        if merged:
            remove_files(mirrored.table, report.files)  # the MERGE wrote files of its own

    def _next_ledger(
        self, mirrored: MirroredTable, report: TargetReports, cutoffs: Sequence[Cutoff]
    ) -> Ledger:
        old, marks = mirrored.ledger, mirrored.marks
        for part, written in report.written:
            before = marks.get(part.partition, PartitionMark(0))
            marks[part.partition] = PartitionMark(
                max(before.next_offset, part.next_offset), max(before.position, written.position)
            )
        number = old.batch + 1 if old else 0
        newest = cutoffs[-1] if cutoffs else old.pending_cutoff if old else None
        replaced = [cutoff for cutoff in cutoffs if cutoff.cause is CutoffCause.REPLACED]
        return Ledger(
            self.mirror,
            report.topic,
            number,
            marks,
            report.account,
            pending(newest, marks, mirrored.state.lanes.partition_count),
            newest_snapshot(old.snapshot if old else None, (*replaced, *report.snapshots)),
        )


def _expect_unchanged(mirrored: MirroredTable) -> None:
    """See that the table is as it was opened.

    Raises:
        CommitConflictError: Somebody has written to it since.
    """
    opened = mirrored.table.snapshot_id
    mirrored.table.refresh()
    if mirrored.table.snapshot_id != opened:
        raise CommitConflictError(str(mirrored.table.name), "it was written to in the meantime")


def _joined_bounds(
    written: Iterable[Written], key: tuple[str, ...]
) -> dict[str, tuple[object, object]]:
    """Join the partitions' key bounds; a column without bounds somewhere has none."""
    parts = [part.key_bounds for part in written if part.files]
    return {
        name: (min(p[name][0] for p in parts), max(p[name][1] for p in parts))
        for name in key
        if parts and all(name in p for p in parts)
    }
