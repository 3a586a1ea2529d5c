"""MongoDB's types that differ from the shared mapping."""

from cdc.model import SourceType


def iceberg_type(source: SourceType) -> str | None:
    """Give the Iceberg type of what MongoDB alone sends: nothing, a document is JSON text."""
    return None
