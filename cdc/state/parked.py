"""Parked tables, as a mirror remembers them for other processes such as `status`."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from cdc.state.names import PARKED_PROPERTY


@dataclass(frozen=True, slots=True)
class ParkedTable:
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


def read_parked(properties: Mapping[str, str]) -> tuple[ParkedTable, ...]:
    """Read from the properties of the quarantine's table which tables are parked."""
    return tuple(
        ParkedTable(**{**entry, "offsets": {int(p): o for p, o in entry["offsets"].items()}})
        for entry in json.loads(properties.get(PARKED_PROPERTY, "[]"))
    )


def parked_property(parked: Iterable[ParkedTable]) -> dict[str, str]:
    """Give the property that keeps it."""
    entries = [asdict(table) for table in parked]
    return {PARKED_PROPERTY: json.dumps(entries, separators=(",", ":"))}
