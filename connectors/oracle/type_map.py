"""Oracle's types that differ from the shared mapping."""

from cdc.model import SourceType

ZONED_TIMESTAMP = "io.debezium.time.ZonedTimestamp"


def iceberg_type(source: SourceType) -> str | None:
    """Give the Iceberg type of what Oracle alone sends, or None.

    A timestamp with time zone has an offset of its own, which Iceberg's timestamptz cannot keep,
    and up to nine digits after the second where that has six. One with local time zone has none,
    but its messages look the same.
    """
    return "string" if source.logical == ZONED_TIMESTAMP else None
