"""Replays without Kafka: the records of a bench are what Kafka would have."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from cdc.commit import IcebergCatalog
from cdc.config import MirrorConfig, RecordFormat
from cdc.decode import Wire
from cdc.observe.replay_report import TableReplay
from cdc.runtime.follow.context import open_context
from cdc.runtime.replay.replay import Replayer
from cdc.state.names import QUARANTINE
from connectors import DIALECTS
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.spark.topic_log import MessageLog
from tests.unit.messages import Message, Table


class ReplayBench:
    """A process of its own that replays beside a bench."""

    def __init__(
        self,
        bench: Bench,
        config: MirrorConfig,
        kafka: Sequence[Message],
        *,
        first: int = 0,
        dry_run: bool = False,
        anyway: bool = False,
    ) -> None:
        """Prepare.

        Args:
            bench: Whose tables and quarantine are meant.
            config: With the cause removed.
            kafka: What Kafka got; it may grow.
            first: The first offset that it still has, of every partition.
            dry_run: As for the command.
            anyway: As for the command.
        """
        self.bench = bench
        self.log = MessageLog(lambda: kafka, bench.frame, first)
        dialect = DIALECTS[config.source.connector]
        catalog = IcebergCatalog(bench.spark, config.name)
        self.context = open_context(config, dialect, catalog, dry_run=dry_run)
        self.tables = self.context.tables
        self.replayer = Replayer(
            bench.spark,
            self.context,
            self.log,
            anyway=anyway,
        )

    def run(self, table: Table, name: str = "orders") -> TableReplay:
        """Replay the records of one table."""
        (outcome,) = self.replayer.run(f"{table.server}.{name}")
        return outcome


def waiting(bench: Bench, table: Table) -> list[dict[str, Any]]:
    """Read what is in quarantine of a table's topic, in the order of its places."""
    rows = [r for r in bench.rows(f"shop.{QUARANTINE}") if r["topic"] == table.topic]
    return sorted(rows, key=lambda row: (row["table"], row["partition"], row["offset"]))


def config_of(configure: Configure, table: Table, rule: str, *, fixed: bool) -> MirrorConfig:
    """Make a config; its types refuse infinity, or take null for it."""
    types = 'types = { at = "timestamp or null" }' if fixed else ""
    return configure(
        topics=f"{table.server}.*",
        more=f'[[tables.rules]]\nmatch = "public.*"\n{rule}\n{types}',
    )


class Scene:
    """A mirror with bad records, and the replays after their cause is removed."""

    def __init__(self, spark: SparkSession, configure: Configure, table: Table, rule: str) -> None:
        self.table, self.rule, self.configure = table, rule, configure
        self.bench = Bench(spark, config_of(configure, table, rule, fixed=False))
        self.kafka: list[Message] = []

    def apply(self, *messages: Message) -> None:
        """Run a batch; its records are in Kafka from then on."""
        self.bench.topic = list(self.kafka)
        self.kafka += messages
        assert self.bench.apply(*messages).account.balanced

    def spoil(self, *messages: Message) -> None:
        """Run a batch with a setting under which nothing can be read."""
        self._set_format(RecordFormat.AVRO)
        self.apply(*messages)
        self._set_format(RecordFormat.AUTO)

    def replay(self, *, fixed: bool = True, **options: Any) -> ReplayBench:
        """Prepare a replay."""
        config = config_of(self.configure, self.table, self.rule, fixed=fixed)
        return ReplayBench(self.bench, config, self.kafka, **options)

    @property
    def offsets(self) -> list[int]:
        """What is in quarantine."""
        return [kept["offset"] for kept in waiting(self.bench, self.table)]

    def rows(self, *names: str) -> list[tuple[Any, ...]]:
        """Read some columns of the table."""
        found = self.bench.rows(f"{self.table.server}.orders")
        return sorted((tuple(row[name] for name in names) for row in found), key=str)

    def _set_format(self, wanted: RecordFormat) -> None:
        self.bench.read_as(Wire(wanted))
