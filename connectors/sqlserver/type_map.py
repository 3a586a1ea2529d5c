"""SQL Server's types that differ from the shared mapping."""

from cdc.model import SourceType

ZONED_TIMESTAMP = "io.debezium.time.ZonedTimestamp"


def iceberg_type(source: SourceType) -> str | None:
    """Give the Iceberg type of what SQL Server alone sends, or None.

    A datetimeoffset has an offset of its own, which Iceberg's timestamptz cannot keep, and up to
    seven digits after the second where that has six.
    """
    return "string" if source.logical == ZONED_TIMESTAMP else None
