"""`kill -9` at any moment loses nothing and repeats nothing; SIGTERM ends in order."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from cdc.config import load_config
from cdc.demo.postgres_rows import primary_key, read_rows
from cdc.observe.comparison import compare
from tests.integration.databases import PostgresSource
from tests.integration.dying import STEPS
from tests.integration.stack import Stack
from tests.patience import PATIENCE_SECONDS, wait_until

TABLES = ("orders", "lines", "log")
ROWS = {"orders": 6000, "lines": 3000, "log": 300}


@pytest.fixture(scope="module")
def shop(stack: Stack) -> Iterator[PostgresSource]:
    """A database with some changes already in its topics."""
    source = PostgresSource(stack, "killed")
    source.execute(
        "CREATE TABLE orders (id bigint PRIMARY KEY, amount numeric(12, 2), note text)",
        "INSERT INTO orders SELECT g, g * 1.5, 'n' || g FROM generate_series(1, 5000) g",
        "CREATE TABLE lines (id int PRIMARY KEY, at timestamptz)",
        "INSERT INTO lines SELECT g, now() FROM generate_series(1, 3000) g",
        "CREATE TABLE log (id int PRIMARY KEY, v text)",
        "INSERT INTO log SELECT g, 'v' || g FROM generate_series(1, 300) g",
    )
    source.register()
    source.wait_for("orders", 5000)
    source.execute(
        "UPDATE orders SET note = 'changed' WHERE id % 10 = 0",
        "DELETE FROM orders WHERE id % 20 = 1",
        "UPDATE orders SET id = id + 100000 WHERE id % 50 = 3",
    )
    for table, count in ROWS.items():
        source.wait_for(table, count)
    yield source
    source.close()


@pytest.fixture
def config(shop: PostgresSource, tmp_path: Path) -> Path:
    """A mirror with an empty lake, in batches small enough to be killed between."""
    file = tmp_path / "shop.toml"
    file.write_text(f"""
        name = "shop"
        [source]
        connector = "postgres"
        topics = ["{shop.name}.public.*"]
        [kafka]
        "bootstrap.servers" = "{shop.topics.servers}"
        [stream]
        trigger = "1 second"
        max_records = 1500
    """)
    return file


def start(config: Path, *options: str) -> subprocess.Popen[str]:
    command = [str(Path(sys.executable).parent / "database-mirror"), "run", str(config), *options]
    with (config.parent / "run.log").open("a") as log:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)


def finish(config: Path) -> str:
    """Run to the end of the topics, and give what it printed."""
    process = start(config, "--once")
    printed, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, (config.parent / "run.log").read_text()[-3000:]
    return printed


def mirrored(config: Path) -> dict[str, Table]:
    settings = load_config(config)
    catalog = load_catalog("shop", **settings.catalog.properties())
    return {name: catalog.load_table(("killed", name)) for name in TABLES}


def snapshots(config: Path) -> list[int | None]:
    return [table.metadata.current_snapshot_id for table in mirrored(config).values()]


def assert_equal(config: Path, shop: PostgresSource) -> None:
    with psycopg.connect(shop.endpoint.url) as connection:
        for name, table in mirrored(config).items():
            source, key = read_rows(connection, name), primary_key(connection, name)
            found = compare(table.scan().to_arrow(), source, key)
            assert found.differences == 0, f"{name}: {found}"


def files(config: Path) -> int:
    return len(list((config.parent / "mirror" / "warehouse").glob("**/data/*.parquet")))


def commits(config: Path) -> int:
    return len(list((config.parent / "mirror" / "warehouse").glob("**/metadata/snap-*.avro")))


def batches(config: Path) -> int:
    log = config.parent / "run.log"
    return log.read_text().count(" batch=") if log.exists() else 0


def start_until_more(
    config: Path, count: Callable[[Path], int], *options: str
) -> subprocess.Popen[str]:
    """Start the mirror and wait until there is more than before of what is counted."""
    before = count(config)
    process = start(config, *options)
    wait_until(lambda: count(config) > before or process.poll() is not None, pause=0.01)
    assert process.poll() is None, (config.parent / "run.log").read_text()[-3000:]
    assert count(config) > before, "it never came to that"
    return process


def test_mirror_killed_and_stopped_at_any_moment_ends_equal_to_its_source(
    config: Path, shop: PostgresSource
) -> None:
    """One lake goes through it all, each time in a batch that has something to do."""
    for count in (files, commits, batches):
        process = start_until_more(config, count, "--once")
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE_SECONDS)

    process = start_until_more(config, files)
    process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 0
    assert "in 1 batches" in printed  # it finished the one in hand
    assert "applied 0 changes" not in finish(config)
    assert_equal(config, shop)


def test_mirror_killed_before_and_after_each_step_ends_equal_to_its_source(
    config: Path, shop: PostgresSource
) -> None:
    """One lake goes through all deaths, each in a batch that has something to do."""
    small = config.read_text().replace("max_records = 1500", "max_records = 700")
    config.write_text(small)
    for step in STEPS:
        for when in ("before", "after"):
            command = [sys.executable, "-m", "tests.integration.dying", when, step, "1"]
            with (config.parent / "run.log").open("a") as log:
                died = subprocess.run(
                    [*command, "run", str(config), "--once"],
                    stdout=log,
                    stderr=log,
                    timeout=PATIENCE_SECONDS,
                    cwd=Path(__file__).parents[2],
                )
            # A run that ends by itself found nothing left to do: the test would prove nothing.
            assert died.returncode == -signal.SIGKILL, f"{when} {step}"

    finish(config)

    assert_equal(config, shop)
    before = snapshots(config)
    assert "applied 0 changes" in finish(config)
    assert snapshots(config) == before
