"""Changes of a table's columns, partitions and properties, each in one commit."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, assert_never

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import IcebergType, NestedField

from cdc.commit.java_errors import translated
from cdc.commit.java_values import java_class
from cdc.commit.partition_spec import change_spec
from cdc.commit.table import IcebergTable
from cdc.model import PartitionField
from cdc.model.column_steps import ColumnStep, StepKind

# Gives the table properties that go with a change, from the numbers of the old and new schema.
Noted = Callable[[int, int], Mapping[str, str]]


def set_properties(table: IcebergTable, properties: Mapping[str, str]) -> None:
    """Set table properties, in one commit. Done twice, it is done once."""
    with translated(str(table.name)):
        update = table.java.updateProperties()
        for name, value in properties.items():
            update.set(name, value)
        update.commit()


def set_partition(table: IcebergTable, fields: Iterable[PartitionField]) -> None:
    """Partition what is written from now on, in one commit. Done twice, it is done once.

    Raises:
        PartitionError: The table cannot have such a field.
    """
    with translated(str(table.name)):
        table.java.refresh()
        change_spec(table.gateway.jvm, str(table.name), table.java, table.schema, fields)


def add_columns(table: IcebergTable, columns: Sequence[tuple[str, IcebergType]]) -> None:
    """Add optional columns at the end, in one commit. One that is there already is left."""
    with translated(str(table.name)):
        table.java.refresh()
        update = table.java.updateSchema()
        known = {column.name for column in table.schema.fields}
        for name, kind in columns:
            if name not in known:
                # With a parent of null a dot in the name makes no path.
                update = update.addColumn(None, name, _java_type(table, kind))
        update.commit()


def alter(table: IcebergTable, steps: Iterable[ColumnStep], noted: Noted) -> None:
    """Take steps one after the other, and set properties, in one commit.

    Run twice, the second run fails: the columns are there, or gone, already.

    Args:
        table: The table.
        steps: What is done to its columns.
        noted: What is set in the same commit.
    """
    with translated(str(table.name)):
        transaction = table.java.newTransaction()
        old = int(transaction.table().schema().schemaId())
        for step in steps:
            # Each in an update of its own: a name that one step frees can be taken by the next.
            update = transaction.updateSchema()
            _take(update, table, step, transaction.table().schema())
            update.commit()
        update = transaction.updateProperties()
        # Nobody else gets this number: a commit on top of another writer's columns is refused.
        for name, value in noted(old, int(transaction.table().schema().schemaId())).items():
            update.set(name, value)
        update.commit()
        transaction.commitTransaction()


def _take(update: Any, table: IcebergTable, step: ColumnStep, schema: Any) -> None:
    name = ".".join(step.path)
    lists = table.gateway.jvm.java.util.ArrayList
    match step.kind:
        case StepKind.ADD:
            # With a parent of null a dot in the name makes no path.
            parent = ".".join(step.path[:-1]) if len(step.path) > 1 else None
            update.addColumn(parent, step.path[-1], _java_type(table, step.type))
            if step.after is not None:
                update.moveAfter(name, step.after)
        case StepKind.DROP:
            update.deleteColumn(name)
        case StepKind.RENAME:
            update.renameColumn(name, step.to)
        case StepKind.TYPE:
            update.updateColumn(name, _java_type(table, step.type))
        case StepKind.OPTIONAL:
            if name in list(schema.identifierFieldNames()):
                # Rows with a null in their key cannot be told apart by Iceberg's own rules.
                update.setIdentifierFields(lists())
            update.makeColumnOptional(name)
        case StepKind.COMMENT:
            update.updateColumnDoc(name, step.to)
        case StepKind.KEY:
            names = lists()
            # Iceberg takes no column that may be null: those that were none of the key's may be.
            if set(step.path) <= set(schema.identifierFieldNames()):
                names.extend(step.path)
            update.setIdentifierFields(names)
        case _:
            assert_never(step.kind)


def _java_type(table: IcebergTable, kind: IcebergType) -> Any:
    # Within the type, too, each part needs a number of its own.
    schema = assign_fresh_schema_ids(Schema(NestedField(1, "x", kind, required=False)))
    parser = java_class(table.gateway.jvm, "org.apache.iceberg.SchemaParser")
    return parser.fromJson(schema.model_dump_json()).findType("x")
