"""One open table of a mirror."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cdc.commit import IcebergTable, read_ledger
from cdc.config import ResolvedRule
from cdc.model import (
    EARLIEST,
    LEDGER_PROPERTY,
    Ledger,
    PartitionMark,
    SourceSchema,
    SourceTable,
    TargetId,
    Truncate,
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

    def advance(self, ledger: Ledger) -> None:
        """Take note of a commit."""
        self.ledger = ledger
        self.plan = None

    def reopen(self) -> None:
        """See what others did to the table."""
        self.table.refresh()
        self.ledger = read_ledger(self.table)
        self.plan = None

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
