"""What a source schema asks of the table that mirrors it."""

from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, DoubleType, FloatType, IcebergType, IntegerType, LongType

from cdc.schema.arrow_schema import arrow_type
from cdc.schema.mapping import MirrorColumn


@dataclass(frozen=True, slots=True)
class TypeChange:
    """A column whose values no longer fit the table."""

    column: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    """The columns to add, and what cannot be followed."""

    added: tuple[MirrorColumn, ...]
    changed: tuple[TypeChange, ...]
    old_key: tuple[str, ...]
    new_key: tuple[str, ...]


def difference(
    schema: Schema, columns: tuple[MirrorColumn, ...], table: str, key: tuple[str, ...]
) -> SchemaDifference:
    """Compare a table's schema with what its source has now.

    A column that the source no longer has stays in the table and is null from now on. The mirror's
    own columns are none of the source's, and stay as they are.

    Args:
        schema: The table's schema.
        columns: The source's columns as the table should have them.
        table: The table's name, for errors.
        key: The table's key; see `key_of`.
    """
    old = {column.name: column for column in schema.fields}
    changed = [
        TypeChange(c.name, str(old[c.name].field_type), str(c.type))
        for c in columns
        if c.name in old and not _fits(c.type, old[c.name].field_type, table)
    ]
    return SchemaDifference(
        added=tuple(c for c in columns if c.name not in old),
        changed=tuple(changed),
        old_key=key,
        new_key=tuple(c.name for c in columns if c.key),
    )


def _fits(new: IcebergType, old: IcebergType, table: str) -> bool:
    """Say whether every value of the new type is one of the old type too."""
    if isinstance(new, IntegerType) and isinstance(old, LongType):
        return True
    if isinstance(new, FloatType) and isinstance(old, DoubleType):
        return True
    if isinstance(new, DecimalType) and isinstance(old, DecimalType):
        return new.scale == old.scale and new.precision <= old.precision
    return bool(arrow_type(new, table).equals(arrow_type(old, table)))
