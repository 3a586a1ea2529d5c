"""The one door of a batch to Kafka, beside the records that the stream hands it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from cdc.config import MirrorConfig
from cdc.source.stream import Offsets, read_range
from cdc.source.topics import OffsetRange, open_topics


class TopicLog(Protocol):
    """What Kafka has of topics."""

    def read(self, first: Offsets, next_: Offsets) -> DataFrame:
        """Read given records once more: from the first offsets up to the next ones."""
        ...

    def ranges(self, topic: str) -> Mapping[int, OffsetRange]:
        """Say how far each partition of a topic goes; nothing of a topic that is gone."""
        ...

    def header(self, topic: str, partition: int, offset: int, name: str) -> bytes | None:
        """Read one header of one record; None where the record or the header is not there."""
        ...


@dataclass(frozen=True, slots=True)
class KafkaLog:
    """The log itself."""

    spark: SparkSession
    config: MirrorConfig

    def read(self, first: Offsets, next_: Offsets) -> DataFrame:
        """Read given records once more: from the first offsets up to the next ones."""
        return read_range(self.spark, self.config, first, next_)

    def ranges(self, topic: str) -> dict[int, OffsetRange]:
        """Say how far each partition of a topic goes; nothing of a topic that is gone."""
        with open_topics(self.config.kafka.client_options()) as reader:
            ranges = reader.ranges({topic: reader.matching([topic]).get(topic, ())})
        return {partition: held for (_, partition), held in ranges.items()}

    def header(self, topic: str, partition: int, offset: int, name: str) -> bytes | None:
        """Read one header of one record; None where the record or the header is not there."""
        with open_topics(self.config.kafka.client_options()) as reader:
            return reader.header(topic, partition, offset, name)
