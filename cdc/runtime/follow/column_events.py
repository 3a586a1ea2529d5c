"""What a table notes of a change of its columns."""

from collections.abc import Sequence
from dataclasses import replace

from cdc.config import ChangeKind
from cdc.model import SchemaEvent, SchemaPlace, SourceSchema
from cdc.model.column_steps import ColumnStep
from cdc.schema import ColumnChange, statement


def event_of(
    change: ColumnChange,
    steps: Sequence[ColumnStep],
    place: SchemaPlace,
    schema: SourceSchema,
    when: str,
    default: str | None = None,
) -> SchemaEvent:
    """Note what a table did about one change."""
    event = SchemaEvent(
        kind=change.kind.value,
        column=".".join(change.path) if len(change.path) > 1 else change.column,
        place=place,
        default=default,
        text=", ".join(statement(step) for step in steps),
        when=when,
    )
    if change.kind is ChangeKind.RENAME_COLUMN:
        return replace(event, to=change.to)
    if change.kind is ChangeKind.CHANGE_KEY:
        return replace(event, column="")
    if change.kind is ChangeKind.CHANGE_TYPE:
        new = next(c.type for c in schema.columns if c.name == change.column)
        return replace(event, to=steps[0].to, type=new.whole)
    return event
