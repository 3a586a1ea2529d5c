"""What is found out during a batch about its tables, beyond the state that they are in."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cdc.model import TargetId
from cdc.runtime.task.target_plan import Findings


@dataclass(frozen=True, slots=True)
class BatchFindings:
    """Empty at first; another takes its place as the records of the batch tell more."""

    tables: Mapping[TargetId, Findings] = field(default_factory=dict)

    def of(self, target: TargetId) -> Findings:
        """Give what was found out about one table."""
        return self.tables.get(target, Findings())

    def adding(self, target: TargetId, **found: Any) -> "BatchFindings":
        """Add to what is known of one table."""
        return BatchFindings({**self.tables, target: replace(self.of(target), **found)})

    def without_state_of(self, target: TargetId) -> "BatchFindings":
        """Drop what was found out about a table that has changed since."""
        return BatchFindings({**self.tables, target: self.of(target).forgotten()})
