"""What a write task is told about one table of a topic."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from cdc.collapse import Key
from cdc.config import ApplyMode, ResolvedRule
from cdc.decode import DecodePlan
from cdc.model import CURRENT, EARLIEST, Cutoff, PartitionMark, TableName
from cdc.runtime.task.row_finder import IndexPlan
from cdc.write import FileWriter


@dataclass(frozen=True, slots=True)
class QuarantinePlan:
    """Where a task puts the bad records of one table, and which of them are there already."""

    writer: FileWriter
    marks: Mapping[int, int] = field(default_factory=dict)  # next offset, by partition


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """One table as it is before the batch; a topic met for the first time has no writer."""

    decode: DecodePlan
    name: TableName | None = None
    rule: ResolvedRule = field(default_factory=ResolvedRule)
    key: tuple[str, ...] = ()
    writer: FileWriter | None = None
    marks: Mapping[int, PartitionMark] = field(default_factory=dict)
    # Where partitions are read again that were ahead of a truncate.
    rewinds: Mapping[int, PartitionMark] = field(default_factory=dict)
    empty: bool = False
    truncates: tuple[Cutoff, ...] = ()  # of this batch, in order: what is in the table goes
    barrier: Cutoff | None = None  # of an earlier batch: older changes may still come
    quarantine: QuarantinePlan | None = None
    # How many partitions the topic had; a record of another one means that keys have moved.
    width: int | None = None
    mixed: bool = False  # changes of one key may come through two partitions
    key_forms: frozenset[str] = frozenset()  # how the keys of its records began so far
    # Where rows that are replaced by position are found; without it a MERGE finds them.
    index: IndexPlan | None = None
    # Rows of the table as they are, for changes that leave out what did not change.
    rows: pa.Table | None = None
    # The old keys of rows whose key was changed, by partition and offset of their inserts.
    moves: Mapping[int, Mapping[int, Key]] = field(default_factory=dict)

    # The records were put aside when they came, and are older than the marks.
    replayed: bool = False
    # The table may have rows that the source does not: an insert may meet one of its own key.
    stale_rows: bool = False

    @property
    def exact(self) -> bool:
        """Whether an insert is a new row of the table."""
        return self.decode.dialect.exact_snapshot and not self.replayed and not self.stale_rows

    # Records from the first one on that has another key are left for later.
    settling: bool = False

    def for_replay(self, index: IndexPlan | None) -> "TargetPlan":
        """Take records that the marks have passed; any of them may have been applied since.

        Args:
            index: Finds rows by position, also where batches use a MERGE: that one looks at the
                table as it is then, which may not be as it was when the records were chosen.
        """
        marks = {partition: PartitionMark(EARLIEST) for partition in self.marks}
        return replace(self, marks=marks, index=index, replayed=True)

    @property
    def delete_key(self) -> tuple[str, ...]:
        """The columns by which an equality delete finds its row."""
        return (*self.key, CURRENT) if self.rule.mode is ApplyMode.HISTORY else self.key

    @property
    def truncate(self) -> Cutoff | None:
        """The last truncate of this batch."""
        return self.truncates[-1] if self.truncates else None

    @property
    def bounded(self) -> bool:
        """Whether a truncate ends rows of the table; in a log it is one more row."""
        return self.rule.mode is not ApplyMode.APPEND
