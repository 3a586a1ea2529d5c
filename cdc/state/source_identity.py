"""What a mirrored table remembers of the table that it is a mirror of."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from cdc.state.names import (
    DROPPED_PROPERTY,
    REPLACED_PROPERTY,
    SOURCE_PROPERTY,
    STALE_PROPERTY,
)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server knows a table by; it keeps the number under another name."""

    server: str
    number: int | None

    def __str__(self) -> str:
        return f"{self.server}/{'' if self.number is None else self.number}"

    @staticmethod
    def parse(text: str) -> "Identity | None":
        """Read an identity from a property; None where it tells none."""
        server, _, number = text.rpartition("/")
        return Identity(server, int(number) if number else None) if server else None


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment at the source: the place in its log and its clock, and when the mirror saw it."""

    since: str  # of the mirror's clock
    position: int | None = None
    time: int | None = None  # microseconds since 1970

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def parse(text: str) -> "Moment | None":
        """Read a moment from a property; None where it tells none."""
        return Moment(**json.loads(text)) if text else None


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """What the source's catalog knew a table by, and what became of it there."""

    identity: Identity | None = None
    dropped: Moment | None = None  # since when the source has no such table
    # From where in the source's log on the table is another one of the same name.
    replaced: Moment | None = None
    # Whether the table may have rows of such another one: an insert replaces them.
    stale_rows: bool = False

    @staticmethod
    def read(properties: Mapping[str, str]) -> "SourceIdentity":
        """Read what a table's properties say."""
        return SourceIdentity(
            Identity.parse(properties.get(SOURCE_PROPERTY, "")),
            Moment.parse(properties.get(DROPPED_PROPERTY, "")),
            Moment.parse(properties.get(REPLACED_PROPERTY, "")),
            properties.get(STALE_PROPERTY) == "true",
        )

    @property
    def properties(self) -> Iterator[tuple[str, str]]:
        """The properties that keep it."""
        if self.identity is not None:
            yield SOURCE_PROPERTY, str(self.identity)
        if self.dropped is not None:
            yield DROPPED_PROPERTY, str(self.dropped)
        if self.replaced is not None:
            yield REPLACED_PROPERTY, str(self.replaced)
        if self.stale_rows:
            yield STALE_PROPERTY, "true"

    def found(self, identity: Identity | None) -> "SourceIdentity":
        """Take note that the source has the table."""
        return replace(self, identity=identity, dropped=None)

    def gone(self, when: Moment) -> "SourceIdentity":
        """Take note that the source has no such table; since when is noted once."""
        return self if self.dropped is not None else replace(self, dropped=when)

    def made_again(self, identity: Identity | None, *, rows_go: bool) -> "SourceIdentity":
        """Take note that another table has the name: rows from before go, or may be stale."""
        if rows_go and self.dropped is not None:
            return replace(self, identity=identity, dropped=None, replaced=self.dropped)
        return replace(self, identity=identity, dropped=None, stale_rows=True)
