"""Batches without Kafka: messages in, real Spark and real Iceberg tables out."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cdc.commit import IcebergCatalog
from cdc.config import MirrorConfig
from cdc.decode import Wire
from cdc.dialect import Dialect
from cdc.errors import MirrorError
from cdc.observe import BatchProgress
from cdc.runtime.follow.context import open_context
from cdc.runtime.stream.batch import BatchRunner
from cdc.runtime.tables.mirrored_table import MirroredTable, note_partitions
from cdc.state.ledger import Ledger
from cdc.state.names import LEDGER_PROPERTY
from connectors import DIALECTS
from tests.spark.topic_log import MessageLog
from tests.unit.messages import Message

COLUMNS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("timestamp", pa.timestamp("us", "UTC")),
    ]
)
# Above this size Spark makes a partition of each batch of a table; below, it cuts them anywhere.
THRESHOLD = "spark.sql.execution.arrow.localRelationThreshold"
THRESHOLD_LOCK = Lock()  # all benches share a session

ARRIVAL = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Bench:
    """One run of a mirror: what a restarted process would be is another bench."""

    def __init__(
        self,
        spark: SparkSession,
        config: MirrorConfig,
        catalog: str | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        self.spark = spark
        self._catalog = catalog or config.name
        dialect = dialect or DIALECTS[config.source.connector]
        self.context = open_context(config, dialect, IcebergCatalog(spark, self._catalog))
        self.tables = self.context.tables
        self._batch: list[Message] = []
        # Records of earlier batches, for a batch that has to go back to them.
        self.topic: list[Message] = []
        self.log = MessageLog(lambda: [*self.topic, *self._batch], self.frame)
        self.runner = self._runner()

    def read_as(self, wire: Wire) -> None:
        """Read messages from now on as another config would."""
        self.context = replace(self.context, wire=wire)
        self.runner = self._runner()

    def note_partitions(self, topic: str, ends: Mapping[int, int]) -> None:
        """Let the tables of a topic know of its partitions, as a start does."""
        for target in self.tables.of_topic(topic):
            note_partitions(self.tables[target], ends)

    def _runner(self) -> BatchRunner:
        return BatchRunner(self.spark, self.context, self.log)

    def apply(self, *messages: Message) -> BatchProgress:
        """Run one batch; each topic partition is a task of its own, as Kafka's are."""
        self._batch = list(messages)
        progress, _ = self.runner.run(self.frame(self._batch), 0)
        return progress

    @property
    def parked(self) -> dict[str, MirrorError]:
        """Why tables are parked, by topic."""
        return self.tables.reasons()

    def table(self, topic: str) -> MirroredTable:
        """Give the first table of a topic."""
        return self.tables[self.tables.of_topic(topic)[0]]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Read a table, in the order of its first column."""
        found: pa.Table = self.spark.table(f"{self._catalog}.{name}").toArrow()
        rows: list[dict[str, Any]] = found.sort_by(found.column_names[0]).to_pylist()
        return rows

    def snapshots(self, name: str) -> int:
        """Count the snapshots of a table."""
        return self.spark.table(f"{self._catalog}.{name}.snapshots").count()

    def ledgers(self, name: str) -> list[Ledger]:
        """List the ledgers in a table's history, oldest first."""
        history = self.spark.table(f"{self._catalog}.{name}.snapshots").orderBy("committed_at")
        texts = [row.summary.get(LEDGER_PROPERTY) for row in history.collect()]
        return [Ledger.from_json(text) for text in texts if text]

    def frame(self, messages: list[Message]) -> DataFrame:
        """Give messages as Spark reads them from Kafka."""
        groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for m in messages:
            row = {
                "topic": m.topic,
                "partition": m.partition,
                "offset": m.offset,
                "key": m.key,
                "value": m.value,
                "timestamp": ARRIVAL,
            }
            groups.setdefault((m.topic, m.partition), []).append(row)
        batches = [pa.RecordBatch.from_pylist(group, COLUMNS) for group in groups.values()]
        with THRESHOLD_LOCK:
            self.spark.conf.set(THRESHOLD, 0)
            try:
                return self.spark.createDataFrame(pa.Table.from_batches(batches, COLUMNS))
            finally:
                self.spark.conf.unset(THRESHOLD)
