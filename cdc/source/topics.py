"""Which topics a mirror reads, and how far each goes."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from cdc.errors import KafkaUnreachableError
from cdc.source.client_options import librdkafka_options

ANSWER_SECONDS = 10.0
POLL_SECONDS = 0.1
# Of a topic this many records are looked at to find one that is not a tombstone.
PEEKED_RECORDS = 50


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """What Kafka holds of one partition."""

    first: int
    next: int


@dataclass(frozen=True, slots=True)
class Record:
    """One record, as it lies in its topic."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    time: int = -1  # when Kafka or its producer says that it came: milliseconds since 1970


def topic_pattern(globs: Sequence[str]) -> str:
    """Join topic globs into one regular expression that Java and Python read alike."""
    return "|".join(f"(?:{_glob_expression(glob)})" for glob in globs)


def _glob_expression(glob: str) -> str:
    # fnmatch's own translation uses syntax that Java does not have.
    parts = re.findall(r"\[!?[^\[\]]+\]|.", glob, re.DOTALL)
    return "".join(_glob_part(part) for part in parts)


def _glob_part(part: str) -> str:
    if part in ("*", "?"):
        return ".*" if part == "*" else "."
    if len(part) == 1:
        return re.escape(part)
    negated = "^" if part[1] == "!" else ""
    letters = part[1:-1].removeprefix("!")
    return f"[{negated}{''.join(c if c == '-' else re.escape(c) for c in letters)}]"


