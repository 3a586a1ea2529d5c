"""The demo as a user runs it: one command, real servers, and nothing left running."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.catalog import load_catalog

from cdc.config import load_config
from cdc.demo.postgres_rows import primary_key, read_rows
from cdc.demo.shop import TABLES
from cdc.observe.comparison import Comparison, Kind, Sample, compare
from tests.patience import PATIENCE_SECONDS, wait_until

ROWS = 2000
DEMO_SECONDS = 600.0  # on a busy machine; alone it takes about 60
CHANGE_BY_HAND = "UPDATE orders SET note = 'by hand' WHERE id = (SELECT min(id) FROM orders)"
COMMAND = [sys.executable, "-c", "from cdc.cli import main; main()", "demo"]


@dataclass
class Demo:
    """A running `database-mirror demo`, and what it printed."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def read(self) -> None:
        """Take up what is printed, until nothing more can come."""
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.lines.append(line.rstrip("\n"))

    def wait_for(self, wanted: str, seconds: float = DEMO_SECONDS) -> str:
        """Wait for a line that holds the pattern, and return it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = [line for line in self.lines if re.search(wanted, line)]
            if found:
                return found[0]
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(f"no line has {wanted!r}:\n" + "\n".join(self.lines))

    def section(self, title: str) -> list[str]:
        """Give the lines under a title, without their indentation."""
        start = next(n for n, line in enumerate(self.lines) if line.startswith(title)) + 1
        end = next(n for n in range(start, len(self.lines)) if not self.lines[n].strip())
        return [line.removeprefix("    ") for line in self.lines[start:end]]


@dataclass
class Finished:
    """What the test of the whole demo looks at, once it is over."""

    demo: Demo
    folder: Path
    exit_code: int
    family: set[int]
    comparisons: dict[str, Comparison]
    altered: Comparison
    arrival: str


@contextmanager
def running_demo(folder: Path, *options: str) -> Iterator[Demo]:
    """Start a demo; whatever happens, it does not outlive the block."""
    process = subprocess.Popen(
        [*COMMAND, "--rows", str(ROWS), "--folder", str(folder), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    demo = Demo(process)
    reader = threading.Thread(target=demo.read)
    reader.start()
    try:
        yield demo
    finally:
        process.kill()
        process.wait()
        reader.join()


def family_of(pid: int) -> set[int]:
    """Find all processes below one, whatever session they are in."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue  # it ended meanwhile
            parents[int(entry.name)] = int(stat[stat.rindex(")") + 2 :].split()[1])
    found = {pid}
    while new := {child for child, parent in parents.items() if parent in found} - found:
        found |= new
    return found - {pid}


def alive(pids: set[int]) -> set[int]:
    """Give those that still run; a process that nobody waits for any more does not."""
    running = set()
    for pid in pids:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if stat[stat.rindex(")") + 2] != "Z":
            running.add(pid)
    return running


def shop_url(demo: Demo) -> str:
    found = re.search(r"postgresql://\S+", demo.wait_for("postgresql://"))
    assert found
    return found[0]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """One demo from beginning to end, with a change of the user's own while it is kept running."""
    folder = tmp_path_factory.mktemp("home") / "the demo's folder"
    with running_demo(folder, "--keep") as demo:
        demo.wait_for("What arrives")
        family = family_of(demo.process.pid)
        properties = load_config(folder / "shop.toml").catalog.properties()
        comparisons = {}
        with (
            closing(load_catalog("shop", **properties)) as catalog,
            psycopg.connect(shop_url(demo), autocommit=True) as connection,
        ):
            for table in TABLES:
                mirror = catalog.load_table(("shop", table)).scan().to_arrow()
                source, key = read_rows(connection, table), primary_key(connection, table)
                comparisons[table] = compare(mirror, source, key)
                if table == "orders":
                    altered = compare(mirror, with_one_total_changed(source), key)
            connection.execute(CHANGE_BY_HAND)
        arrival = demo.wait_for("orders: .*after the change", seconds=PATIENCE_SECONDS)
        demo.process.send_signal(signal.SIGINT)
        exit_code = demo.process.wait(PATIENCE_SECONDS)
    return Finished(demo, folder, exit_code, family, comparisons, altered, arrival)


