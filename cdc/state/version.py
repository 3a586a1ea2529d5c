"""The version of what tables and mirrors remember, and the steps from older ones to it.

A table that an older mirror made has no version, which counts as 0. Its properties are brought up
to date in memory wherever they are read; `run` then writes them into the table, in one commit.
"""

import json
from collections.abc import Callable, Mapping
from typing import Final

from pyiceberg.schema import Schema

from cdc.errors import UnknownStateVersionError
from cdc.state.names import KEY_PROPERTY, MIRROR_PROPERTY, STATE_VERSION_PROPERTY, TOPIC_PROPERTY

STATE_VERSION: Final = 1

Properties = Mapping[str, str]
# Gives the properties that a table has one version later.
Step = Callable[[Properties, Schema], Properties]


def _name_the_key(properties: Properties, schema: Schema) -> Properties:
    """0 to 1: the first mirrors wrote no key; the required columns were it.

    The mirror's own table, of bad records, belongs to no topic and has no key.
    """
    if KEY_PROPERTY in properties or TOPIC_PROPERTY not in properties:
        return properties
    key = [column.name for column in schema.fields if column.required]
    return {**properties, KEY_PROPERTY: json.dumps(key)}


STEPS: Final[Mapping[int, Step]] = {0: _name_the_key}


def version_of(properties: Properties) -> int:
    """Read the version of what a table remembers."""
    return int(properties.get(STATE_VERSION_PROPERTY, "0"))


def migrate(
    properties: Properties,
    schema: Schema,
    table: str,
    *,
    steps: Mapping[int, Step] = STEPS,
    version: int = STATE_VERSION,
) -> dict[str, str]:
    """Bring what a table remembers to this version. Done twice, it is done once.

    Args:
        properties: The table's properties.
        schema: Its columns.
        table: Its name, for errors.
        steps: What leads from each version to the next.
        version: The version to bring it to.

    Raises:
        UnknownStateVersionError: A newer mirror wrote it, or no step leads on from its version.
    """
    found = version_of(properties)
    if found > version:
        raise UnknownStateVersionError(table, found, version)
    for number in range(found, version):
        if number not in steps:
            raise UnknownStateVersionError(table, found, version)
        properties = {**steps[number](properties, schema), STATE_VERSION_PROPERTY: str(number + 1)}
    return dict(properties)


def first_properties(mirror: str, topic: str | None = None) -> dict[str, str]:
    """Give the properties that a new table has of whichever kind: whose it is, and the version."""
    owner = {MIRROR_PROPERTY: mirror} | ({} if topic is None else {TOPIC_PROPERTY: topic})
    return {STATE_VERSION_PROPERTY: str(STATE_VERSION), **owner}
