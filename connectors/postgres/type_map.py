"""PostgreSQL's types that differ from the shared mapping."""

from cdc.model import SourceType

CONNECT_DECIMAL = "org.apache.kafka.connect.data.Decimal"
# money is a 64-bit number of cents; its messages name the scale and no precision.
MONEY_DIGITS = 19


def iceberg_type(source: SourceType) -> str | None:
    """Give the Iceberg type of what PostgreSQL alone sends, or None."""
    if source.logical != CONNECT_DECIMAL or source.parameter("connect.decimal.precision"):
        return None
    scale = source.parameter("scale") or ""
    if source.kind == "bytes" and scale.isdecimal() and int(scale) <= MONEY_DIGITS:
        return f"decimal({MONEY_DIGITS}, {int(scale)})"
    return None