def with_one_total_changed(orders: pa.Table) -> pa.Table:
    """Add a cent to the total of one order."""
    cent = pa.scalar("0.01").cast(pa.decimal128(12, 2))
    chosen = pc.equal(orders["id"], pc.max(orders["id"]))
    total = pc.if_else(chosen, pc.add(orders["total"], cent), orders["total"])
    place = orders.column_names.index("total")
    return orders.set_column(place, "total", total.cast(orders["total"].type))


def test_the_demo_finds_mirror_and_source_equal(finished: Finished) -> None:
    heading = next(n for n, line in enumerate(finished.demo.lines) if "seconds behind" in line)
    printed = [line.split() for line in finished.demo.lines[heading + 1 : heading + 6]]

    assert [row[0] for row in printed] == list(TABLES)
    for _, source_rows, mirrored_rows, differences, seconds_behind in printed:
        assert source_rows == mirrored_rows
        assert differences == "0"
        assert 0 < float(seconds_behind) < DEMO_SECONDS
    assert sum(int(row[1].replace(",", "")) for row in printed) > ROWS / 2
    assert any("Mirror and source are equal" in line for line in finished.demo.lines)
    assert finished.exit_code == 0


def test_the_tables_are_equal_for_another_reader_too(finished: Finished) -> None:
    assert {table: found.differences for table, found in finished.comparisons.items()} == (
        dict.fromkeys(TABLES, 0)
    )


def test_the_comparison_notices_a_single_cent(finished: Finished) -> None:
    assert finished.altered.differences == 1
    assert finished.altered.samples == (
        Sample(Kind.CHANGED, finished.altered.samples[0].key, ("total",)),
    )


def test_the_workload_had_everything(finished: Finished) -> None:
    shown = "\n".join(finished.demo.lines)

    for wanted in ("a primary key changes", "ALTER TABLE orders", "TRUNCATE payments", "rollbacks"):
        assert wanted in shown


def test_a_change_by_hand_is_shown_when_it_arrives(finished: Finished) -> None:
    found = re.fullmatch(
        r"  orders: \+1 row, 1 delete, (\d+\.\d) s after the change", finished.arrival
    )

    assert found
    assert 0 < float(found[1]) < 120


def test_no_process_is_left(finished: Finished) -> None:
    assert len(finished.family) > 5  # two guards, PostgreSQL, Kafka, Connect, the mirror, Spark
    assert alive(finished.family) == set()


def test_the_config_and_the_tables_stay(finished: Finished) -> None:
    assert (finished.folder / "shop.toml").is_file()
    assert "applied" in (finished.folder / "run.log").read_text().splitlines()[-1]
    assert any(str(finished.folder) in line for line in finished.demo.lines[-1:])


def test_the_pyiceberg_lines_work_as_printed(
    finished: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    exec("\n".join(finished.demo.section("Read it with pyiceberg")), {})

    printed = capsys.readouterr().out
    assert printed.count("'customer_id':") == 5


def test_the_duckdb_lines_work_as_printed(finished: Finished) -> None:
    rows: list[Any] = []
    with duckdb.connect() as connection:
        for line in finished.demo.section("Read it with DuckDB"):
            connection.execute(line)
            rows = connection.fetchall()

    assert {row[0] for row in rows} == {"new", "paid", "returned", "sent"}
    assert sum(row[1] for row in rows) == finished.comparisons["orders"].mirror_rows


def test_the_spark_lines_work_as_printed(finished: Finished, tmp_path: Path) -> None:
    done = subprocess.run(
        "\n".join(finished.demo.section("Read it with Spark")),
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEMO_SECONDS,
    )

    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert {row[0] for row in rows} == {"new", "paid", "returned", "sent"}
    assert sum(int(row[1]) for row in rows) == finished.comparisons["orders"].mirror_rows
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ending", "moment", "exit_code"),
    [
        (signal.SIGINT, "1. Servers", 130),
        (signal.SIGKILL, "Spark starts", -signal.SIGKILL),
    ],
    ids=["Ctrl-C", "kill -9"],
)
def test_a_demo_that_is_cut_off_leaves_no_process(
    ending: signal.Signals, moment: str, exit_code: int, tmp_path: Path
) -> None:
    with running_demo(tmp_path / "demo") as demo:
        demo.wait_for(moment)
        time.sleep(3)  # into the start of the servers, or of Spark
        family = family_of(demo.process.pid)

        os.kill(demo.process.pid, ending)

        assert demo.process.wait(PATIENCE_SECONDS) == exit_code
    assert family
    assert wait_until(lambda: not alive(family))
    assert "Traceback" not in "\n".join(demo.lines)
