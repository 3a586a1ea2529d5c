"""Which Kafka partition's keys a data file may hold, and whether keys move between partitions.

A key stays in its partition for as long as the topic has as many partitions and the bytes of its
keys begin alike. When that changes, keys go on in other partitions: until everything from before is
applied, changes of one key may be in two of them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from cdc.model import LiveFile, PartitionMark
from cdc.state.names import (
    KEY_FORMS_PROPERTY,
    LANES_PROPERTY,
    MOVING_PROPERTY,
    PARTITIONS_PROPERTY,
    REKEYED_PROPERTY,
)

NEVER: Final = -1  # before every sequence number


@dataclass(frozen=True, slots=True)
class Lanes:
    """What a table remembers of its topic's partitions. A lane is one of them, as files have it."""

    partition_count: int | None = None  # None before anybody has looked
    key_forms: frozenset[str] = frozenset()  # how the bytes of the records' keys began so far
    # The sequence number up to which a data file may hold keys of any partition.
    any_until: int | None = None
    # The offsets up to which changes of one key may be in two partitions.
    moving_until: Mapping[int, int] = field(default_factory=dict)
    # The sequence number up to which files may hold, under one key, a row that was deleted after a
    # newer row of theirs: they were written under another key.
    rekeyed_until: int | None = None

    @staticmethod
    def read(properties: Mapping[str, str]) -> "Lanes":
        """Read what a table's properties say."""

        def number(name: str) -> int | None:
            return int(properties[name]) if name in properties else None

        moving = json.loads(properties.get(MOVING_PROPERTY, "{}"))
        return Lanes(
            partition_count=number(PARTITIONS_PROPERTY),
            key_forms=frozenset(json.loads(properties.get(KEY_FORMS_PROPERTY, "[]"))),
            any_until=number(LANES_PROPERTY),
            moving_until={int(partition): end for partition, end in moving.items()},
            rekeyed_until=number(REKEYED_PROPERTY),
        )

    @property
    def properties(self) -> Iterator[tuple[str, str]]:
        """The properties that keep it."""
        if self.partition_count is not None:
            yield PARTITIONS_PROPERTY, str(self.partition_count)
        if self.key_forms:
            yield KEY_FORMS_PROPERTY, json.dumps(sorted(self.key_forms))
        if self.any_until is not None:
            yield LANES_PROPERTY, str(self.any_until)
        if self.moving_until:
            yield MOVING_PROPERTY, json.dumps({str(p): end for p, end in self.moving_until.items()})
        if self.rekeyed_until is not None:
            yield REKEYED_PROPERTY, str(self.rekeyed_until)

    def with_partitions(self, ends: Mapping[int, int], sequence: int, *, has_rows: bool) -> "Lanes":
        """Take note of the topic's partitions: more of them mean that keys have moved.

        Args:
            ends: The next offset of each partition.
            sequence: The sequence number of the table's newest snapshot.
            has_rows: Whether the table has applied anything.
        """
        grown = self.partition_count is not None and self.partition_count < len(ends)
        moved = self._moved(ends, sequence) if grown and has_rows else self
        return replace(moved, partition_count=len(ends))

    def with_key_forms(
        self, forms: frozenset[str], ends: Mapping[int, int], sequence: int
    ) -> "Lanes":
        """Take note of another beginning of the records' keys: Kafka Connect spreads by all bytes.

        Args:
            forms: How keys of a batch begin.
            ends: The next offset of each partition.
            sequence: The sequence number of the table's newest snapshot.
        """
        known = self.key_forms | forms
        moved = self._moved(ends, sequence) if len(known) > 1 else self
        return replace(moved, key_forms=known)

    def with_key(self, sequence: int, *, narrower: bool) -> "Lanes":
        """Take note of another key: its rows come through other partitions than until now.

        Args:
            sequence: The sequence number of the table's newest snapshot.
            narrower: Whether rows of one new key were rows of one old key. An index tells which of
                a key's rows was written last, and takes that for the only one that can be left:
                otherwise it is not.
        """
        rekeyed = self.rekeyed_until if narrower else sequence
        return replace(self, any_until=sequence, rekeyed_until=rekeyed)

    def with_topic(self, partition_count: int, sequence: int) -> "Lanes":
        """Take note of another topic, in which a key may have another partition."""
        return replace(self, partition_count=partition_count, any_until=sequence, moving_until={})

    def keys_moving(self, marks: Mapping[int, PartitionMark]) -> bool:
        """Say whether changes of one key may still come through two partitions."""
        return any(
            partition not in marks or marks[partition].next_offset < end
            for partition, end in self.moving_until.items()
            if end > 0
        )

    def of(self, files: Iterable[LiveFile]) -> tuple[LiveFile, ...]:
        """Say of data files which lane they hold: older ones may hold keys of any."""
        until = NEVER if self.any_until is None else self.any_until
        return tuple(replace(f, lane=None) if f.sequence <= until else f for f in files)

    def has_rekeyed(self, files: Iterable[LiveFile]) -> bool:
        """Say whether a data file was written under another key."""
        until = NEVER if self.rekeyed_until is None else self.rekeyed_until
        return any(file.sequence <= until for file in files)

    def _moved(self, ends: Mapping[int, int], sequence: int) -> "Lanes":
        return replace(self, any_until=sequence, moving_until=dict(ends))
