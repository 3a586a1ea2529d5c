"""What a table did to its columns, with the schemas before and after."""

from pyiceberg.table import Table

from cdc.commands.table_status import iso_time
from cdc.model import NO_POSITION, SchemaEvent
from cdc.observe.column_history import Column, ColumnHistory, RecordedChange, TableSchema
from cdc.state.names import TOPIC_PROPERTY
from cdc.state.schema_log import read_log


def column_history(table: Table) -> ColumnHistory:
    """Read what a table keeps of it."""
    schemas = {
        number: TableSchema(
            number,
            tuple(Column(c.field_id, c.name, str(c.field_type), c.required) for c in schema.fields),
        )
        for number, schema in table.schemas().items()
    }

    def schema_of(number: int | None) -> TableSchema | None:
        return None if number is None else schemas.get(number, TableSchema(number, ()))

    def change_of(event: SchemaEvent) -> RecordedChange:
        place = event.place
        return RecordedChange(
            when=event.when,
            partition=place.partition,
            offset=place.offset,
            position=None if place.position == NO_POSITION else place.position,
            source_time=iso_time(None if place.time is None else place.time // 1000),
            kind=event.kind,
            column=event.column,
            statement=event.text,
            old_schema=schema_of(event.old_schema),
            new_schema=schema_of(event.new_schema),
        )

    changes = tuple(change_of(event) for event in read_log(table.properties))
    return ColumnHistory(".".join(table.name()), table.properties[TOPIC_PROPERTY], changes)
