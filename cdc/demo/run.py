"""The demo from the first server to the last line.

1. servers   PostgreSQL, Kafka and Kafka Connect as local processes
2. shop      the database is filled, and Debezium begins to read it
3. mirror    `database-mirror run` takes over the rows that are there
4. work      the shop changes while it is mirrored
5. compare   every row and every value; then, with `keep`, whatever the user changes is shown
"""

import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from cdc.config import MirrorConfig, load_config
from cdc.demo.arrivals import SourceClock, arrivals
from cdc.demo.folder import DEFAULT_FOLDER, DemoFolder, open_folder
from cdc.demo.lines_to_paste import (
    duckdb_lines,
    psql_line,
    pyiceberg_lines,
    spark_lines,
)
from cdc.demo.mirror_process import MirrorProcess
from cdc.demo.mirrored_tables import MirroredTables
from cdc.demo.outcome import has, outcome_lines, outcomes
from cdc.demo.screen import Screen
from cdc.demo.shop import TABLES, Sizes
from cdc.demo.source import NAME, start_source
from cdc.demo.waiting import Waiting
from cdc.demo.workload import ROUNDS, LastChange, Workload
from cdc.downloads.java import find_java
from cdc.downloads.spark_jars import spark_jars
from cdc.sandbox import PostgresEndpoint, Sandbox, Service

EQUAL: Final = 0
DIFFERENT: Final = 3
CHANGE: Final = "UPDATE orders SET note = 'hello' WHERE id < 10"


def run_demo(*, keep: bool, rows: int, folder: Path | None, screen: Screen) -> int:
    """Mirror a shop while it changes, compare the two, and tell how to read the tables.

    Run twice, the second run takes the place of the first one's tables.

    Args:
        keep: Leave all running afterwards, and show what arrives, until Ctrl-C.
        rows: How many rows the shop begins with, in all its tables together.
        folder: Where the demo lives; by default a folder in the working directory.
        screen: Where it reports to.

    Returns:
        The exit code: 0 if mirror and source are equal, 3 if not.

    Raises:
        MirrorError: Something failed; the text says what, and what to do.
    """
    java = find_java()  # before anything is downloaded
    sizes = Sizes.of(rows)
    with open_folder(folder or DEFAULT_FOLDER) as home:
        spark_jars()  # downloaded here, where one sees it
        screen.line("1. Servers: PostgreSQL, Kafka, Kafka Connect with Debezium")
        with Sandbox(progress=lambda text: screen.line(f"  {text}")) as sandbox:
            try:
                sandbox.start(Service.POSTGRES, Service.KAFKA, Service.CONNECT)
                source = _fill_source(sandbox, sizes, screen)
                home.write_config(sandbox.kafka.bootstrap_servers)
                config = load_config(home.config)
                with (
                    MirrorProcess(home, java) as mirror,
                    closing(MirroredTables(config)) as mirrored,
                ):
                    waiting = Waiting(mirror, sandbox.connect, NAME)
                    demo = _Demo(home, config, source, mirror, mirrored, waiting, sizes, screen)
                    exit_code = demo.run(keep=keep)
            except KeyboardInterrupt:
                screen.line("Ending everything ...")
                raise
        screen.line(f"All servers have ended. The tables stay in {home.path}")
        return exit_code


def _fill_source(sandbox: Sandbox, sizes: Sizes, screen: Screen) -> PostgresEndpoint:
    started = time.monotonic()
    parts = ", ".join(f"{table} {count:,}" for table, count in sizes.by_table().items())
    screen.line(f"2. The shop: {sizes.total:,} rows ({parts})")
    source = start_source(sandbox, sizes)
    screen.line(f"  filled, and Debezium reads it, after {_since(started)}")
    return source


