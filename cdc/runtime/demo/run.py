"""The demo from the first server to the last line."""

import shlex
import shutil
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from cdc.config import MirrorConfig, load_config
from cdc.dialect import ConnectorRequest
from cdc.runtime.demo.arrivals import SourceClock, arrivals
from cdc.runtime.demo.folder import DEFAULT_FOLDER, DemoFolder, open_folder
from cdc.runtime.demo.mirror_process import MirrorProcess
from cdc.runtime.demo.mirrored_tables import MirroredTables
from cdc.runtime.demo.outcome import has, outcome_lines, outcomes
from cdc.runtime.demo.reading_lines import duckdb_lines, pyiceberg_lines, spark_lines
from cdc.runtime.demo.screen import Screen
from cdc.runtime.demo.shop import TABLES, Sizes, fill_shop
from cdc.runtime.demo.waiting import Waiting
from cdc.runtime.demo.workload import ROUNDS, LastChange, Workload
from cdc.runtime.jars import spark_jars
from cdc.sandbox import ConnectEndpoint, PostgresEndpoint, Sandbox, Service
from cdc.sandbox.java import find_java
from connectors import DIALECTS

NAME: Final = "shop"
EQUAL: Final = 0
DIFFERENT: Final = 3
CHECK_SECONDS: Final = (
    2.0  # how often it is seen to that the mirror still runs, while it is watched
)


def run_demo(*, keep: bool, rows: int, folder: Path | None, screen: Screen) -> int:
    """Mirror a shop while it changes, compare the two, and tell how to read the tables.

    Args:
        keep: Leave all running afterwards, and show what arrives, until Ctrl-C.
        rows: About how many rows the shop begins with, in all its tables.
        folder: Where the demo lives; by default a folder in the working directory.
        screen: Where it reports to.

    Returns:
        The exit code: 0 if mirror and source are equal, 3 if not.

    Raises:
        MirrorError: Something failed; the text says what, and what to do.
    """
    java = find_java()  # before anything is downloaded
    with open_folder(folder or DEFAULT_FOLDER) as home:
        spark_jars()  # downloaded here, where one sees it
        with Sandbox(progress=lambda text: screen.line(f"  {text}")) as sandbox:
            screen.line("1. Servers: PostgreSQL, Kafka, Kafka Connect with Debezium")
            sandbox.start(Service.POSTGRES, Service.KAFKA, Service.CONNECT)
            source = _start_source(sandbox, Sizes.of(rows), screen)
            home.write_config(sandbox.kafka.bootstrap_servers)
            config = load_config(home.config)
            with MirrorProcess(home, java) as mirror, closing(MirroredTables(config)) as mirrored:
                demo = _Demo(
                    home, config, source, sandbox.connect, mirror, mirrored, Sizes.of(rows), screen
                )
                return demo.run(keep=keep)


def _start_source(sandbox: Sandbox, sizes: Sizes, screen: Screen) -> PostgresEndpoint:
    """Fill the shop's database and let Debezium read it."""
    started = time.monotonic()
    source = sandbox.postgres.create_database(NAME)
    fill_shop(source.url, sizes)
    parts = ", ".join(f"{table} {count:,}" for table, count in sizes.by_table().items())
    screen.line(f"2. The shop: {sizes.total:,} rows ({parts})")
    request = ConnectorRequest(
        name=NAME,
        topic_prefix=NAME,
        hostname=source.host,
        port=source.port,
        user=source.user,
        password=source.password,
        database=source.database,
        tables=tuple(f"public.{table}" for table in TABLES),
        bootstrap_servers=sandbox.kafka.bootstrap_servers,
    )
    converters = {
        f"{side}.converter{option}": value
        for side in ("key", "value")
        for option, value in {
            "": "org.apache.kafka.connect.json.JsonConverter",
            ".schemas.enable": "true",
            # Otherwise a null in a column with a default would arrive as the default.
            ".replace.null.with.default": "false",
        }.items()
    }
    config = DIALECTS["postgres"].connector_config(request) | converters
    sandbox.connect.register(NAME, config)
    screen.line(f"  filled, and Debezium reads it, after {time.monotonic() - started:.1f} s")
    return source


