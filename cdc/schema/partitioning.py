"""Whether a table can be partitioned as its rule says."""

from collections.abc import Sequence
from typing import Final

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from cdc.config.checks import nearest
from cdc.errors import PartitionError
from cdc.model import PartitionField

_CUT: Final = ("identity", "bucket", "truncate")
_MOMENT: Final = ("identity", "bucket", "year", "month", "day", "hour")
# Iceberg takes floating point numbers as they are, too; but 0.0 and -0.0 are equal to a query and
# two partitions to Iceberg, so a query by value would miss rows.
TAKEN: Final[dict[type[IcebergType], tuple[str, ...]]] = {
    BooleanType: ("identity",),
    IntegerType: _CUT,
    LongType: _CUT,
    DecimalType: _CUT,
    StringType: _CUT,
    BinaryType: _CUT,
    DateType: ("identity", "bucket", "year", "month", "day"),
    TimeType: ("identity", "bucket"),
    TimestampType: _MOMENT,
    TimestamptzType: _MOMENT,
}


def check_partition(
    fields: Sequence[PartitionField], schema: Schema, table: str, excluded: Sequence[str] = ()
) -> None:
    """See that each field names a column of the table, of a type that its transform takes.

    Args:
        fields: The partition fields of the table's rule.
        schema: The mirrored table's columns; hashed ones are strings here.
        table: The table's name, for errors.
        excluded: The source columns that the rule leaves out.

    Raises:
        PartitionError: With all fields that the table cannot have.
    """
    types = {column.name: column.field_type for column in schema.fields}
    reasons = []
    for field in fields:
        reason = _misfit(field, types, excluded)
        if reason is not None:
            reasons.append(f"{field}: {reason}")
    if reasons:
        raise PartitionError(table, tuple(reasons))


def _misfit(
    field: PartitionField, types: dict[str, IcebergType], excluded: Sequence[str]
) -> str | None:
    if field.column in excluded:
        return f"{field.column} is excluded from the mirror"
    if field.column not in types:
        meant = nearest(field.column, types)
        advice = f"; did you mean {meant}?" if meant else ""
        return f"there is no column {field.column}{advice}"
    kind = types[field.column]
    taken = TAKEN.get(type(kind), ())
    if field.transform in taken:
        return None
    if not taken:
        return f"{field.column} is {kind}, which makes no partitions"
    return f"{field.column} is {kind}, which takes {', '.join(taken)}"
