"""Topics that a mirror has left, since their tables were renamed or dropped at the source."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from cdc.model import TableName
from cdc.state.names import LEFT_PROPERTY


@dataclass(frozen=True, slots=True)
class LeftTable:
    """A table that had a topic: its name, and the one that it got."""

    uuid: str
    name: TableName
    location: str
    new_name: TableName | None = None  # a dropped one has none


@dataclass(frozen=True, slots=True)
class LeftTopic:
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


def read_left_topics(properties: Mapping[str, str]) -> dict[str, LeftTopic]:
    """Read from the properties of the quarantine's table which topics were left."""
    found = {}
    for entry in json.loads(properties.get(LEFT_PROPERTY, "[]")):
        entry["offsets"] = {int(p): offset for p, offset in entry["offsets"].items()}
        entry["tables"] = tuple(
            LeftTable(
                table["uuid"], _name(table["name"]), table["location"], _maybe(table["new_name"])
            )
            for table in entry["tables"]
        )
        found[entry["topic"]] = LeftTopic(**entry)
    return found


def left_topics_property(topics: Iterable[LeftTopic]) -> dict[str, str]:
    """Give the property that keeps it."""
    return {LEFT_PROPERTY: json.dumps([_entry(t) for t in topics], separators=(",", ":"))}


def _entry(topic: LeftTopic) -> dict[str, object]:
    tables = [
        {
            "uuid": table.uuid,
            "name": _levels(table.name),
            "location": table.location,
            "new_name": None if table.new_name is None else _levels(table.new_name),
        }
        for table in topic.tables
    ]
    return {**asdict(topic), "tables": tables}


def _levels(name: TableName) -> list[str]:
    return [*name.namespace, name.table]


def _name(levels: list[str]) -> TableName:
    return TableName(tuple(levels[:-1]), levels[-1])


def _maybe(levels: list[str] | None) -> TableName | None:
    return None if levels is None else _name(levels)