@dataclass(frozen=True, slots=True)
class _Demo:
    """The part of the demo during which the mirror runs."""

    home: DemoFolder
    config: MirrorConfig
    source: PostgresEndpoint
    mirror: MirrorProcess
    mirrored: MirroredTables
    waiting: Waiting
    sizes: Sizes
    screen: Screen

    def run(self, *, keep: bool) -> int:
        self._mirror_first_rows()
        last_changes = self._work()
        self._catch_up(last_changes)
        exit_code = self._compare(last_changes)
        if keep:
            self._show_readers()
            with suppress(KeyboardInterrupt):
                self._watch()
            self.screen.line("Ending everything ...")
        self.mirror.stop()
        self.screen.line(f"database-mirror run has ended: {self.mirror.last_lines(1)}")
        if not keep:
            self._show_readers()
        return exit_code

    def _mirror_first_rows(self) -> None:
        started, total = time.monotonic(), self.sizes.total
        self.screen.line(f"3. database-mirror run {self.home.config}")

        def reached() -> int:
            rows = sum(self.mirrored.rows(table) for table in TABLES)
            made = sum(self.mirrored.load(table) is not None for table in TABLES)
            so_far = f"{rows:,} of {total:,} rows in {made} tables" if made else "Spark starts"
            self.screen.update(f"  {so_far}, {_since(started)}")
            return rows

        self.waiting.until("the rows that the shop begins with", total, reached)
        self.screen.line(f"  mirrored {total:,} rows after {_since(started)}")

    def _work(self) -> Mapping[str, LastChange]:
        started = time.monotonic()
        self.screen.line("4. The shop at work, mirrored as it changes")
        with psycopg.connect(self.source.url, autocommit=True) as connection:
            workload = Workload(connection, self.sizes, lambda text: self.screen.line(f"  {text}"))

            def show(number: int) -> None:
                self.waiting.check_now_and_then()
                self.screen.update(f"  round {number} of {ROUNDS}: {_counted(workload.counts)}")

            last_changes = workload.run(show)
        self.screen.line(f"  {_counted(workload.counts)} in {_since(started)}")
        return last_changes

    def _catch_up(self, last_changes: Mapping[str, LastChange]) -> None:
        started = time.monotonic()

        def reached() -> int:
            count = sum(has(self.mirrored, table, last) for table, last in last_changes.items())
            self.screen.update(f"  {count} of {len(TABLES)} tables have their last change")
            return count

        self.waiting.until("the last change of every table", len(TABLES), reached)
        self.screen.line(f"  every table has its last change after {_since(started)}")

    def _compare(self, last_changes: Mapping[str, LastChange]) -> int:
        started = time.monotonic()
        self.screen.line("5. Mirror and source compared, every row and every value")
        found = outcomes(self.source.url, self.mirrored, last_changes)
        self.screen.line()
        for line in outcome_lines(found):
            self.screen.line(f"  {line}")
        self.screen.line()
        differences = sum(outcome.comparison.differences for outcome in found)
        verdict = f"differ in {differences:,} rows" if differences else "are equal"
        self.screen.line(f"  Mirror and source {verdict}, compared in {_since(started)}")
        return DIFFERENT if differences else EQUAL

    def _show_readers(self) -> None:
        """Say where the tables are and how to read them."""
        properties = self.config.catalog.properties()
        orders = self.mirrored.load("orders")
        sections = {
            "Where everything is": [
                f"warehouse  {properties['warehouse']}",
                f"catalog    {properties['uri']}",
                f"config     {self.home.config}",
                f"log        {self.home.log}",
            ],
            "Read it with pyiceberg, in Python": pyiceberg_lines(self.config),
            "Read it with DuckDB, in SQL, as it is now": duckdb_lines(orders.metadata_location)
            if orders
            else [],
            "Read it with Spark SQL, in a shell": spark_lines(self.config),
        }
        for title, lines in sections.items():
            self.screen.line()
            self.screen.line(f"{title}:")
            for line in lines:
                self.screen.line(f"    {line}")
        self.screen.line()

    def _watch(self) -> None:
        """Show what arrives, until Ctrl-C."""
        self.screen.line("Everything runs on. Change something:")
        self.screen.line()
        self.screen.line(f"    {psql_line(self.source.url, CHANGE)}")
        self.screen.line()
        self.screen.line("What arrives, until Ctrl-C ends it:")
        with psycopg.connect(self.source.url, autocommit=True) as connection:
            for line in arrivals(self.mirrored, TABLES, SourceClock(connection)):
                if line:
                    self.screen.line(f"  {line}")
                self.waiting.check_now_and_then()


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


def _counted(counts: Mapping[str, int]) -> str:
    kinds = ("inserts", "updates", "deletes", "rollbacks")
    return ", ".join(f"{counts.get(kind, 0):,} {kind}" for kind in kinds)