class TopicReader:
    """Looks at topics without consuming them."""

    def __init__(self, consumer: Consumer, servers: str) -> None:
        self._consumer = consumer
        self._servers = servers

    def matching(self, globs: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """List the topics that match, with their partitions.

        Raises:
            KafkaUnreachableError: No broker answers, or it refuses the client.
        """
        pattern = re.compile(topic_pattern(globs))
        with self._translated():
            topics = self._consumer.list_topics(timeout=ANSWER_SECONDS).topics
        return {
            name: tuple(sorted(topics[name].partitions))
            for name in sorted(topics)
            if pattern.fullmatch(name)
        }

    def ranges(self, topics: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], OffsetRange]:
        """Ask how far each partition goes: two questions for all of them, and not two for each."""
        places = [(topic, number) for topic, numbers in topics.items() for number in numbers]
        with self._translated():
            first, next_ = (self._offsets(places, end) for end in (OFFSET_BEGINNING, OFFSET_END))
        return {place: OffsetRange(first[place], next_[place]) for place in places}

    def _offsets(self, places: Sequence[tuple[str, int]], end: int) -> dict[tuple[str, int], int]:
        """Ask for the first or the next offset of partitions; for Kafka these too are times."""
        asked = [TopicPartition(*place, end) for place in places]
        found = self._consumer.offsets_for_times(asked, timeout=ANSWER_SECONDS) if asked else []
        for answer in found:
            if answer.error is not None:
                raise KafkaException(answer.error)
        return {(answer.topic, answer.partition): answer.offset for answer in found}

    def peek(self, ranges: Mapping[tuple[str, int], OffsetRange]) -> dict[str, Record]:
        """Read the first record with a value of each topic, if it is among the first few."""
        waiting = {
            place: min(held.next, held.first + PEEKED_RECORDS)
            for place, held in ranges.items()
            if held.next > held.first
        }
        found: dict[str, Record] = {}
        with self._translated():
            self._consumer.assign([TopicPartition(*p, ranges[p].first) for p in waiting])
            deadline = time.monotonic() + ANSWER_SECONDS
            while waiting and time.monotonic() < deadline:
                for record in self._records():
                    place = (record.topic, record.partition)
                    if record.value is not None:
                        found.setdefault(record.topic, record)
                    elif record.offset + 1 < waiting.get(place, 0):
                        continue
                    if waiting.pop(place, None) is not None:
                        self._consumer.incremental_unassign([TopicPartition(*place)])
            self._consumer.unassign()
        return found

    def latest(self, ranges: Mapping[tuple[str, int], OffsetRange]) -> dict[str, list[Record]]:
        """Read the last record with a value of each partition, if it is among the last few."""
        waiting = {place for place, held in ranges.items() if held.next > held.first}
        found: dict[tuple[str, int], Record] = {}
        with self._translated():
            starts = {p: max(ranges[p].first, ranges[p].next - PEEKED_RECORDS) for p in waiting}
            self._consumer.assign([TopicPartition(*p, start) for p, start in starts.items()])
            deadline = time.monotonic() + ANSWER_SECONDS
            while waiting and time.monotonic() < deadline:
                for record in self._records(ended=waiting):
                    if record.value is not None:
                        found[record.topic, record.partition] = record
            self._consumer.unassign()
        by_topic: dict[str, list[Record]] = {}
        for (topic, _), record in found.items():
            by_topic.setdefault(topic, []).append(record)
        return by_topic

    def times(self, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int | None]:
        """Read when the first record at or behind an offset of each partition came.

        None where no record is there: the end is near, and up to it are marks of transactions.
        A partition that does not answer in time is left out.
        """
        waiting = set(offsets)
        found: dict[tuple[str, int], int | None] = {}
        with self._translated():
            self._consumer.assign([TopicPartition(*p, offset) for p, offset in offsets.items()])
            deadline = time.monotonic() + ANSWER_SECONDS
            while waiting and time.monotonic() < deadline:
                for record in self._records(ended=waiting):
                    place = (record.topic, record.partition)
                    if place in waiting:
                        found[place] = record.time
                        waiting.discard(place)
                        self._consumer.incremental_unassign([TopicPartition(*place)])
            self._consumer.unassign()
        return {place: found.get(place) for place in offsets if place not in waiting}

    def header(self, topic: str, partition: int, offset: int, name: str) -> bytes | None:
        """Read one header of one record; None where the record or the header is not there."""
        with self._translated():
            self._consumer.assign([TopicPartition(topic, partition, offset)])
            deadline = time.monotonic() + ANSWER_SECONDS
            try:
                while time.monotonic() < deadline:
                    for message in self._consumer.consume(num_messages=1, timeout=POLL_SECONDS):
                        if message.error():
                            continue
                        if message.offset() != offset:
                            return None
                        headers = dict(message.headers() or [])
                        found = headers.get(name)
                        return found if isinstance(found, bytes) else None
            finally:
                self._consumer.unassign()
        return None

    def _records(self, ended: set[tuple[str, int]] | None = None) -> Iterator[Record]:
        """Read some records; partitions that are read up are taken out of `ended`."""
        for message in self._consumer.consume(num_messages=100, timeout=POLL_SECONDS):
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            if topic is None or partition is None or offset is None:
                continue
            error = message.error()
            if error is not None:
                if ended is not None and error.code() == KafkaError._PARTITION_EOF:
                    ended.discard((topic, partition))
                continue
            time_of_it = message.timestamp()[1]
            yield Record(topic, partition, offset, message.key(), message.value(), time_of_it)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            raise KafkaUnreachableError(self._servers, _reason(error)) from error


@contextmanager
def open_topics(options: Mapping[str, str]) -> Iterator[TopicReader]:
    """Open a client for looking at topics."""
    servers = options["bootstrap.servers"]
    problems: list[str] = []
    settings = {
        **librdkafka_options(options),
        "group.id": "database-mirror-peek",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        # The last offset of a partition may be no record, but a mark of a transaction.
        "enable.partition.eof": True,
        "socket.connection.setup.timeout.ms": 5000,
        "error_cb": lambda error: problems.append(error.str()),
        "log_level": 0,
    }
    try:
        consumer = Consumer(settings)
    except KafkaException as error:
        raise KafkaUnreachableError(servers, _reason(error)) from error
    try:
        yield TopicReader(consumer, servers)
    except KafkaUnreachableError as error:
        # The error itself says only that time ran out; polling lets the client say why.
        consumer.poll(POLL_SECONDS)
        raise KafkaUnreachableError(servers, problems[-1] if problems else error.reason) from error
    finally:
        consumer.close()


def _reason(error: KafkaException) -> str:
    return str(error.args[0].str() if error.args else error)
