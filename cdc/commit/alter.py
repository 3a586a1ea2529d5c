"""Changes of a table's columns, all of them and what is noted of them in one commit."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, assert_never

from cdc.model.column_steps import ColumnStep, StepKind

# Gives the table properties that go with a change, from the numbers of the old and new schema.
Noted = Callable[[int, int], Mapping[str, str]]


def alter(table: Any, gateway: Any, steps: Iterable[ColumnStep], noted: Noted, types: Any) -> None:
    """Take steps one after the other, and set properties, in one commit.

    Run twice, the second run fails: the columns are there, or gone, already.

    Args:
        table: Iceberg's table.
        gateway: The way to Java.
        steps: What is done to the columns.
        noted: What is set in the same commit.
        types: Makes a Java type of an Iceberg type.
    """
    transaction = table.newTransaction()
    old = int(transaction.table().schema().schemaId())
    for step in steps:
        # Each in an update of its own: a name that one step frees can be taken by the next.
        update = transaction.updateSchema()
        _take(update, gateway, step, types, transaction.table().schema())
        update.commit()
    update = transaction.updateProperties()
    # Nobody else gets this number: a commit on top of another writer's columns is refused.
    for name, value in noted(old, int(transaction.table().schema().schemaId())).items():
        update.set(name, value)
    update.commit()
    transaction.commitTransaction()


def _take(update: Any, gateway: Any, step: ColumnStep, types: Any, schema: Any) -> None:
    name = ".".join(step.path)
    match step.kind:
        case StepKind.ADD:
            # With a parent of null a dot in the name makes no path.
            parent = ".".join(step.path[:-1]) if len(step.path) > 1 else None
            update.addColumn(parent, step.path[-1], types(step.type))
            if step.after is not None:
                update.moveAfter(name, step.after)
        case StepKind.DROP:
            update.deleteColumn(name)
        case StepKind.RENAME:
            update.renameColumn(name, step.to)
        case StepKind.TYPE:
            update.updateColumn(name, types(step.type))
        case StepKind.OPTIONAL:
            if name in list(schema.identifierFieldNames()):
                # Rows with a null in their key cannot be told apart by Iceberg's own rules.
                update.setIdentifierFields(gateway.jvm.java.util.ArrayList())
            update.makeColumnOptional(name)
        case StepKind.COMMENT:
            update.updateColumnDoc(name, step.to)
        case StepKind.KEY:
            names = gateway.jvm.java.util.ArrayList()
            # Iceberg takes no column that may be null: those that were none of the key's may be.
            if set(step.path) <= set(schema.identifierFieldNames()):
                names.extend(step.path)
            update.setIdentifierFields(names)
        case _:
            assert_never(step.kind)
