"""What a mirror remembers as a whole, in the properties of its own table, the quarantine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyiceberg.schema import Schema

from cdc.state.left_topics import LeftTopic, read_left_topics
from cdc.state.names import MIRROR_PROPERTY, QUARANTINED_PROPERTY
from cdc.state.parked import ParkedTable, read_parked
from cdc.state.version import STATE_VERSION, migrate, version_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorState:
    """Whose the quarantine is, how far bad records are in it, and what concerns all tables."""

    mirror: str | None = None
    # The next offset of each partition, by topic and table as the quarantine names them.
    quarantined: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    parked: tuple[ParkedTable, ...] = ()
    left: Mapping[str, LeftTopic] = field(default_factory=dict)
    version: int = STATE_VERSION  # in which the table itself still has it

    @staticmethod
    def read(properties: Mapping[str, str], table: str) -> "MirrorState":
        """Read what a mirror remembers, of whichever version.

        Raises:
            UnknownStateVersionError: A newer mirror wrote it.
        """
        known = migrate(properties, Schema(), table)
        return MirrorState(
            mirror=known.get(MIRROR_PROPERTY),
            quarantined=read_quarantined(known),
            parked=read_parked(known),
            left=read_left_topics(known),
            version=version_of(properties),
        )


def read_quarantined(properties: Mapping[str, str]) -> dict[str, dict[int, int]]:
    """Read up to where bad records are in quarantine."""
    marks = json.loads(properties.get(QUARANTINED_PROPERTY, "{}"))
    return {
        name: {int(partition): next_ for partition, next_ in parts.items()}
        for name, parts in marks.items()
    }


def quarantined_text(marks: Mapping[str, Mapping[int, int]]) -> str:
    """Write up to where bad records are in quarantine."""
    return json.dumps(marks)
