"""Which columns tell a table's rows apart, as the table itself keeps it."""

import json
from collections.abc import Iterable, Mapping

from pyiceberg.schema import Schema

from cdc.model import FORMER_KEY_PROPERTY, KEY_PROPERTY


def key_property(names: Iterable[str]) -> dict[str, str]:
    """Give the table property that names the key columns of a table."""
    return {KEY_PROPERTY: json.dumps([*names])}


def former_property(
    properties: Mapping[str, str], schema: Schema, names: Iterable[str]
) -> dict[str, str]:
    """Give the table property that keeps which columns were in the key once, by their ids."""
    leave = {column.field_id for column in schema.fields if column.name in set(names)}
    known = set(json.loads(properties.get(FORMER_KEY_PROPERTY, "[]")))
    return {FORMER_KEY_PROPERTY: json.dumps(sorted(known | leave))}


def former_key(properties: Mapping[str, str], schema: Schema) -> tuple[str, ...]:
    """Read which columns of a table were in its key once: deletes may speak of them still."""
    ids = set(json.loads(properties.get(FORMER_KEY_PROPERTY, "[]")))
    return tuple(column.name for column in schema.fields if column.field_id in ids)


def key_of(properties: Mapping[str, str], schema: Schema) -> tuple[str, ...]:
    """Read a table's key; in a table without that property the required columns are the key."""
    if KEY_PROPERTY in properties:
        return tuple(json.loads(properties[KEY_PROPERTY]))
    return tuple(column.name for column in schema.fields if column.required)
