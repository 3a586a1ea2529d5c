"""What a source schema asks of the table that mirrors it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StructType,
)

from cdc.config import ChangeKind
from cdc.model import RESERVED
from cdc.schema.arrow_schema import arrow_type
from cdc.schema.mapping import MirrorColumn

ELEMENT, VALUE = "element", "value"  # how Iceberg calls what a list and a map hold


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """One thing that differs between a table and its source."""

    kind: ChangeKind
    path: tuple[str, ...]  # of the table's column, or of a part of it; of a key, its columns
    old: IcebergType | None = None
    new: IcebergType | None = None
    to: str | None = None  # the column's new name, or comment
    after: str | None = None  # the column that stands before a new one
    old_key: tuple[str, ...] = ()

    @property
    def column(self) -> str:
        """The column that changes, or of which a part does."""
        return self.path[0]

    def __str__(self) -> str:
        if self.kind is ChangeKind.CHANGE_KEY:
            return f"its key from ({', '.join(self.old_key)}) to ({', '.join(self.path)})"
        name = ".".join(self.path)
        if self.kind is ChangeKind.RENAME_COLUMN:
            return f"{name} to {self.to}"
        if self.kind is ChangeKind.ADD_COLUMN:
            return f"{name} ({self.new}), which is new"
        if self.kind is ChangeKind.DROP_COLUMN:
            return f"{name}, which is gone"
        if self.kind is ChangeKind.NULLABILITY:
            return f"{name}, which may be null now"
        return f"{name} from {self.old} to {self.new}"


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    """All that differs."""

    changes: tuple[ColumnChange, ...]
    old_key: tuple[str, ...]  # in the names that the source has now
    new_key: tuple[str, ...]

    def of(self, kind: ChangeKind) -> tuple[ColumnChange, ...]:
        """The changes of one kind."""
        return tuple(change for change in self.changes if change.kind is kind)


def difference(
    schema: Schema,
    columns: Sequence[MirrorColumn],
    table: str,
    key: tuple[str, ...],
    *,
    renames: Mapping[str, str] | None = None,
    newest: bool = False,
    inferred: bool = False,
    distinguishable: bool = False,
    comments: Mapping[str, str] | None = None,
) -> SchemaDifference:
    """Compare a table's schema with what its source has.

    The mirror's own columns are none of the source's, and stay as they are.

    Args:
        schema: The table's schema.
        columns: The source's columns as the table should have them.
        table: The table's name, for errors.
        key: The table's key; see `key_of`.
        renames: The new names of columns by their old ones, where somebody knows of them.
        newest: Whether nothing newer is known of the source: a column that it lacks is gone then.
            An older schema may lack columns that came later, and have another key.
        inferred: Whether the columns were guessed from values, so that those without any lack.
        distinguishable: Whether whoever knows of the renames knows of all of them. Otherwise a
            column that is gone, while another is new, may have been renamed: it is not called gone.
        comments: What the source says of its columns, where somebody knows.
    """
    whole = newest and not inferred
    old = {c.name: c for c in schema.fields if not c.name.startswith(RESERVED)}
    new = {c.name: c for c in columns}
    renamed = {
        before: after
        for before, after in (renames or {}).items()
        if whole and before in old and after in new and before not in new and after not in old
    }
    found = [
        ColumnChange(ChangeKind.RENAME_COLUMN, (before,), to=after)
        for before, after in renamed.items()
    ]
    old = {renamed.get(name, name): column for name, column in old.items()}
    old_key = tuple(renamed.get(name, name) for name in key)
    new_key = tuple(c.name for c in columns if c.key)
    if newest and old_key != new_key:
        # Before all that follows: a column that leaves the key can then be null, or go.
        found.append(ColumnChange(ChangeKind.CHANGE_KEY, new_key, old_key=old_key))
    leaves = {*old_key} - {*new_key}
    before: str | None = None
    added = False
    for column in columns:
        if column.name not in old:
            added = True
            place = ColumnChange(
                ChangeKind.ADD_COLUMN, (column.name,), new=column.type, after=before
            )
            found.append(place)
        else:
            found += _type_changes(old[column.name].field_type, column, table)
            relaxed = old[column.name].required and not column.required
            if relaxed and column.name not in leaves:
                found.append(ColumnChange(ChangeKind.NULLABILITY, (column.name,)))
        before = column.name
    found += [
        ColumnChange(ChangeKind.COMMENT, (column.name,), to=comments[column.name])
        for column in columns
        if whole and comments and column.name in comments
        if comments[column.name] != ((old[column.name].doc or "") if column.name in old else "")
    ]
    if whole and (distinguishable or not added):
        gone = [name for name in old if name not in new]
        found += [
            ColumnChange(ChangeKind.DROP_COLUMN, (name,), old=old[name].field_type) for name in gone
        ]
    return SchemaDifference(changes=tuple(found), old_key=old_key, new_key=new_key)


def _type_changes(old: IcebergType, column: MirrorColumn, table: str) -> Iterator[ColumnChange]:
    found = list(_within((column.name,), old, column.type, table))
    if any(change.kind is ChangeKind.CHANGE_TYPE for change in found):
        # What does not fit in one part does not fit as a whole.
        yield ColumnChange(ChangeKind.CHANGE_TYPE, (column.name,), old, column.type)
    else:
        yield from found


def _within(
    path: tuple[str, ...], old: IcebergType, new: IcebergType, table: str
) -> Iterator[ColumnChange]:
    """Compare two types part by part; a member that a struct lost stays, and is null."""
    if isinstance(old, StructType) and isinstance(new, StructType):
        members = {member.name: member.field_type for member in old.fields}
        for member in new.fields:
            inner = (*path, member.name)
            if member.name in members:
                yield from _within(inner, members[member.name], member.field_type, table)
            else:
                yield ColumnChange(ChangeKind.ADD_COLUMN, inner, new=member.field_type)
    elif isinstance(old, ListType) and isinstance(new, ListType):
        yield from _within((*path, ELEMENT), old.element_type, new.element_type, table)
    elif isinstance(old, MapType) and isinstance(new, MapType) and old.key_type == new.key_type:
        yield from _within((*path, VALUE), old.value_type, new.value_type, table)
    elif _holds(new, old):
        yield ColumnChange(ChangeKind.WIDEN_TYPE, path, old, new)
    elif not _holds(old, new) and not arrow_type(new, table).equals(arrow_type(old, table)):
        yield ColumnChange(ChangeKind.CHANGE_TYPE, path, old, new)


def _holds(wide: IcebergType, narrow: IcebergType) -> bool:
    """Say whether every value of one type is one of another too, and that one is the wider."""
    if isinstance(wide, LongType) and isinstance(narrow, IntegerType):
        return True
    if isinstance(wide, DoubleType) and isinstance(narrow, FloatType):
        return True
    if isinstance(wide, DecimalType) and isinstance(narrow, DecimalType):
        return wide.scale == narrow.scale and wide.precision > narrow.precision
    return False
