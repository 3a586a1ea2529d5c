"""One open table of a mirror."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cdc.commit import IcebergTable, read_ledger
from cdc.config import ApplyMode, ResolvedRule
from cdc.model import (
    CURRENT,
    EARLIEST,
    LEDGER_PROPERTY,
    FileKind,
    Ledger,
    LiveFile,
    PartitionMark,
    SourceSchema,
    SourceTable,
    TargetId,
    Truncate,
    WrittenFile,
    lane_of,
)
from cdc.runtime.target_plan import TargetPlan
from cdc.schema import key_of


@dataclass(slots=True)
class MirroredTable:
    """One table of a topic, and how far it has come."""

    topic: str
    source: SourceTable
    rule: ResolvedRule
    table: IcebergTable
    ledger: Ledger | None
    known: set[SourceSchema] = field(default_factory=set)
    plan: TargetPlan | None = None  # kept until the table changes
    # The data files of the snapshot that was listed last.
    _files: dict[str, LiveFile] = field(default_factory=dict)
    _listed: int | None = None

    def advance(self, ledger: Ledger, files: Iterable[WrittenFile]) -> None:
        """Take note of a commit of our own, so that its files need not be listed."""
        self.ledger = ledger
        self.plan = None
        snapshot = self.table.java.currentSnapshot()
        if self._listed is not None and snapshot.parentId() == self._listed:
            for file in files:
                if file.kind is FileKind.DATA:
                    self._files[file.path] = LiveFile(
                        file.path,
                        int(snapshot.sequenceNumber()),
                        file.rows,
                        lane_of(file.path),
                        file.spec_id,
                        file.partition,
                    )
            self._listed = int(snapshot.snapshotId())

    def reopen(self) -> None:
        """See what others did to the table."""
        self.table.refresh()
        self.ledger = read_ledger(self.table)
        self.plan = None

    def live_files(self) -> tuple[LiveFile, ...]:
        """List the data files of the table as it is loaded.

        Raises:
            NotParquetError: Somebody wrote one in another format.
        """
        current = self.table.snapshot_id
        if current is None:
            self._files = {}
        elif current != self._listed:
            changes = self.table.changed_files(self._listed) if self._listed is not None else None
            if changes is None:  # first seen, or rolled back: what is known leads nowhere
                self._files = {file.path: file for file in self.table.live_files()}
            else:
                for path in changes.removed:
                    self._files.pop(path, None)
                self._files |= {file.path: file for file in changes.added}
        self._listed = current
        return tuple(self._files.values())

    @property
    def id(self) -> TargetId:
        """Which table of which topic it is."""
        return self.topic, self.table.name

    @property
    def marks(self) -> dict[int, PartitionMark]:
        """How far each partition has been applied."""
        return dict(self.ledger.partitions) if self.ledger else {}

    @property
    def key(self) -> tuple[str, ...]:
        """The key columns."""
        return key_of(self.table.properties, self.table.schema)

    @property
    def wipes(self) -> bool:
        """Whether a truncate removes the table's rows; others mark or close them."""
        return self.rule.mode is ApplyMode.MIRROR and not self.rule.soft

    @property
    def delete_key(self) -> tuple[str, ...]:
        """The columns by which an equality delete finds its row."""
        return (*self.key, CURRENT) if self.rule.mode is ApplyMode.HISTORY else self.key

    def rewind(self, truncate: Truncate) -> dict[int, PartitionMark]:
        """Find where to read partitions again that are ahead of a truncate.

        Their rows go with all others, though some are newer than the truncate. The newest ledger
        at which a partition was not past it yet tells where to start; what is older than the
        truncate is dropped there.
        """
        ahead = {
            partition
            for partition, mark in self.marks.items()
            if partition != truncate.partition and mark.position > truncate.position
        }
        found: dict[int, PartitionMark] = {}
        for ledger in self._past_ledgers() if ahead else ():
            for partition in ahead - found.keys():
                mark = ledger.partitions.get(partition)
                if mark is None or mark.position <= truncate.position:
                    found[partition] = mark or PartitionMark(EARLIEST)
            if len(found) == len(ahead):
                break
        return {partition: found.get(partition, PartitionMark(EARLIEST)) for partition in ahead}

    def _past_ledgers(self) -> Iterator[Ledger]:
        for summary in self.table.summaries():
            if LEDGER_PROPERTY in summary:
                yield Ledger.from_json(summary[LEDGER_PROPERTY])
