"""What is known of a batch beyond the state of its tables."""

from dataclasses import dataclass, field

import pyarrow as pa

from cdc.collapse import Key
from cdc.model import Cutoff, PartitionMark, TargetId


@dataclass(slots=True)
class BatchPlan:
    """Empty at first; grows as the records of the batch tell more."""

    # Those that the records of a table hold, in their order.
    truncates: dict[TargetId, tuple[Cutoff, ...]] = field(default_factory=dict)
    # Partitions that were ahead of a truncate, and where they are read again from.
    rewinds: dict[TargetId, dict[int, PartitionMark]] = field(default_factory=dict)
    # Rows of the tables, for changes that leave out what did not change.
    rows: dict[TargetId, pa.Table] = field(default_factory=dict)
    # The old keys of rows whose key was changed, by partition and offset.
    moves: dict[TargetId, dict[int, dict[int, Key]]] = field(default_factory=dict)

    # Tables to which records are applied that were put aside before.
    replayed: frozenset[TargetId] = frozenset()

    # Tables whose key changes: only what came before that is applied.
    settling: frozenset[TargetId] = frozenset()

    def forget(self, target: TargetId) -> None:
        """Drop what was found out about a table that has changed since."""
        self.truncates.pop(target, None)
        self.rewinds.pop(target, None)
        self.rows.pop(target, None)
