"""What it costs to replace rows by position, next to equality deletes and to MERGE INTO.

Three mirrors of one topic, alike but for how they replace rows, get the same records: a snapshot of
1 million rows, then 500,000 changes to rows anywhere in it. They take turns batch by batch, each
first once in a while, so that whatever else the machine does meets all of them. Counted is the
processor time of the change batches in all processes: Spark's JVM, the driver and the Python
workers. Then Spark reads each table whole, and the rows are compared with those expected.

The records are written to Parquet beforehand. To read them is a part of the time, as it is with
Kafka.
"""

import argparse
import json
import logging
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cdc.config import MirrorConfig
from cdc.config.load import parse_config
from tests.spark.topic_log import MessageLog
from tests.unit.messages import Message, Table, column, decimal, decimal_column, delete, update

FORMS = {
    "equality": 'deletes = "equality"',
    "positional": 'deletes = "positional"\nlookup = "index"',
    "merge": 'deletes = "positional"\nlookup = "merge"',
}
PARTITIONS = 4
SNAPSHOT_BATCHES = 4
WARM_UP = 4  # batches to a small table
SCANS = 3
SEED = 20_260_102
INSERTED, DELETED = 0.1, 0.1  # of the changes; the others are updates
STATUSES = ("new", "paid", "packed", "shipped", "closed")
AMOUNTS = 10_000
PLACED = 1_700_000_000_000_000  # microseconds

ORDERS = Table(
    (
        column("id", "int64", optional=False),
        column("customer", "int32", optional=False),
        column("status", "string"),
        decimal_column("amount", 12, 2),
        column("note", "string"),
        column("placed", "int64", logical="io.debezium.time.MicroTimestamp"),
        column("weight", "double"),
        column("gift", "boolean"),
    )
)

Ints = npt.NDArray[np.int64]


def main() -> None:
    """Print how the bench goes on, and last the ratios as one line of JSON."""
    options = _options()
    logging.basicConfig(level=logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="bench-apply-") as folder:
        _run(Path(folder), options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=500_000)
    parser.add_argument("--batches", type=int, default=10)
    return parser.parse_args()


def _run(folder: Path, options: argparse.Namespace) -> None:
    from cdc.runtime.stream.session import build_session

    spark = build_session(_config(folder, "equality", ORDERS))
    # A file of records is never cut, nor read together with another.
    for name in ("maxPartitionBytes", "openCostInBytes"):
        spark.conf.set(f"spark.sql.files.{name}", "1g")
    _say("warming up")
    warm = Source(folder / "warm", "warm")
    _apply(_mirrors(spark, folder, warm, 100_000), warm, 20_000 * WARM_UP, WARM_UP)
    _say(f"loading {options.rows:,} rows")
    source = Source(folder / "orders", "orders")
    mirrors = _mirrors(spark, folder, source, options.rows)
    _say(f"applying {options.changes:,} changes")
    seconds = _apply(mirrors, source, options.changes, options.batches)
    scans = _scan(spark)
    for form in FORMS:
        _compare(form, spark.table(f"bench.{form}.orders").toArrow(), source.expected())
        _say(f"{form:<12} applied in {seconds[form]:7.2f} s, scanned in {scans[form]:6.2f} s")
    spark.stop()
    ratios = {
        "positional_vs_equality_cpu": seconds["positional"] / seconds["equality"],
        "positional_vs_merge_cpu": seconds["positional"] / seconds["merge"],
        "scan_equality_vs_positional": scans["equality"] / scans["positional"],
    }
    _say(json.dumps({name: round(ratio, 2) for name, ratio in ratios.items()}))


