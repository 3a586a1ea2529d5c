"""How a batch gets at records beyond its own."""

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame

Offsets = Mapping[tuple[str, int], int]
# Reads given records once more: from the first offsets up to the next ones.
Reread = Callable[[Offsets, Offsets], DataFrame]
# Gives the header of a record that holds the key which its row had before, if there is one.
OldKeys = Callable[[str, int, int], bytes | None]
# Gives what Kafka holds of the partitions of a topic: the first offset, and the next one.
Held = Callable[[str], Mapping[int, tuple[int, int]]]


def no_old_keys(topic: str, partition: int, offset: int) -> bytes | None:
    """Know of no row that had another key."""
    return None


def holds_nothing(topic: str) -> dict[int, tuple[int, int]]:
    """Know of no record beyond those of a batch."""
    return {}
