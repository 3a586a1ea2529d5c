"""A table of the catalog as it was when somebody looked: what decisions are made from.

There are two ways to look, Iceberg's Java library for a run and pyiceberg for commands without
Spark; what is concluded from a view is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.schema import Schema

from cdc.config import ResolvedRule
from cdc.model import PartitionMark, SourceTable, TargetId
from cdc.model import TableName as Name
from cdc.state.ledger import Ledger
from cdc.state.table_state import TableState


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """One mirrored table: where it comes from, what Iceberg says of it, what it remembers."""

    topic: str
    source: SourceTable
    rule: ResolvedRule
    name: Name
    uuid: str
    location: str
    metadata_file: str  # another one with every commit
    schema: Schema
    partitioned_by: frozenset[str]  # the columns
    snapshot: int | None
    sequence: int  # of the newest snapshot; 0 before the first
    empty: bool  # the table surely has no row
    state: TableState
    ledger: Ledger | None = None

    @property
    def id(self) -> TargetId:
        """Which table of which topic it is."""
        return self.topic, self.name

    @property
    def marks(self) -> Mapping[int, PartitionMark]:
        """How far each partition has been applied."""
        return self.ledger.partitions if self.ledger is not None else {}
