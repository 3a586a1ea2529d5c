"""What a batch does to a table: its changes collapsed to one per key."""

from cdc.plan.collapse import CollapsedChanges, after_truncate, collapse
from cdc.plan.fill import fill

__all__ = ["CollapsedChanges", "after_truncate", "collapse", "fill"]
