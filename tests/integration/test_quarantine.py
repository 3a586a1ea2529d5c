"""The quarantine with the real command: bad records, their cause removed, replayed, dropped."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyiceberg.catalog import load_catalog

from cdc.config import load_config
from cdc.demo.postgres_rows import primary_key, read_rows
from cdc.observe.comparison import Comparison, compare
from tests.integration.databases import PostgresSource
from tests.integration.stack import Stack
from tests.patience import PATIENCE_SECONDS

FEW = 20
NULLED = '[[tables.rules]]\nmatch = "public.orders"\ntypes = { due = "timestamp or null" }'


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> int:
    """How many rows the table has, where a test does not say it."""
    return int(getattr(request, "param", 10_000))


@pytest.fixture(scope="module")
def shop(stack: Stack, rows: int) -> Iterator[PostgresSource]:
    """A table of which every hundredth row has a time that no timestamp can be, and a small one."""
    # The fixture is made anew for a test that does not say how many rows: never the same database.
    source = PostgresSource(stack, f"quarantined{time.time_ns() % 10**9}")
    source.execute(
        "CREATE TABLE orders (id bigint PRIMARY KEY, note text, due timestamp)",
        "INSERT INTO orders SELECT g, 'n' || g, CASE WHEN g % 100 = 0 THEN timestamp 'infinity' "
        f"ELSE timestamp '2026-01-02 03:04:05' END FROM generate_series(1, {rows}) g",
    )
    source.execute(
        "CREATE TABLE visits (id int PRIMARY KEY, due timestamp)",
        f"INSERT INTO visits SELECT g, 'infinity' FROM generate_series(1, {FEW}) g",
    )
    source.register()
    source.wait_for("orders", rows)
    source.wait_for("visits", FEW)
    yield source
    source.close()


def write_config(shop: PostgresSource, folder: Path, table: str) -> Path:
    file = folder / "shop.toml"
    file.write_text(f"""
name = "shop"
[source]
connector = "postgres"
topics = ["{shop.name}.public.{table}"]
[kafka]
"bootstrap.servers" = "{shop.topics.servers}"
""")
    return file


def database_mirror(*arguments: str, code: int = 0) -> str:
    command = [str(Path(sys.executable).parent / "database-mirror"), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, stdin=subprocess.DEVNULL
    )
    assert done.returncode == code, done.stderr[-3000:]
    return done.stdout


def answer(*arguments: str, code: int = 0) -> Any:
    return json.loads(database_mirror("quarantine", *arguments, "--output", "json", code=code))


def differences(config: Path, shop: PostgresSource) -> Comparison:
    catalog = load_catalog("shop", **load_config(config).catalog.properties())
    table = catalog.load_table((shop.name, "orders"))
    with psycopg.connect(shop.endpoint.url) as connection:
        source, key = read_rows(connection, "orders"), primary_key(connection, "orders")
    return compare(table.scan().to_arrow(), source, key)


@pytest.mark.parametrize("rows", [10_000, 100_000], indirect=True)
def test_bad_records_are_replayed_to_no_difference(
    shop: PostgresSource, rows: int, tmp_path: Path
) -> None:
    bad = rows // 100
    config = write_config(shop, tmp_path, "orders")
    file = str(config)
    summary = database_mirror("run", file, "--once")
    (group,) = answer("list", file)
    (shown,) = answer("show", file, "--limit", "1")
    still = answer("replay", file, code=1)

    assert f"applied {rows - bad} changes" in summary
    assert (group["records"], group["replayable"]) == (bad, bad)
    assert "infinity" in group["reason"]
    assert json.loads(shown["value"])["payload"]["op"] == "r"
    assert (still["tables"][0]["applied"], still["tables"][0]["stays"][0]["records"]) == (0, bad)

    # Rows that changed since must not be set back, and one that is gone must stay so.
    shop.execute(
        f"UPDATE orders SET note = 'newer', due = NULL WHERE id % {rows // 10} = 0",
        "DELETE FROM orders WHERE id = 100",
    )
    shop.wait_for("orders", rows + 10 + 2)
    database_mirror("run", file, "--once")
    config.write_text(config.read_text() + NULLED)
    dry = answer("replay", file, "--dry-run")
    done = answer("replay", file)

    counts = [(t["applied"], t["superseded"]) for t in (dry["tables"][0], done["tables"][0])]
    assert counts == [(bad - 11, 11), (bad - 11, 11)]
    assert answer("list", file) == []
    shop.execute("UPDATE orders SET due = NULL WHERE due = 'infinity'")  # as the config says
    assert differences(config, shop).differences == 0


def test_records_are_dropped_for_good_and_only_on_request(
    shop: PostgresSource, tmp_path: Path
) -> None:
    config = write_config(shop, tmp_path, "visits")
    config.write_text(config.read_text() + f"[tables.defaults]\nmax_quarantined = {FEW}\n")
    file = str(config)
    database_mirror("run", file, "--once")
    places = [(r["partition"], r["offset"]) for r in answer("show", file, "--limit", "2")]
    partition, offset = places[0]

    database_mirror("quarantine", "drop", file, code=2)
    one = database_mirror(
        "quarantine", "drop", file, "--partition", str(partition), "--offset", str(offset), "--yes"
    )
    left = answer("list", file)[0]["records"]
    others = database_mirror("quarantine", "drop", file, "--table", "x.y", "--yes")
    rest = database_mirror("quarantine", "drop", file, "--yes")

    assert (one, left, others) == ("removed 1 records\n", FEW - 1, "removed 0 records\n")
    assert rest == f"removed {FEW - 1} records\n"
    assert answer("list", file) == []
