"""SQL Server's types that differ from the shared mapping."""

from cdc.model import SourceType, logical

# A datetime2 and a datetimeoffset have seven digits after the second unless told otherwise, where
# Iceberg's timestamps have six; and a datetimeoffset has an offset, which they cannot keep.
TEXTS = frozenset({logical.NANO_TIMESTAMP, logical.ISO_TIMESTAMP, logical.ZONED_TIMESTAMP})


def iceberg_type(source: SourceType) -> str | None:
    """Give the Iceberg type of what SQL Server alone sends, or None."""
    return "string" if logical.meaning(source) in TEXTS else None
