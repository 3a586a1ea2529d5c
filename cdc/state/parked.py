"""What a run leaves word of: tables that it could not go on with."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from cdc.model import PARKED_PROPERTY


@dataclass(frozen=True, slots=True)
class ParkedWord:
    """A table that is parked, or a topic of which no table could be written."""

    topic: str
    table: str | None
    reason: str
    since: str = field(compare=False)  # of the mirror's clock
    # Where the table waits: the next offset of each partition, as its ledger has it.
    offsets: Mapping[int, int] = field(default_factory=dict)

    def holds_at(self, offsets: Mapping[int, int]) -> bool:
        """Say whether a table is still where it was parked; one that went on is not parked."""
        return self.table is None or dict(self.offsets) == dict(offsets)


def read_words(properties: Mapping[str, str]) -> tuple[ParkedWord, ...]:
    """Read the word that a run left in the properties of its quarantine's table."""
    return tuple(
        ParkedWord(**{**entry, "offsets": {int(p): o for p, o in entry["offsets"].items()}})
        for entry in json.loads(properties.get(PARKED_PROPERTY, "[]"))
    )


def words_property(words: Iterable[ParkedWord]) -> dict[str, str]:
    """Give the table property that keeps the word."""
    entries = [asdict(word) for word in words]
    return {PARKED_PROPERTY: json.dumps(entries, separators=(",", ":"))}
