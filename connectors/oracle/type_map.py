"""Oracle's types that differ from the shared mapping."""

from cdc.model import SourceType, logical

# Timestamps have up to nine digits after the second, where Iceberg's have six; and those with a
# time zone have an offset, which Iceberg's cannot keep. Those with the local time zone have none,
# but their messages look the same.
TEXTS = frozenset({logical.NANO_TIMESTAMP, logical.ISO_TIMESTAMP, logical.ZONED_TIMESTAMP})


def iceberg_type(source: SourceType) -> str | None:
    """Give the Iceberg type of what Oracle alone sends, or None."""
    return "string" if logical.meaning(source) in TEXTS else None
