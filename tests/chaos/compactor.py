"""Compaction and expiry beside a mirror: `compactor CONFIG SEED BOOKS NAMESPACE…`, until SIGTERM.

A conflict with the mirror is for this side to bear: the next turn tries again.
"""

import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from py4j.protocol import Py4JError
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdc.config import load_config
from cdc.runtime.stream.session import build_session
from tests.chaos.mirror import Books

PAUSE_SECONDS = 2.0
KEPT_SNAPSHOTS = 5
# A snapshot is expired only some time after its ledger could be written down.
KEPT_SECONDS = 30
CALLS = {
    "rewrite_data_files": (
        "options => map('min-input-files', '2', 'rewrite-all', 'false', "
        "'delete-file-threshold', '1', 'remove-dangling-deletes', 'true')"
    ),
    "rewrite_position_delete_files": "options => map('rewrite-all', 'true')",
    "rewrite_manifests": "use_caching => false",
}


class Compactor:
    """Goes from table to table, at random."""

    def __init__(self, config: Path, seed: int, books: Path, namespaces: list[str]) -> None:
        settings = load_config(config)
        # One core of its own choosing is enough; the mirror shall not starve.
        spark = replace(settings.spark, master="local[1]")
        self._spark: SparkSession = build_session(replace(settings, spark=spark))
        self._name = settings.name
        self._catalog = load_catalog(settings.name, **settings.catalog.properties())
        self._books = Books(books)
        self._rng = random.Random(seed)
        self._namespaces = namespaces
        self.counts: Counter[str] = Counter()

    def turn(self) -> None:
        """Compact a table, or let its old snapshots expire."""
        namespace = self._rng.choice(self._namespaces)
        try:
            tables = self._catalog.list_tables(namespace)
        except NoSuchNamespaceError:
            return  # the mirror has not begun
        if not tables:
            return
        _, table = self._rng.choice(sorted(tables))
        if self._rng.random() < 0.25:
            self._expire(f"{namespace}.{table}")
            return
        call, arguments = self._rng.choice(list(CALLS.items()))
        self._call(call, f"{namespace}.{table}", arguments)

    def _expire(self, table: str) -> None:
        before = datetime.now(UTC) - timedelta(seconds=KEPT_SECONDS)
        try:
            self._books.note(table, self._catalog.load_table(table))
        except NoSuchTableError:
            return
        moment = before.strftime("%Y-%m-%d %H:%M:%S")
        arguments = f"older_than => TIMESTAMP '{moment}', retain_last => {KEPT_SNAPSHOTS}"
        self._call("expire_snapshots", table, arguments)

    def _call(self, procedure: str, table: str, arguments: str) -> None:
        started = time.monotonic()
        try:
            self._spark.sql(
                f"CALL {self._name}.system.{procedure}(table => '{table}', {arguments})"
            ).collect()
        except (PySparkException, Py4JError) as error:
            self.counts[f"{procedure} given up"] += 1
            reason = str(error).splitlines()[0][:200]
            print(f"{procedure} of {table} given up: {reason}", flush=True)
        else:
            self.counts[procedure] += 1
            print(f"{procedure} of {table} in {time.monotonic() - started:.1f} s", flush=True)

    def stop(self) -> None:
        """End Spark."""
        self._spark.stop()


def main(config: Path, seed: int, books: Path, namespaces: list[str]) -> None:
    """Compact until told to stop."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    os.nice(5)
    compactor = Compactor(config, seed, books, namespaces)
    try:
        while not stopped:
            compactor.turn()
            time.sleep(PAUSE_SECONDS)
    finally:
        print(f"in all: {dict(compactor.counts)}", flush=True)
        compactor.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