@dataclass(frozen=True, slots=True)
class _Demo:
    """The part of the demo during which the mirror runs."""

    home: DemoFolder
    config: MirrorConfig
    source: PostgresEndpoint
    connect: ConnectEndpoint
    mirror: MirrorProcess
    mirrored: MirroredTables
    sizes: Sizes
    screen: Screen

    def run(self, *, keep: bool) -> int:
        waiting = Waiting(self.mirror, self.connect, NAME)
        self._mirror_snapshot(waiting)
        last_changes = self._work(waiting)
        self._catch_up(waiting, last_changes)
        exit_code = self._compare(last_changes)
        if keep:
            self._show_readers()
            with suppress(KeyboardInterrupt):
                self._watch(waiting)
            exit_code = 0
        self.mirror.stop()
        self.screen.line(f"The mirror has ended: {self.mirror.last_lines(1)}")
        if not keep:
            self._show_readers()
        self.screen.line(f"The servers are gone; the tables stay in {self.home.path}")
        return exit_code

    def _mirror_snapshot(self, waiting: Waiting) -> None:
        started, total = time.monotonic(), self.sizes.total
        self.screen.line(f"3. database-mirror run {self.home.config}")

        def reached() -> int:
            rows = sum(self.mirrored.rows(table) for table in TABLES)
            seconds = time.monotonic() - started
            self.screen.update(f"  mirrored {rows:,} of {total:,} rows, {seconds:.0f} s")
            return rows

        waiting.until("the rows that the shop began with", total, reached)
        self.screen.line(f"  all rows mirrored after {time.monotonic() - started:.1f} s")

    def _work(self, waiting: Waiting) -> Mapping[str, LastChange]:
        started = time.monotonic()
        self.screen.line("4. The shop at work, mirrored as it changes")
        with psycopg.connect(self.source.url, autocommit=True) as connection:
            workload = Workload(connection, self.sizes, lambda text: self.screen.line(f"  {text}"))

            def show(number: int) -> None:
                waiting.check()
                self.screen.update(f"  round {number} of {ROUNDS}: {_counted(workload.counts)}")

            last_changes = workload.run(show)
        seconds = time.monotonic() - started
        self.screen.line(f"  {_counted(workload.counts)} in {seconds:.1f} s")
        return last_changes

    def _catch_up(self, waiting: Waiting, last_changes: Mapping[str, LastChange]) -> None:
        started = time.monotonic()

        def reached() -> int:
            up = sum(has(self.mirrored, *change) for change in last_changes.items())
            self.screen.update(f"  {up} of {len(TABLES)} tables have their last change")
            return up

        waiting.until("the last change of every table", len(TABLES), reached)
        self.screen.line(f"  caught up {time.monotonic() - started:.1f} s after the last change")

    def _compare(self, last_changes: Mapping[str, LastChange]) -> int:
        started = time.monotonic()
        self.screen.line("5. Mirror and source compared, every row and every value")
        found = outcomes(self.source.url, self.mirrored, last_changes)
        self.screen.line()
        for line in outcome_lines(found):
            self.screen.line(f"  {line}")
        self.screen.line()
        differences = sum(outcome.comparison.differences for outcome in found)
        verdict = "are equal" if differences == 0 else f"differ in {differences:,} rows"
        seconds = time.monotonic() - started
        self.screen.line(f"  Mirror and source {verdict} (compared in {seconds:.1f} s)")
        return DIFFERENT if differences else EQUAL

    def _show_readers(self) -> None:
        """Say where the tables are and how to read them."""
        properties = self.config.catalog.properties()
        show = self.screen.line
        show()
        show(f"warehouse: {properties['warehouse']}")
        show(f"catalog:   {properties['uri']}")
        show(f"config:    {self.home.config}")
        orders = self.mirrored.load("orders")
        sections = {
            "pyiceberg, in Python": pyiceberg_lines(self.config),
            "DuckDB, in SQL": duckdb_lines(orders.metadata_location) if orders else [],
            "Spark SQL, in a shell": spark_lines(self.config),
        }
        for title, lines in sections.items():
            show()
            show(f"{title}:")
            for line in lines:
                show(f"    {line}")
        show()

    def _watch(self, waiting: Waiting) -> None:
        update = shlex.quote("UPDATE orders SET note = 'hello' WHERE id < 10")
        psql = shutil.which("psql") or "psql"
        self.screen.line("Everything runs on. Change something:")
        self.screen.line(f"    {psql} {shlex.quote(self.source.url)} -c {update}")
        self.screen.line("Ctrl-C ends it. What arrives:")
        checked = time.monotonic()
        with psycopg.connect(self.source.url, autocommit=True) as connection:
            for line in arrivals(self.mirrored, TABLES, SourceClock(connection)):
                if line:
                    self.screen.line(f"  {line}")
                if time.monotonic() - checked > CHECK_SECONDS:
                    waiting.check()
                    checked = time.monotonic()


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{counts.get(kind, 0):,} {kind}" for kind in ("inserts", "updates", "deletes", "rollbacks")
    )
