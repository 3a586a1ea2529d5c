"""MySQL's types: what differs from the shared mapping, and how each arrives."""

from dataclasses import replace

from cdc.model import SourceType, logical

ESCAPED_COMMA = "\\,"


def iceberg_type(source: SourceType) -> str | None:
    """Give the Iceberg type of what MySQL alone sends, or None."""
    return "decimal(20, 0)" if logical.is_unsigned_bigint(source) else None


def understood(source: SourceType) -> SourceType:
    r"""Know an enum whose changes hold a comma as `\,`, though its snapshot does not."""
    if logical.meaning(source) != logical.ENUM:
        return source
    allowed = source.parameter(logical.ALLOWED) or ""
    return replace(source, logical=logical.ESCAPED_ENUM) if ESCAPED_COMMA in allowed else source
