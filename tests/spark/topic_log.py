"""A log of messages, as Kafka would have it."""

from collections.abc import Callable, Iterable, Mapping

from pyspark.sql import DataFrame

from cdc.source.topics import OffsetRange
from tests.unit.messages import Message

Offsets = Mapping[tuple[str, int], int]


class MessageLog:
    """Messages in place of Kafka."""

    def __init__(
        self,
        messages: Callable[[], Iterable[Message]],
        frame: Callable[[list[Message]], DataFrame],
        first: int | None = None,
    ) -> None:
        """Prepare.

        Args:
            messages: Gives what Kafka got so far.
            frame: Gives messages as Spark reads them.
            first: The first offset that it still has of every partition; None for all of them.
        """
        self._messages = messages
        self._frame = frame
        self._first = first
        # Headers that say which key a row had before, by topic, partition and offset.
        self.headers: dict[tuple[str, int, int], bytes] = {}

    def read(self, first: Offsets, next_: Offsets) -> DataFrame:
        wanted = [
            m
            for m in self._there()
            if first.get((m.topic, m.partition), 1)
            <= m.offset
            < next_.get((m.topic, m.partition), 0)
        ]
        return self._frame(wanted)

    def ranges(self, topic: str) -> dict[int, OffsetRange]:
        offsets: dict[int, list[int]] = {}
        for m in self._there():
            if m.topic == topic:
                offsets.setdefault(m.partition, []).append(m.offset)
        return {
            partition: OffsetRange(
                min(found) if self._first is None else self._first, max(found) + 1
            )
            for partition, found in offsets.items()
        }

    def header(self, topic: str, partition: int, offset: int, name: str) -> bytes | None:
        return self.headers.get((topic, partition, offset))

    def _there(self) -> list[Message]:
        return [m for m in self._messages() if self._first is None or m.offset >= self._first]
