"""A table's partition spec, read and changed."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyiceberg.schema import Schema
from pyspark.errors import IllegalArgumentException

from cdc.commit.java_errors import java_name
from cdc.commit.java_values import java_class
from cdc.errors import PartitionError
from cdc.model import RESERVED, PartitionField

TRANSFORM: Final = re.compile(r"(\w+)(?:\[(\d+)\])?")
# What Iceberg leaves in the place of a field that a table of format 1 had once.
VOID: Final = "void"


@dataclass(frozen=True, slots=True)
class SpecField:
    """A field of a spec under its own name; no column where that is gone."""

    name: str
    column: str | None
    transform: str
    argument: int | None

    @property
    def field(self) -> PartitionField:
        """The field as the config has it."""
        return PartitionField(self.transform, self.column or "", self.argument)


def spec_fields(jvm: Any, spec: Any, schema: Schema) -> tuple[SpecField, ...]:
    """Read the fields of a Java spec."""
    text = java_class(jvm, "org.apache.iceberg.PartitionSpecParser").toJson(spec)
    names = {column.field_id: column.name for column in schema.fields}
    fields = []
    for raw in json.loads(text)["fields"]:
        found = TRANSFORM.fullmatch(raw["transform"])
        if found is not None and found[1] != VOID:
            argument = None if found[2] is None else int(found[2])
            column = names.get(raw.get("source-id"))
            fields.append(SpecField(raw["name"], column, found[1], argument))
    return tuple(fields)


def change_spec(
    jvm: Any, table: str, java: Any, schema: Schema, wanted: Iterable[PartitionField]
) -> None:
    """Give the table the wanted fields, in one commit; done twice, it is done once.

    Raises:
        PartitionError: The table cannot have such a field.
    """
    old = {found.field: found.name for found in spec_fields(jvm, java.spec(), schema)}
    new = tuple(dict.fromkeys(wanted))
    if set(old) == set(new):
        return  # the order says nothing
    columns = {column.name for column in schema.fields}
    update = java.updateSpec()
    try:
        for field in old.keys() - set(new):
            update = update.removeField(old[field])
        for field in new:
            if field.column not in columns:
                raise PartitionError(table, (f"there is no column for {field}",))
            if field not in old:
                update = update.addField(_name(field, columns), _term(jvm, field))
        update.commit()
    except Py4JJavaError as error:
        if not java_name(error).endswith("ValidationException"):
            raise
        reason = str(error.java_exception.getMessage()).split("\n")[0]
        raise PartitionError(table, (reason,)) from error
    except IllegalArgumentException as error:
        raise PartitionError(table, (str(error).split("\n")[0],)) from error


def _name(field: PartitionField, columns: set[str]) -> str:
    if field.transform == "identity":
        return field.column
    parts = (field.column, field.transform, *([] if field.argument is None else [field.argument]))
    name = "_".join(map(str, parts))
    # Iceberg has the names of fields and of columns in one folder.
    return RESERVED + name if name in columns else name


def _term(jvm: Any, field: PartitionField) -> Any:
    expressions = java_class(jvm, "org.apache.iceberg.expressions.Expressions")
    if field.transform == "identity":
        return expressions.ref(field.column)
    make = getattr(expressions, field.transform)
    return make(field.column) if field.argument is None else make(field.column, field.argument)
