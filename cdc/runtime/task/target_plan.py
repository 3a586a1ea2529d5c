"""What a write task is told about one table of a topic."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from cdc.collapse import Key, Mode, mode_of
from cdc.config import ResolvedRule
from cdc.decode import DecodePlan
from cdc.model import EARLIEST, Cutoff, PartitionMark, TableName
from cdc.runtime.task.row_finder import IndexPlan
from cdc.write import FileWriter


@dataclass(frozen=True, slots=True)
class QuarantinePlan:
    """Where a task puts the bad records of one table, and which of them are there already."""

    writer: FileWriter
    marks: Mapping[int, int] = field(default_factory=dict)  # next offset, by partition


@dataclass(frozen=True, slots=True)
class KeyRouting:
    """Which partitions of the topic the changes of a key come through."""

    # How many there were; a record of another one means that keys have moved.
    partition_count: int | None = None
    keys_moving: bool = False  # changes of one key may come through two partitions
    key_forms: frozenset[str] = frozenset()  # how the keys of the records began so far


@dataclass(frozen=True, slots=True)
class Findings:
    """What a batch has found out about one table, beyond the state that the table is in."""

    # What ends the rows that are in the table, in order.
    cutoffs: tuple[Cutoff, ...] = ()
    # Where partitions are read again that were ahead of a cutoff.
    rewinds: Mapping[int, PartitionMark] = field(default_factory=dict)
    # Rows of the table as they are, for changes that leave out what did not change.
    rows: pa.Table | None = None
    # The old keys of rows whose key was changed, by partition and offset of their inserts.
    moves: Mapping[int, Mapping[int, Key]] = field(default_factory=dict)
    # The records were put aside when they came, and are older than the marks.
    replayed: bool = False
    # Records from the first one on that has another key are left for later.
    until_key_change: bool = False

    @property
    def cutoff(self) -> Cutoff | None:
        """The last one of the batch."""
        return self.cutoffs[-1] if self.cutoffs else None

    def forgotten(self) -> "Findings":
        """Drop what depends on the state of a table that has changed since."""
        return replace(self, cutoffs=(), rewinds={}, rows=None)


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """One table as it is before the batch; a topic met for the first time has no writer."""

    decode: DecodePlan
    name: TableName | None = None
    rule: ResolvedRule = field(default_factory=ResolvedRule)
    key: tuple[str, ...] = ()
    writer: FileWriter | None = None
    # Where rows that are replaced by position are found; without it a MERGE finds them.
    index: IndexPlan | None = None
    empty: bool = False
    # The table may have rows that the source does not: an insert may meet one of its own key.
    stale_rows: bool = False
    routing: KeyRouting = field(default_factory=KeyRouting)
    marks: Mapping[int, PartitionMark] = field(default_factory=dict)
    pending_cutoff: Cutoff | None = None  # of an earlier batch: older changes may still come
    quarantine: QuarantinePlan | None = None
    findings: Findings = field(default_factory=Findings)

    @property
    def mode(self) -> Mode:
        """What a change does to the table."""
        return mode_of(self.rule)

    @property
    def inserts_are_new(self) -> bool:
        """Whether an insert is a new row of the table."""
        exact = self.decode.dialect.exact_snapshot
        return exact and not self.findings.replayed and not self.stale_rows

    def for_replay(self, index: IndexPlan | None) -> "TargetPlan":
        """Take records that the marks have passed; any of them may have been applied since.

        Args:
            index: Finds rows by position, also where batches use a MERGE: that one looks at the
                table as it is then, which may not be as it was when the records were chosen.
        """
        marks = {partition: PartitionMark(EARLIEST) for partition in self.marks}
        findings = replace(self.findings, replayed=True)
        return replace(self, marks=marks, index=index, findings=findings)
