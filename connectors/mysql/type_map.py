"""MySQL's types that differ from the shared mapping."""

from cdc.model import SourceType


def iceberg_type(source: SourceType) -> str | None:
    """Give the Iceberg type of what MySQL alone sends: nothing, so far."""
    return None
