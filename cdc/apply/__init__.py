"""How the changes of a batch become one commit of a table."""

from cdc.apply.lookup import rows_of_keys
from cdc.apply.merge import KeyBounds, merge_changes

__all__ = ["KeyBounds", "merge_changes", "rows_of_keys"]
