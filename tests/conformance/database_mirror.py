"""The driver for this project: real Spark and real Iceberg, with batches in place of Kafka."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from cdc.commit import IcebergCatalog
from cdc.config import MirrorConfig
from cdc.errors import MirrorError
from cdc.model import TableName
from cdc.runtime.follow.columns import ColumnFollower
from cdc.runtime.follow.describe import describe
from cdc.runtime.follow.follower import TableFollower
from cdc.source.topics import Record as FirstRecord
from cdc.state.ledger import Ledger
from connectors import DIALECTS
from tests.conformance.case import Case
from tests.conformance.matrix import Column
from tests.conformance.source import OLD_KEY, OWN, Action, Sent
from tests.spark.bench import Bench

Configure = Callable[..., MirrorConfig]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CATALOG = "shop"
MOST_PASSES = 3


class DatabaseMirror:
    """A mirror of all cases' tables in the ways of one column."""

    def __init__(
        self,
        spark: SparkSession,
        configure: Configure,
        column: Column,
        cases: Iterable[Case],
        registry: str,
    ) -> None:
        self._spark = spark
        self._configure = configure
        self._column = column
        self._registry = registry
        self._rules: dict[str, dict[str, Any]] = {
            case.name: dict(case.rule) for case in cases if case.rule
        }
        # What Kafka has: some batches have to go back to it.
        self._log: dict[tuple[str, int, int], Sent] = {}
        self._partitions: dict[str, int] = {}  # how many, by topic
        self._catalog = IcebergCatalog(spark, CATALOG)
        self._stopped: dict[str, str] = {}  # why, by table
        self._bench = Bench(spark, self._config(), CATALOG)
        self._killed = False  # it starts again when it is given something to read

    def apply(self, records: Sequence[Sent]) -> None:
        if self._killed:
            self._restart()
        new = {(record.topic, record.partition, record.offset): record for record in records}
        for attempt in range(MOST_PASSES):
            self._bench.log.headers = _old_keys(self._log | new)
            self._bench.topic = [record for place, record in self._log.items() if place not in new]
            try:
                self._bench.apply(*records)
                break
            except MirrorError as error:
                if not error.retryable or attempt == MOST_PASSES - 1:
                    raise
                self._log |= new
                self._restart()
        self._log |= new
        self._note_partitions()
        self._note_stopped()

    def do(self, action: Action) -> None:
        name = f"{self._column.name}.{action.table}"
        if action.kind == "topic":
            self._partitions[action.table] = action.argument
        elif action.kind == "compact":
            self._spark.sql(
                f"CALL {CATALOG}.system.rewrite_data_files("
                f"table => '{name}', options => map('rewrite-all', 'true'))"
            )
        elif action.kind == "rollback":
            snapshot = self._snapshots(name)[action.argument - 1]
            self._spark.sql(
                f"CALL {CATALOG}.system.rollback_to_snapshot("
                f"table => '{name}', snapshot_id => {snapshot})"
            )
            self._killed = True
        elif action.kind == "repartition":
            self._rules.setdefault(action.table, {})["partition"] = list(action.argument)
            self._killed = True
        else:
            self._killed = True

    def rows(self, table: str) -> list[dict[str, Any]]:
        found = self._bench.rows(f"{self._column.name}.{table}")
        return [{name: _whole(name, value) for name, value in row.items()} for row in found]

    def complaints(self, table: str, records: int) -> list[str]:
        """Hold the ledgers to their promise: every record is in one of the counts, and once."""
        loaded = self._catalog.load(TableName((self._column.name,), table))
        history = loaded.history() if loaded is not None else ()
        texts = [snapshot.ledger for snapshot in history if snapshot.ledger is not None]
        accounts = [Ledger.from_json(text).account for text in texts]
        wrong = [f"unbalanced: {account}" for account in accounts if not account.balanced]
        counted = sum(account.read - account.duplicates for account in accounts)
        if counted != records:
            wrong.append(f"the ledgers count {counted} records of {records}")
        return wrong

    def stopped(self, table: str) -> str | None:
        return self._stopped.get(table)

    def _snapshots(self, name: str) -> list[int]:
        history = self._spark.table(f"{CATALOG}.{name}.snapshots").orderBy("committed_at")
        return [row.snapshot_id for row in history.collect()]

    def _note_stopped(self) -> None:
        for (topic, table), reason in self._bench.tables.parked.items():
            self._stopped[table.table if table else topic.rpartition(".")[2]] = str(reason)

    def _restart(self) -> None:
        """Do what a new process does: open the tables of all topics, then go on."""
        self._killed = False
        self._bench = Bench(self._spark, self._config(), CATALOG)
        dialect = DIALECTS[self._config().source.connector]
        firsts = {record.topic: record for record in reversed(self._log.values())}
        for topic, first in firsts.items():
            record = FirstRecord(topic, first.partition, first.offset, first.key, first.value)
            try:
                context = self._bench.context
                news = describe(record, dialect, context.wire, context.source.columns)
                if news.table is not None:
                    TableFollower(context, ColumnFollower(context)).admit(record.topic, news)
            except MirrorError as error:
                self._bench.tables.park((topic, None), error)
        self._note_partitions()

    def _note_partitions(self) -> None:
        """Say how long the topics are, as they are asked at a start."""
        ends = {
            f"{self._column.name}.public.{table}": dict.fromkeys(range(partitions), 0)
            for table, partitions in self._partitions.items()
        }
        for topic, partition, offset in self._log:
            ends[topic][partition] = max(ends[topic][partition], offset + 1)
        for topic, places in ends.items():
            self._bench.note_partitions(topic, places)

    def _config(self) -> MirrorConfig:
        lines = ["[registry]", f'url = "{self._registry}"', "[tables.defaults]"]
        lines += _toml(self._column.defaults)
        for name, rule in self._rules.items():
            lines += ["[[tables.rules]]", f'match = "public.{name}"', *_toml(rule)]
        # Under a name of its own: the columns run side by side, and share no quarantine.
        return self._configure(name=self._column.name, more="\n".join(lines))


def _toml(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_toml_value(value)}" for name, value in settings.items()]


def _toml_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(_toml(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(value)


def _whole(name: str, value: Any) -> Any:
    if not name.startswith(OWN) or not isinstance(value, datetime):
        return value
    return (value - EPOCH) / timedelta(milliseconds=1)


def _old_keys(records: Mapping[tuple[str, int, int], Sent]) -> dict[tuple[str, int, int], bytes]:
    """Give the keys that rows had before, as the headers of records say them."""
    headers = {place: dict(record.headers) for place, record in records.items()}
    return {place: found[OLD_KEY] for place, found in headers.items() if OLD_KEY in found}
