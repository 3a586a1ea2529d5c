"""Which columns tell a table's rows apart, as the table itself keeps it."""

import json
from collections.abc import Iterable, Mapping

from pyiceberg.schema import Schema

from cdc.model import KEY_PROPERTY
from cdc.schema.mapping import MirrorColumn


def key_property(columns: Iterable[MirrorColumn]) -> dict[str, str]:
    """Give the table property that names the key of a new table's columns."""
    return {KEY_PROPERTY: json.dumps([column.name for column in columns if column.key])}


def key_of(properties: Mapping[str, str], schema: Schema) -> tuple[str, ...]:
    """Read a table's key; in a table without that property the required columns are the key."""
    if KEY_PROPERTY in properties:
        return tuple(json.loads(properties[KEY_PROPERTY]))
    return tuple(column.name for column in schema.fields if column.required)
