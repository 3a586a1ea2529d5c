"""One open table of a mirror."""

from dataclasses import dataclass, field

from cdc.commit import IcebergTable, read_ledger
from cdc.config import ResolvedRule
from cdc.model import Ledger, SourceSchema, SourceTable, TargetId
from cdc.runtime.target_plan import TargetPlan


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
    def key(self) -> tuple[str, ...]:
        """The key columns, which alone are required."""
        return tuple(column.name for column in self.table.schema.fields if column.required)