def _mirrors(spark: Any, folder: Path, source: "Source", rows: int) -> dict[str, "Mirror"]:
    """Make the mirrors, and load the snapshot into them."""
    mirrors = {form: Mirror(spark, folder, form, source) for form in FORMS}
    for _ in range(SNAPSHOT_BATCHES):
        files = source.snapshot(rows // SNAPSHOT_BATCHES)
        for mirror in mirrors.values():
            mirror.apply(files)
    return mirrors


def _config(folder: Path, form: str, table: Table) -> MirrorConfig:
    text = f"""
        name = "bench"
        [source]
        connector = "postgres"
        topics = ["{table.topic}"]
        [kafka]
        "bootstrap.servers" = "localhost:9"
        [target]
        table = "{form}.{{table}}"
        [spark]
        master = "local[2]"
        [tables.defaults]
        {FORMS[form]}
    """
    return parse_config(text.encode(), folder / "bench.toml")


class Source:
    """Makes the records of a topic, and knows the rows that they lead to.

    A row's values follow from its id and from the number of the change that made it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.table = Table(ORDERS.columns, name=name)
        self._folder = folder
        self._random = np.random.default_rng(SEED)
        self._made = np.empty(0, np.int64)  # for each id the change that made its row, -1 for none
        self._changes = 0
        self._files = 0
        self._offsets = [0] * PARTITIONS
        row = {block["field"]: f"@{block['field']}@" for block in ORDERS.columns}
        where = {"table": self.table, "source": {"lsn": "@lsn@"}}
        self._written = _template(update(row, **where))
        self._deleted = _template(delete({"id": row["id"]}, **where))

    def snapshot(self, rows: int) -> list[str]:
        """Make a batch of rows that were there before the first change."""
        ids = np.arange(len(self._made), len(self._made) + rows)
        self._made = np.concatenate([self._made, np.zeros(rows, np.int64)])
        return self._batch(ids, np.repeat("r", rows), np.zeros(rows, np.int64))

    def changes(self, count: int) -> list[str]:
        """Make a batch of changes to rows anywhere in the table."""
        there = np.flatnonzero(self._made >= 0)
        gone = self._random.choice(there, int(count * DELETED), replace=False)
        new = np.arange(len(self._made), len(self._made) + int(count * INSERTED))
        kept = np.setdiff1d(there, gone, assume_unique=True)
        changed = self._random.choice(kept, count - len(gone) - len(new))
        ids = np.concatenate([changed, new, gone])
        ops = np.repeat(["u", "c", "d"], [len(changed), len(new), len(gone)])
        order = self._random.permutation(count)
        ids, ops = ids[order], ops[order]
        numbers = self._changes + 1 + np.arange(count)
        self._changes += count
        self._made = np.concatenate([self._made, np.full(len(new), -1)])
        self._made[ids] = np.where(ops == "d", -1, numbers)  # of several, the last one stays
        return self._batch(ids, ops, numbers)

    def expected(self) -> pa.Table:
        """Give the rows that the table has after all changes, by id."""
        ids = np.flatnonzero(self._made >= 0)
        return pa.table(_values(ids, self._made[ids]))

    def _batch(self, ids: Ints, ops: npt.NDArray[Any], numbers: Ints) -> list[str]:
        """Write the records of one batch, a file for each partition."""
        self._folder.mkdir(exist_ok=True)
        paths = []
        for partition in range(PARTITIONS):
            mine = np.flatnonzero(ids % PARTITIONS == partition)
            records = self._records(partition, ids[mine], ops[mine], numbers[mine])
            paths.append(str(self._folder / f"{self._files}.parquet"))
            pq.write_table(records, paths[-1], use_dictionary=["topic"], compression="zstd")
            self._files += 1
        return paths

    def _records(self, partition: int, ids: Ints, ops: npt.NDArray[Any], numbers: Ints) -> pa.Table:
        texts = _texts(ids, numbers) | {
            "op": _quoted(pa.array(ops.tolist())),
            "lsn": _text(numbers),
        }
        is_delete = ops == "d"
        keys, values = _filled(self._written[0], texts), _filled(self._written[1], texts)
        if is_delete.any():
            values = pc.if_else(pa.array(is_delete), _filled(self._deleted[1], texts), values)
        start = self._offsets[partition]
        self._offsets[partition] += len(ids)
        moment = pa.scalar(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), pa.timestamp("us", "UTC"))
        return pa.table(
            {
                "topic": pa.repeat(self.table.topic, len(ids)),
                "partition": pa.repeat(pa.scalar(partition, pa.int32()), len(ids)),
                "offset": pa.array(np.arange(start, start + len(ids))),
                "key": keys.cast(pa.binary()),
                "value": values.cast(pa.binary()),
                "timestamp": pa.repeat(moment, len(ids)),
            }
        )


def _template(message: Message) -> tuple[list[str], list[str]]:
    """Cut a record's key and value at the places that are to be filled: every second is a name."""
    assert message.key is not None and message.value is not None
    key, value = message.key.decode(), message.value.decode()
    value = value.replace('"op":"u"', '"op":"@op@"')
    cut = re.compile(r'"@(\w+)@"')
    return cut.split(key), cut.split(value)


def _filled(template: list[str], texts: Mapping[str, pa.Array]) -> pa.Array:
    parts = [texts[part] if place % 2 else part for place, part in enumerate(template)]
    return pc.binary_join_element_wise(*parts, "")


def _values(ids: Ints, numbers: Ints) -> dict[str, pa.Array]:
    """Give the columns of rows as a mirror of them has them."""
    mixed = ids * 31 + numbers * 7919
    amounts = pa.array([_amount(place) for place in range(AMOUNTS)], pa.decimal128(12, 2))
    return {
        "id": pa.array(ids),
        "customer": pa.array((ids % 9973).astype(np.int32)),
        "status": pa.array(STATUSES).take(pa.array(mixed % len(STATUSES))),
        "amount": amounts.take(pa.array(mixed % AMOUNTS)),
        "note": pc.binary_join_element_wise("leave at door", _text(ids), _text(numbers), " "),
        "placed": pa.array(PLACED + ids * 1_000_003 + numbers, pa.timestamp("us")),
        "weight": pa.array((mixed % 8000) / 8),
        "gift": pa.array(mixed % 2 == 0),
    }


def _texts(ids: Ints, numbers: Ints) -> dict[str, pa.Array]:
    """Give the columns of rows as JSON."""
    values = _values(ids, numbers)
    mixed = ids * 31 + numbers * 7919
    amounts = pa.array([f'"{decimal(int(_amount(n) * 100))}"' for n in range(AMOUNTS)])
    return {
        **{name: values[name].cast(pa.string()) for name in ("id", "customer", "weight", "gift")},
        **{name: _quoted(values[name]) for name in ("status", "note")},
        "amount": amounts.take(pa.array(mixed % AMOUNTS)),
        "placed": values["placed"].cast(pa.int64()).cast(pa.string()),
    }


def _amount(place: int) -> Decimal:
    return Decimal(place * 79_193 % 10**8).scaleb(-2)


def _text(numbers: Ints) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _quoted(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


class Mirror:
    """One of the three, fed with files of records in place of Kafka."""

    def __init__(self, spark: Any, folder: Path, form: str, source: Source) -> None:
        from cdc.commit import IcebergCatalog
        from cdc.runtime.follow.context import open_context
        from cdc.runtime.stream.batch import BatchRunner
        from connectors import DIALECTS

        config, dialect = _config(folder, form, source.table), DIALECTS["postgres"]
        context = open_context(config, dialect, IcebergCatalog(spark, config.name))
        log = MessageLog(list, lambda _: self._frame())
        self._spark = spark
        self._runner = BatchRunner(spark, context, log)
        self._files: list[str] = []

    def apply(self, files: list[str]) -> float:
        """Apply a batch, and say how long that took."""
        self._files = files
        started = _processor_seconds()
        progress, _ = self._runner.run(self._frame(), 0)
        took = _processor_seconds() - started
        assert progress.account.read and progress.account.balanced, progress
        return took

    def _frame(self) -> Any:
        """Read the records; each file is a task of its own, as a partition of Kafka is."""
        return self._spark.read.parquet(*self._files)


def _apply(
    mirrors: Mapping[str, Mirror], source: Source, changes: int, batches: int
) -> dict[str, float]:
    """Let the mirrors take turns, and sum up what the batches took each of them."""
    seconds = dict.fromkeys(mirrors, 0.0)
    forms = list(mirrors)
    for number in range(batches):
        files = source.changes(changes // batches)
        first = number % len(forms)
        took = {form: mirrors[form].apply(files) for form in forms[first:] + forms[:first]}
        seconds = {form: seconds[form] + took[form] for form in forms}
        each = ", ".join(f"{form} {took[form]:.2f} s" for form in forms)
        _say(f"batch {number + 1} of {batches}: {each}")
    return seconds


def _scan(spark: Any) -> dict[str, float]:
    """Read every column of each table several times, in turns; the first turn warms up."""
    from pyspark.sql import functions as F

    seconds: dict[str, list[float]] = {form: [] for form in FORMS}
    for _ in range(SCANS + 1):
        for form, took in seconds.items():
            table = spark.table(f"bench.{form}.orders")
            started = _processor_seconds()
            table.select(F.sum(F.xxhash64(*table.columns) % 1_000_003)).collect()
            took.append(_processor_seconds() - started)
    return {form: statistics.median(took[1:]) for form, took in seconds.items()}


def _compare(form: str, found: pa.Table, expected: pa.Table) -> None:
    found = found.sort_by("id").select(expected.column_names)
    for name in expected.column_names:
        if not found[name].cast(expected[name].type).equals(expected[name]):
            sys.exit(f"{form}: {name} is not as expected; {len(found)} rows of {len(expected)}")


def _processor_seconds() -> float:
    """Sum up what this process and all below it have used, those that have ended among them."""
    used: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    ticks: int = os.sysconf("SC_CLK_TCK")
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended just now
            continue
        pid = int(stat.parent.name)
        used[pid] = sum(map(int, fields[11:15])) / ticks
        children.setdefault(int(fields[1]), []).append(pid)
    total, below = 0.0, [os.getpid()]
    while below:
        pid = below.pop()
        total += used.get(pid, 0.0)
        below += children.get(pid, [])
    return total


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
