"""What a mirror remembers of topics that it has left: their tables were renamed or dropped."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from cdc.model import RESERVED

# Of the quarantine's table.
RETIRED_PROPERTY: Final = RESERVED + "retired"


@dataclass(frozen=True, slots=True)
class LeftTable:
    """A table that had a topic: its name levels, and those that it got."""

    uuid: str
    name: tuple[str, ...]
    location: str
    new_name: tuple[str, ...] | None = None  # a dropped one has none


@dataclass(frozen=True, slots=True)
class RetiredTopic:
    """A topic whose records up to some offsets are nobody's any more."""

    topic: str
    offsets: Mapping[int, int]  # the next one of each partition
    tables: tuple[LeftTable, ...]
    when: str  # of the mirror's clock
    # The topic of the renamed tables, and how many partitions it had.
    successor: str | None = None
    width: int = 0
    # The place in the source's log up to which records are of a dropped table.
    position: int | None = None
    time: int | None = None
    done: bool = field(default=False, compare=False)

    def is_over(self, ends: Mapping[int, int]) -> bool:
        """Say whether nothing has come since, from the next offsets of the partitions."""
        return all(end <= self.offsets.get(partition, 0) for partition, end in ends.items())


def read_retired(properties: Mapping[str, str]) -> dict[str, RetiredTopic]:
    """Read what the properties of the quarantine's table tell of topics that were left."""
    found = {}
    for entry in json.loads(properties.get(RETIRED_PROPERTY, "[]")):
        entry["offsets"] = {int(p): offset for p, offset in entry["offsets"].items()}
        entry["tables"] = tuple(
            LeftTable(
                table["uuid"],
                tuple(table["name"]),
                table["location"],
                None if table["new_name"] is None else tuple(table["new_name"]),
            )
            for table in entry["tables"]
        )
        found[entry["topic"]] = RetiredTopic(**entry)
    return found


def retired_property(topics: Iterable[RetiredTopic]) -> dict[str, str]:
    """Give the property that keeps it."""
    entries = [asdict(topic) for topic in topics]
    return {RETIRED_PROPERTY: json.dumps(entries, separators=(",", ":"))}
