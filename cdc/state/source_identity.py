"""Where a mirrored table comes from, as the table itself keeps it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Final

from cdc.model import RESERVED, TOPIC_PROPERTY, Ledger

# What the source's own catalog knows the table by: its server, and a number.
SOURCE_PROPERTY: Final = RESERVED + "source"
# Since when the source has no such table; empty where it has one again.
DROPPED_PROPERTY: Final = RESERVED + "dropped"
# The place in the source's log from which on the table is another one of the same name.
REPLACED_PROPERTY: Final = RESERVED + "replaced"
# Whether the table has rows of another one that its source has replaced: an insert of the same key
# takes their place.
STALE_PROPERTY: Final = RESERVED + "stale_rows"
# The topic that a renamed table had, and the number of the last batch that it got from there.
FORMER_PROPERTY: Final = RESERVED + "former"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server knows a table by; it keeps the number under another name."""

    server: str
    number: int | None

    def __str__(self) -> str:
        return f"{self.server}/{'' if self.number is None else self.number}"

    @staticmethod
    def read(properties: Mapping[str, str]) -> "Identity | None":
        """Read what a table was known by when somebody looked last."""
        server, _, number = properties.get(SOURCE_PROPERTY, "").rpartition("/")
        return Identity(server, int(number) if number else None) if server else None


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment at the source: the place in its log and its clock, and when the mirror saw it."""

    since: str  # of the mirror's clock
    position: int | None = None
    time: int | None = None  # microseconds since 1970

    def text(self) -> str:
        """Write the moment as a table property has it."""
        return json.dumps(asdict(self))

    @staticmethod
    def read(properties: Mapping[str, str], name: str) -> "Moment | None":
        """Read the moment that a property tells, if it tells any."""
        text = properties.get(name)
        return Moment(**json.loads(text)) if text else None


def former_property(ledger: Ledger) -> dict[str, str]:
    """Give the property that tells what a table had of its topic when it left it."""
    return {FORMER_PROPERTY: json.dumps([ledger.topic, ledger.batch])}


def current_ledger(ledger: Ledger, properties: Mapping[str, str]) -> Ledger | None:
    """Give what a ledger says of the topic that its table has now.

    One from before the table was renamed is of another topic, of which the table had everything:
    the new topic starts at its first record. None if it is older than that: the table was set back
    to where it had not had everything, and nobody reads the old topic any more.
    """
    topic = properties.get(TOPIC_PROPERTY, ledger.topic)
    if ledger.topic == topic:
        return ledger
    if json.loads(properties.get(FORMER_PROPERTY, "[]")) != [ledger.topic, ledger.batch]:
        return None
    return replace(ledger, topic=topic, partitions={}, pending_cutoff=None)
