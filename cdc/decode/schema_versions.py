"""Messages from before their table's columns changed, in the names that the columns have now.

A table keeps what it did to follow its source, each with its place in the source's log. A message
from before such a place has the old columns: what was renamed since goes under the new name, what
was dropped since goes nowhere, and a column that came later holds its default.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.config import ChangeKind
from cdc.decode.envelope import RawChanges
from cdc.decode.messages import Mask
from cdc.model import NO_POSITION, SchemaEvent, SourceSchema

Counts = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """How the messages of one schema fill the columns of the table."""

    # The table's names for the source's columns; one that is not in it has no column there.
    names: Mapping[str, str]
    # What columns hold that came later; as text.
    defaults: Mapping[str, str]


def events_before(raw: RawChanges, events: Sequence[SchemaEvent]) -> Counts:
    """Count for each change the events that were there before it.

    Source positions decide, unless the time speaks against it: after a failover positions may
    start again from a smaller number. A change without a position is taken for a new one.
    """
    positions, micros = raw.position.to_numpy(zero_copy_only=False), raw.time.cast(pa.int64())
    times = pc.fill_null(micros, -1).to_numpy(zero_copy_only=False)
    reached = np.full(len(positions), len(events), np.int64)
    # From the last to the first: what counts is the earliest event that a change precedes.
    for number in range(len(events) - 1, -1, -1):
        reached[_precedes(positions, times, events[number])] = number
    return reached


def _precedes(positions: Counts, times: Counts, event: SchemaEvent) -> Mask:
    met = event.place
    earlier: Mask = (positions < met.position) & (positions != NO_POSITION)
    if met.time is not None:
        earlier &= times <= met.time
    return earlier


def column_mapping(
    schema: SourceSchema,
    later: Sequence[SchemaEvent],
    table: Sequence[str],
    *,
    partial: bool = False,
) -> ColumnMapping | None:
    """Say how messages from before some events fill the table; None where it has no room for them.

    Args:
        schema: What the messages say of themselves.
        later: The events that came after them.
        table: The names of the table's columns.
        partial: Those are not all of its columns, and the others are not asked for.
    """
    types = {column.name: column.type for column in schema.columns}
    names = {name: name for name in types}
    defaults: dict[str, str] = {}
    for event in later:
        found = [source for source, name in names.items() if name == event.column]
        if event.kind == ChangeKind.DROP_COLUMN:
            names = {source: name for source, name in names.items() if source not in found}
            defaults.pop(event.column, None)
        elif event.kind == ChangeKind.RENAME_COLUMN and event.to is not None:
            names |= dict.fromkeys(found, event.to)
            if event.column in defaults:
                defaults[event.to] = defaults.pop(event.column)
        elif event.kind == ChangeKind.CHANGE_TYPE and event.to is not None:
            old = [source for source in found if types[source].whole != event.type]
            names |= dict.fromkeys(old, event.to)
        elif event.kind == ChangeKind.ADD_COLUMN and event.default is not None and not found:
            defaults[event.column] = event.default
    if partial:
        names = {source: name for source, name in names.items() if name in table}
    if not set(names.values()) <= set(table):
        return None
    return ColumnMapping(names, {name: value for name, value in defaults.items() if name in table})


def renamed(raw: RawChanges, names: Mapping[str, str]) -> RawChanges:
    """Give the rows of some changes the table's names; columns without one are left out."""
    before = None if raw.before is None else _renamed(raw.before, names)
    return replace(raw, row=_renamed(raw.row, names), before=before)


def renamed_schema(schema: SourceSchema, names: Mapping[str, str]) -> SourceSchema:
    """Give a schema the table's names."""
    return replace(
        schema,
        columns=tuple(replace(c, name=names[c.name]) for c in schema.columns if c.name in names),
        key=tuple(names.get(name, name) for name in schema.key),
    )


def with_defaults(changes: pa.Table, defaults: Mapping[str, str]) -> pa.Table:
    """Let columns that came later hold their defaults; a delete has none, and needs none."""
    for name, text in defaults.items():
        index = changes.column_names.index(name)
        kind = changes.schema.field(name).type
        value = pa.array([text]).cast(kind)[0]
        changes = changes.set_column(index, name, pa.repeat(value, len(changes)))
    return changes


def _renamed(rows: pa.StructArray, names: Mapping[str, str]) -> pa.StructArray:
    kept = [(index, field) for index, field in enumerate(rows.type) if field.name in names]
    if not kept:
        return pa.array([{}] * len(rows), pa.struct([]))
    return pa.StructArray.from_arrays(
        [pc.struct_field(rows, [index]) for index, _ in kept],
        fields=[field.with_name(names[field.name]) for _, field in kept],
        mask=rows.is_null() if rows.null_count else None,
    )
