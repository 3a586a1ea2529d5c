"""What a table did to follow its source, as the table itself keeps it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from cdc.config import ChangeKind
from cdc.model import SchemaEvent, SchemaPlace
from cdc.state.names import SCHEMA_LOG_PROPERTY

CREATED = "create"
FIRST_SCHEMA = 0  # Iceberg's number of the schema that a table is made with
_PLACE = ("partition", "offset", "position", "time")


def read_log(properties: Mapping[str, str]) -> tuple[SchemaEvent, ...]:
    """Read what a table did, in the order in which it did it."""
    entries = json.loads(properties.get(SCHEMA_LOG_PROPERTY, "[]"))
    return tuple(
        SchemaEvent(**{**entry, "place": SchemaPlace(*entry["place"])}) for entry in entries
    )


def log_property(events: Iterable[SchemaEvent]) -> dict[str, str]:
    """Give the table property that keeps what a table did."""
    entries = []
    for event in events:
        entry = {name: value for name, value in asdict(event).items() if value is not None}
        entry["place"] = [getattr(event.place, name) for name in _PLACE]
        entries.append(entry)
    return {SCHEMA_LOG_PROPERTY: json.dumps(entries, separators=(",", ":"))}


def created(place: SchemaPlace, when: str) -> SchemaEvent:
    """Note that a table was made for a schema."""
    text = "CREATE TABLE"
    return SchemaEvent(CREATED, "", place, text=text, when=when, new_schema=FIRST_SCHEMA)


def table_event(kind: ChangeKind, text: str, place: SchemaPlace, when: str) -> SchemaEvent:
    """Note what became of a whole table; its columns stay as they are."""
    return SchemaEvent(kind.value, "", place, text=text, when=when)


def since(place: SchemaPlace, events: Sequence[SchemaEvent]) -> tuple[SchemaEvent, ...]:
    """Give what a table did after a place in the source's log."""
    for number, event in enumerate(events):
        if _before(place, event.place):
            return tuple(events[number:])
    return ()


def _before(place: SchemaPlace, other: SchemaPlace) -> bool:
    """Say whether one place is before another; after a failover the time says so."""
    later = None not in (place.time, other.time) and (place.time or 0) > (other.time or 0)
    return 0 <= place.position < other.position and not later
