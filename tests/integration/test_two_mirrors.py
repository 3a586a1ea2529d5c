"""Two mirrors that start at once: with a namespace, tables, or the whole config in common."""

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
from pyiceberg.catalog import load_catalog

from cdc.config import load_config
from cdc.demo.postgres_rows import read_rows
from cdc.observe.comparison import compare
from tests.chaos.mirror import PROGRAM, environment
from tests.integration.databases import PostgresSource
from tests.integration.stack import Stack
from tests.patience import PATIENCE_SECONDS

HALVES = ("left", "right")
TABLES = tuple(f"{half}_{number}" for half in HALVES for number in range(6))
ROWS = 50
BATCHES = 3  # that two mirrors of one config try to apply beside each other


@dataclass(slots=True)
class Run:
    """A `database-mirror run`, and what it says."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def created(self) -> list[str]:
        """The tables that it says it has made."""
        return [
            line.partition(" created table=")[2].split()[0]
            for line in self.text.splitlines()
            if " created table=" in line
        ]


@pytest.fixture
def source(stack: Stack) -> Iterator[PostgresSource]:
    """A database with two halves, all of it in Kafka."""
    source = PostgresSource(stack, f"two{time.time_ns() % 10**9}")
    for table in TABLES:
        source.execute(
            f"CREATE TABLE {table} (id int PRIMARY KEY, v text)",
            f"INSERT INTO {table} SELECT g, 'first' FROM generate_series(1, {ROWS}) g",
        )
    source.register()
    for table in TABLES:
        source.wait_for(table, ROWS)
    yield source
    source.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator["Start"]:
    starter = Start(tmp_path)
    yield starter
    for run in starter.runs:
        run.process.kill()
        run.process.wait()


class Start:
    """Starts mirrors in a folder; all of them have its catalog."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs: list[Run] = []

    def config(self, source: PostgresSource, name: str, topics: str) -> Path:
        """Write a config into the folder."""
        file = self.folder / f"{name}.toml"
        file.write_text(f"""
name = "{name}"
[source]
connector = "postgres"
topics = ["{source.name}.public.{topics}"]
[kafka]
"bootstrap.servers" = "{source.topics.servers}"
[target]
table = "shared.{{table}}"
[stream]
trigger = "1 second"
[spark]
master = "local[1]"
""")
        return file

    def __call__(self, config: Path, *options: str) -> Run:
        log = self.folder / f"run{len(self.runs)}.log"
        with log.open("w") as out:
            process = subprocess.Popen(
                [*PROGRAM, "run", str(config), *options],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment(),
                text=True,
            )
        self.runs.append(Run(process, log))
        return self.runs[-1]


def has_table(config: Path, table: str) -> bool:
    settings = load_config(config)
    catalog = load_catalog(settings.name, **settings.catalog.properties())
    return catalog.table_exists(("shared", table))


def differences(source: PostgresSource, config: Path, tables: Sequence[str]) -> dict[str, int]:
    """Compare tables with their mirrors."""
    settings = load_config(config)
    catalog = load_catalog(settings.name, **settings.catalog.properties())
    found = {}
    with psycopg.connect(source.endpoint.url) as connection:
        for table in tables:
            mirror = catalog.load_table(("shared", table)).scan().to_arrow()
            found[table] = compare(mirror, read_rows(connection, table), ["id"]).differences
    return found


def test_two_mirrors_share_a_namespace_from_the_start(source: PostgresSource, start: Start) -> None:
    configs = [start.config(source, half, f"{half}_*") for half in HALVES]

    runs = [start(config, "--once") for config in configs]
    codes = [run.process.wait(PATIENCE_SECONDS) for run in runs]

    told = "\n".join(run.text for run in runs)
    assert codes == [0, 0], told
    assert "Traceback" not in told, told
    made = Counter(table for run in runs for table in run.created)
    assert made == Counter(f"shared.{table}" for table in TABLES)
    # To the file that is an SQL catalog, mirrors of two names are two catalogs.
    for half, config in zip(HALVES, configs, strict=True):
        tables = [table for table in TABLES if table.startswith(half)]
        assert differences(source, config, tables) == dict.fromkeys(tables, 0)


def test_two_mirrors_never_have_tables_in_one_folder(source: PostgresSource, start: Start) -> None:
    configs = [start.config(source, name, "*") for name in HALVES]

    at_once = [start(config, "--once") for config in configs]
    for run in at_once:
        run.process.wait(PATIENCE_SECONDS)
    # Each may have met the other's tables, and given up some. Alone, the first gets what is left.
    for config in configs:
        assert start(config, "--once").process.wait(PATIENCE_SECONDS) in (0, 1)

    told = "\n".join(run.text for run in start.runs)
    assert "Traceback" not in told, told
    owners = {table: [c for c in configs if has_table(c, table)] for table in TABLES}
    assert {len(found) for found in owners.values()} == {1}, told
    for config in configs:
        tables = [table for table in TABLES if owners[table] == [config]]
        assert differences(source, config, tables) == dict.fromkeys(tables, 0)
    last = start.runs[-1]
    assert last.process.returncode == int(any(own != [configs[1]] for own in owners.values()))
    for table in TABLES:
        parked = f" reason=The table shared.{table} and one of the mirror left"
        assert (owners[table] == [configs[0]]) == (parked in last.text), told


def test_one_config_started_twice_leaves_exact_tables(source: PostgresSource, start: Start) -> None:
    config = start.config(source, "twice", "*")

    runs = [start(config) for _ in range(2)]
    deadline = time.monotonic() + PATIENCE_SECONDS
    for number in count():
        if all(run.text.count(" batch=") >= BATCHES or ended(run) for run in runs):
            break
        assert time.monotonic() < deadline, "\n".join(run.text for run in runs)
        table = TABLES[number % len(TABLES)]
        source.execute(
            f"UPDATE {table} SET v = 'change {number}' WHERE id % 5 = {number % 5}",
            f"INSERT INTO {table} VALUES ({1000 + number}, 'new')",
            f"DELETE FROM {table} WHERE id = {number % ROWS}",
        )
        time.sleep(0.2)
    for run in runs:
        run.process.send_signal(signal.SIGTERM)
    codes = [run.process.wait(PATIENCE_SECONDS) for run in runs]
    last = start(config, "--once")

    told = "\n".join(run.text for run in (*runs, last))
    assert last.process.wait(PATIENCE_SECONDS) == 0, told
    assert "Traceback" not in told, told
    for code, run in zip(codes, runs, strict=True):
        assert code == 0 or (code == 1 and "error:" in run.text), told
    made = Counter(table for run in runs for table in run.created)
    assert made == Counter(f"shared.{table}" for table in TABLES)
    assert differences(source, config, TABLES) == dict.fromkeys(TABLES, 0)


def ended(run: Run) -> bool:
    return run.process.poll() is not None
