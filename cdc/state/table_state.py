"""Everything that a mirrored table remembers beside its ledger: one frozen value."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pyiceberg.schema import Schema

from cdc.model import SchemaEvent
from cdc.state.column_identities import identities_property, read_identities
from cdc.state.column_types import TypeMemory, read_types, types_property
from cdc.state.key import TableKey
from cdc.state.lanes import Lanes
from cdc.state.names import (
    BACKFILL_PROPERTY,
    DROPPED_PROPERTY,
    FORMER_PROPERTY,
    MIRROR_PROPERTY,
    MOVING_PROPERTY,
    TOPIC_PROPERTY,
)
from cdc.state.schema_log import log_property, read_log
from cdc.state.source_identity import SourceIdentity
from cdc.state.version import STATE_VERSION, migrate, version_of

# How a property is written that says nothing any more; Iceberg's own way would be to remove it.
NOTHING: Final = {BACKFILL_PROPERTY: "{}", MOVING_PROPERTY: "{}", DROPPED_PROPERTY: ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """What a table remembers. It is changed with `dataclasses.replace`, and written as a whole."""

    mirror: str | None = None  # None: no mirror made the table
    topic: str | None = None
    key: TableKey = field(default_factory=TableKey)
    lanes: Lanes = field(default_factory=Lanes)
    source: SourceIdentity = field(default_factory=SourceIdentity)
    events: tuple[SchemaEvent, ...] = ()  # what the table did to follow its source
    backfill: Mapping[str, str] = field(default_factory=dict)  # defaults that old rows still lack
    identities: Mapping[str, int] = field(default_factory=dict)  # of columns, at the source
    types: TypeMemory = field(default_factory=dict)  # of columns, in messages without schemas
    # The topic that a renamed table had, and the number of the last batch that it got from there.
    former: tuple[str, int] | None = None
    version: int = STATE_VERSION  # in which the table itself still has it

    @staticmethod
    def read(properties: Mapping[str, str], schema: Schema, table: str) -> "TableState":
        """Read what a table remembers, of whichever version.

        Args:
            properties: The table's properties.
            schema: Its columns.
            table: Its name, for errors.

        Raises:
            UnknownStateVersionError: A newer mirror wrote it.
        """
        known = migrate(properties, schema, table)
        former = json.loads(known.get(FORMER_PROPERTY, "null"))
        return TableState(
            mirror=known.get(MIRROR_PROPERTY),
            topic=known.get(TOPIC_PROPERTY),
            key=TableKey.read(known),
            lanes=Lanes.read(known),
            source=SourceIdentity.read(known),
            events=read_log(known),
            backfill=json.loads(known.get(BACKFILL_PROPERTY, "{}")),
            identities=read_identities(known),
            types=read_types(known),
            former=None if former is None else (former[0], former[1]),
            version=version_of(properties),
        )

    @property
    def properties(self) -> dict[str, str]:
        """The properties that keep it; what says nothing is left out."""
        return dict(self._properties())

    def changes_to(self, other: "TableState") -> dict[str, str]:
        """Give the properties that make another state of this one; none if nothing differs."""
        before, after = self.properties, other.properties
        changed = {name: text for name, text in after.items() if before.get(name) != text}
        return changed | {name: NOTHING.get(name, "") for name in before.keys() - after.keys()}

    def noted(self, *events: SchemaEvent) -> "TableState":
        """Take note of what the table did to follow its source."""
        return replace(self, events=(*self.events, *events))

    def _properties(self) -> Iterator[tuple[str, str]]:
        if self.mirror is not None:
            yield MIRROR_PROPERTY, self.mirror
        if self.topic is not None:
            yield TOPIC_PROPERTY, self.topic
        yield from self.key.properties
        yield from self.lanes.properties
        yield from self.source.properties
        if self.events:
            yield from log_property(self.events).items()
        if self.backfill:
            yield BACKFILL_PROPERTY, json.dumps(dict(self.backfill))
        yield from identities_property(self.identities).items()
        yield from types_property(self.types).items()
        if self.former is not None:
            yield FORMER_PROPERTY, json.dumps(list(self.former))
