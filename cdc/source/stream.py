"""The records of a mirror's topics as Spark reads them."""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from cdc.config import MirrorConfig
from cdc.source.client_options import java_options
from cdc.source.topics import topic_pattern

COLUMNS = ("topic", "partition", "offset", "key", "value", "timestamp")

Offsets = Mapping[tuple[str, int], int]


def open_stream(spark: SparkSession, config: MirrorConfig, start: Offsets) -> DataFrame:
    """Stream all matching topics; those that appear later join at their first record."""
    reader = spark.readStream.format("kafka").options(**reader_options(config))
    return (
        reader.option("subscribePattern", topic_pattern(config.source.topics))
        .option("startingOffsets", _offsets_json(start) if start else "earliest")
        .option("maxOffsetsPerTrigger", config.stream.max_records)
        .load()
        .select(*COLUMNS)
    )


def read_range(
    spark: SparkSession, config: MirrorConfig, first: Offsets, next_: Offsets
) -> DataFrame:
    """Read given records again."""
    partitions: dict[str, list[int]] = {}
    for topic, partition in first:
        partitions.setdefault(topic, []).append(partition)
    reader = spark.read.format("kafka").options(**reader_options(config))
    return (
        reader.option("assign", json.dumps(partitions))
        .option("startingOffsets", _offsets_json(first))
        .option("endingOffsets", _offsets_json(next_))
        .load()
        .select(*COLUMNS)
    )


def reader_options(config: MirrorConfig) -> dict[str, Any]:
    """Give the options of Spark's Kafka reader; what the config says counts more than ours."""
    client = {f"kafka.{k}": v for k, v in java_options(config.kafka.client_options()).items()}
    return {
        # Changes of a transaction that Kafka Connect gave up are none.
        "kafka.isolation.level": "read_committed",
        # A batch reads what is there. Its clients ask for more as soon as they have it, and with
        # Kafka's half a second every topic of every batch would wait for what nobody wants.
        "kafka.fetch.max.wait.ms": "10",
        **client,
        "failOnDataLoss": "true",
    }


def _offsets_json(offsets: Offsets) -> str:
    nested: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in offsets.items():
        nested.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(nested)
