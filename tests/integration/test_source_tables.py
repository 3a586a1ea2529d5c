"""Tables that are dropped, made again or renamed at the source, on real databases."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from cdc.commands.check import check_mirror
from cdc.commands.status import open_status
from cdc.commands.table_plans import TablePlan
from cdc.config import MirrorConfig, load_config
from cdc.observe import RunSummary
from cdc.runtime.stream.mirror import Mirror
from tests.conftest import Configure, OpenSource
from tests.integration.databases import PostgresSource, Source
from tests.integration.dying import RENAME_STEPS
from tests.integration.planned_actions import compared_with_check
from tests.patience import PATIENCE_SECONDS, wait_until

CONNECTORS = ["postgres", "mariadb"]
# What a rule makes of a change does not depend on the database that told it.
ON_POSTGRES = pytest.mark.parametrize("shop", ["postgres"], indirect=True)
ON_MARIADB = pytest.mark.parametrize("shop", ["mariadb"], indirect=True)
NEVER = ("after", "1 begin", "1000000")  # a death that does not come


@dataclass(slots=True)
class Shop:
    """A database, and a mirror of it that asks the database's own catalog."""

    source: Source
    spark: SparkSession
    configure: Configure

    @property
    def schema(self) -> str:
        return "public" if isinstance(self.source, PostgresSource) else self.source.name

    def topic(self, table: str) -> str:
        return f"{self.source.name}.{self.schema}.{table}"

    def name(self, table: str) -> str:
        return f"shop.{self.source.name}.{table}"

    def config(self, more: str = "", *, url: bool = True) -> MirrorConfig:
        config = self.configure(
            topics=f"{self.source.name}.{self.schema}.*",
            servers=self.source.topics.servers,
            connector=self.source.connector,
            more='[stream]\ntrigger = "1 second"\nretry_parked = "3 seconds"\n' + more,
        )
        address = self.source.endpoint.url if url else None
        return replace(config, source=replace(config.source, url=address))

    def change(self, table: str, *statements: str) -> None:
        """Run statements, each of which makes one record, and wait for those.

        Debezium reads the key of a table by its name when it meets the table's first change: what
        it has not sent when the table gets another name has no key.
        """
        before = self.source.topics.records(self.topic(table))
        self.source.execute(*statements)
        self.source.wait_for(table, before + len(statements))

    def run(self, more: str = "", *, url: bool = True) -> RunSummary:
        config = self.config(more, url=url)
        with compared_with_check(config) as differences:
            summary = Mirror(self.spark, config, threading.Event()).run(once=True)
        assert differences == {}
        return summary

    @contextmanager
    def running(self, more: str = "") -> Iterator[None]:
        stop = threading.Event()
        mirror = Mirror(self.spark, self.config(more), stop)
        thread = threading.Thread(target=mirror.run, kwargs={"once": False})
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()

    def rows(self, table: str) -> list[dict[str, Any]]:
        if not self.spark.catalog.tableExists(self.name(table)):
            return []
        self.spark.catalog.refreshTable(self.name(table))
        found: list[dict[str, Any]] = self.spark.table(self.name(table)).toArrow().to_pylist()
        return sorted(found, key=lambda row: row["id"])

    def exists(self, table: str) -> bool:
        return self.spark.catalog.tableExists(self.name(table))

    def assert_equal(self, table: str) -> None:
        found = self.source.compare(self.spark, table, self.name(table))
        assert found.differences == 0, f"{table}: {found}"

    def statements(self, table: str) -> list[str]:
        with open_status(self.config()) as reader:
            tables = {history.table: history for history in reader.columns().tables}
        return [change.statement for change in tables[f"{self.source.name}.{table}"].changes]

    def plans(self, more: str, table: str) -> list[TablePlan]:
        """Say what `check` shows of a table."""
        report = check_mirror(self.config(more))
        return [plan for plan in report.tables if plan.topic == self.topic(table)]

    def parked(self, table: str) -> str | None:
        """Say why the table of a topic is parked, if it is."""
        with open_status(self.config()) as reader:
            tables = [t for t in reader.status().tables if t.topic == self.topic(table)]
        return next((t.parked for t in tables), None)

    def notes(self) -> list[str]:
        with open_status(self.config()) as reader:
            tables = [t for t in reader.status().tables if t.topic.startswith(self.source.name)]
        return [note for table in tables for note in table.notes()]


@pytest.fixture(params=CONNECTORS)
def shop(
    request: pytest.FixtureRequest,
    open_source: OpenSource,
    spark: SparkSession,
    configure: Configure,
) -> Shop:
    """A database with a table that is mirrored, and one that nothing happens to."""
    source = open_source(request.param)
    source.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, v varchar(20))",
        "INSERT INTO orders VALUES (1, 'one'), (2, 'two'), (3, 'three')",
        "CREATE TABLE other (id int PRIMARY KEY, v varchar(20))",
        "INSERT INTO other VALUES (1, 'a')",
    )
    source.register()
    source.wait_for("orders", 3)
    source.wait_for("other", 1)
    shop = Shop(source, spark, configure)
    assert shop.run().exit_code == 0
    return shop


def until(holds: Callable[[], bool]) -> None:
    assert wait_until(holds, pause=0.5), "it never came to that"


def test_a_table_that_was_renamed_while_the_mirror_was_down_goes_on_under_its_new_name(
    shop: Shop,
) -> None:
    before = shop.spark.table(f"{shop.name('orders')}.snapshots").count()
    shop.change("orders", "UPDATE orders SET v = 'old name' WHERE id = 1")
    shop.source.execute(
        "ALTER TABLE orders RENAME TO sales",
        "UPDATE sales SET v = 'new name' WHERE id = 2",
        "DELETE FROM sales WHERE id = 3",
        "INSERT INTO sales VALUES (4, 'four')",
    )
    shop.source.wait_for("sales", 4)
    (plan,) = shop.plans("", "sales")

    assert shop.run().exit_code == 0

    orders, sales = f"{shop.source.name}.orders", f"{shop.source.name}.sales"
    assert plan.action == f"RENAME TABLE {orders} TO {sales}"
    assert not shop.exists("orders")
    shop.assert_equal("sales")
    assert shop.spark.table(f"{shop.name('sales')}.snapshots").count() == before + 2
    assert shop.run().exit_code == 0  # the old topic makes no table anew
    assert not shop.exists("orders")
    assert [text for text in shop.statements("sales") if "RENAME" in text] == [
        f"RENAME TABLE {orders} TO {sales}, topic {shop.topic('orders')} to {shop.topic('sales')}"
    ]
    assert shop.notes() == []


def test_a_table_that_is_renamed_while_the_mirror_runs_goes_on_under_its_new_name(
    shop: Shop,
) -> None:
    with shop.running():
        shop.source.execute("INSERT INTO orders VALUES (4, 'four')")
        until(lambda: len(shop.rows("orders")) == 4)
        shop.change("orders", "UPDATE orders SET v = 'old name' WHERE id = 1")
        shop.source.execute(
            "ALTER TABLE orders RENAME TO sales",
            "UPDATE sales SET v = 'new name' WHERE id = 2",
            "INSERT INTO sales VALUES (5, 'five')",
        )
        until(lambda: len(shop.rows("sales")) == 5)
        shop.source.execute("DELETE FROM sales WHERE id = 1")
        until(lambda: len(shop.rows("sales")) == 4)

    assert not shop.exists("orders")
    shop.assert_equal("sales")
    shop.assert_equal("other")


@ON_MARIADB
def test_a_renamed_table_waits_for_what_is_parked_under_its_old_name(shop: Shop) -> None:
    with shop.running('[tables.defaults]\nschema_policies = { add_column = "fail" }'):
        shop.change("orders", "UPDATE orders SET v = 'old columns' WHERE id = 1")
        shop.source.execute("ALTER TABLE orders ADD COLUMN x int")
        shop.change("orders", "INSERT INTO orders VALUES (4, 'four', 4)")
        until(lambda: shop.parked("orders") is not None)
        shop.source.execute(
            "ALTER TABLE orders RENAME TO sales",
            "DELETE FROM sales WHERE id = 2",
            "INSERT INTO sales VALUES (5, 'five', 5)",
        )
        until(lambda: shop.parked("sales") is not None)

    assert "goes on as soon as everything" in (shop.parked("sales") or "")
    assert not shop.exists("sales")
    assert shop.run().exit_code == 0
    assert not shop.exists("orders")
    shop.assert_equal("sales")


def test_a_dropped_table_stays_and_its_status_says_so(shop: Shop) -> None:
    shop.change("orders", "UPDATE orders SET v = 'last' WHERE id = 1")
    shop.source.execute("DROP TABLE orders")

    assert shop.run().exit_code == 0

    assert [row["v"] for row in shop.rows("orders")] == ["last", "two", "three"]
    (note,) = shop.notes()
    assert "dropped at the source since" in note
    assert shop.statements("orders")[-1] == "DROP TABLE at the source: stays"


def test_a_dropped_table_is_taken_out_of_the_catalog_where_its_rule_says_so(shop: Shop) -> None:
    shop.source.execute("DROP TABLE orders")
    by_name = '[tables.defaults]\nschema_policies = { drop_table = "evolve" }'
    assert [t.action for t in shop.plans(by_name, "orders")] == ["DROP TABLE"]

    assert shop.run(by_name).exit_code == 0
    assert shop.run(by_name).exit_code == 0  # its topic makes no table anew

    assert not shop.exists("orders")
    shop.assert_equal("other")
    assert shop.notes() == []
    # Another table of the same name has nothing of the old one.
    shop.source.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, w int)", "INSERT INTO orders VALUES (2, 22)"
    )
    shop.source.wait_for("orders", 4)
    assert shop.run(by_name).exit_code == 0
    shop.source.execute("INSERT INTO orders VALUES (3, 33)")
    shop.source.wait_for("orders", 5)
    assert shop.run(by_name).exit_code == 0
    assert shop.rows("orders") == [{"id": 2, "w": 22}, {"id": 3, "w": 33}]


@ON_POSTGRES
def test_a_dropped_table_is_parked_where_its_rule_says_so(shop: Shop) -> None:
    shop.source.execute("DROP TABLE orders")

    summary = shop.run('[tables.defaults]\nschema_policies = { drop_table = "fail" }')

    assert "was dropped at the source" in summary.parked[shop.topic("orders")]
    assert len(shop.rows("orders")) == 3


@pytest.mark.parametrize(
    ("shop", "mode"),
    [("postgres", "mirror"), ("mariadb", "mirror"), ("postgres", "history")],
    indirect=["shop"],
)
def test_a_table_that_was_seen_missing_and_is_made_again_loses_its_old_rows(
    shop: Shop, mode: str
) -> None:
    more = f'[[tables.rules]]\nmatch = "*.seen"\nmode = "{mode}"'
    shop.source.execute(
        "CREATE TABLE seen (id int PRIMARY KEY, v varchar(20))",
        "INSERT INTO seen VALUES (1, 'one'), (2, 'two')",
    )
    shop.source.wait_for("seen", 2)
    shop.run(more)
    shop.source.execute("DROP TABLE seen")
    shop.run(more)
    shop.source.execute(
        "CREATE TABLE seen (id int PRIMARY KEY, v varchar(20))",
        "INSERT INTO seen VALUES (2, 'zwei'), (3, 'drei')",
    )
    shop.source.wait_for("seen", 4)

    assert shop.run(more).exit_code == 0
    assert shop.run(more).exit_code == 0

    rows = shop.rows("seen")
    current = [row for row in rows if mode == "mirror" or row["_mirror_current"]]
    assert [(row["id"], row["v"]) for row in current] == [(2, "zwei"), (3, "drei")]
    assert len(rows) == (2 if mode == "mirror" else 4)
    assert shop.statements("seen")[-1].endswith("rows from before go")


@ON_POSTGRES  # the others do not tell a table that was made again from one that was rebuilt
def test_a_table_that_was_made_again_unseen_is_parked_until_somebody_decides(shop: Shop) -> None:
    shop.source.execute(
        "DROP TABLE orders",
        "CREATE TABLE orders (id int PRIMARY KEY, v varchar(20))",
        "INSERT INTO orders VALUES (1, 'eins')",
    )
    shop.source.wait_for("orders", 4)

    parked = shop.run().parked[shop.topic("orders")]
    kept = shop.rows("orders")
    ignoring = '[tables.defaults]\nschema_policies = { drop_table = "ignore" }'
    assert shop.run(ignoring).exit_code == 0

    assert "created again at the source" in parked
    assert [row["v"] for row in kept] == ["one", "two", "three"]
    assert [row["v"] for row in shop.rows("orders")] == ["eins", "two", "three"]
    assert shop.run().exit_code == 0


@ON_MARIADB
def test_a_renamed_table_is_told_by_the_config_where_no_catalog_tells_it(shop: Shop) -> None:
    shop.source.execute(
        "ALTER TABLE orders RENAME TO sales", "INSERT INTO sales VALUES (4, 'four')"
    )
    shop.source.wait_for("sales", 1)
    told = f'[[tables.rules]]\nmatch = "{shop.schema}.sales"\nrenamed_from = "{shop.schema}.orders"'

    assert shop.run(told, url=False).exit_code == 0

    assert not shop.exists("orders")
    shop.assert_equal("sales")


@pytest.mark.parametrize(
    ("shop", "policy"), [("mariadb", "ignore"), ("postgres", "fail")], indirect=["shop"]
)
def test_a_renamed_table_is_not_followed_where_its_rule_says_so(shop: Shop, policy: str) -> None:
    shop.source.execute(
        "ALTER TABLE orders RENAME TO sales", "INSERT INTO sales VALUES (4, 'four')"
    )
    shop.source.wait_for("sales", 1)

    summary = shop.run(f'[tables.defaults]\nschema_policies = {{ rename_table = "{policy}" }}')

    assert len(shop.rows("orders")) == 3
    if policy == "ignore":
        assert [row["id"] for row in shop.rows("sales")] == [4]
        assert summary.exit_code == 0
    else:
        assert "rename_table is fail" in summary.parked[shop.topic("sales")]
        assert not shop.exists("sales")


@ON_MARIADB
def test_a_renamed_table_is_parked_where_its_new_name_is_taken(shop: Shop) -> None:
    shop.spark.sql(f"CREATE TABLE {shop.name('sales')} (id int) USING iceberg")
    shop.source.execute(
        "ALTER TABLE orders RENAME TO sales", "INSERT INTO sales VALUES (4, 'four')"
    )
    shop.source.wait_for("sales", 1)

    parked = shop.run().parked

    assert "no mirror made it" in parked[shop.topic("sales")]
    assert len(shop.rows("orders")) == 3


def test_a_mirror_killed_after_each_step_of_a_rename_goes_on_where_it_was(
    open_source: OpenSource, tmp_path: Path
) -> None:
    """One lake goes through all deaths, one after the other."""
    source = open_source("postgres")
    source.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, v text)",
        "INSERT INTO orders VALUES (1, 'one'), (2, 'two')",
    )
    source.register()
    source.wait_for("orders", 2)
    (tmp_path / "url").write_text(source.endpoint.url)
    config = tmp_path / "shop.toml"
    config.write_text(f"""
        name = "shop"
        [source]
        connector = "postgres"
        topics = ["{source.name}.public.*"]
        url = "file:{tmp_path}/url"
        [kafka]
        "bootstrap.servers" = "{source.topics.servers}"
        [target]
        table = "killed.{{table}}"
    """)

    def run(*death: str) -> int:
        command = [sys.executable, "-m", "tests.integration.dying", *(death or NEVER)]
        with (tmp_path / "run.log").open("a") as log:
            done = subprocess.run(
                [*command, "run", str(config), "--once"],
                stdout=log,
                stderr=log,
                timeout=PATIENCE_SECONDS,
                cwd=Path(__file__).parents[2],
            )
        return done.returncode

    assert run() == 0, (tmp_path / "run.log").read_text()[-3000:]
    source.execute(
        "ALTER TABLE orders RENAME TO sales",
        "UPDATE sales SET v = 'zwei' WHERE id = 2",
        "INSERT INTO sales VALUES (3, 'drei')",
    )
    source.wait_for("sales", 2)
    # A run that ends by itself found nothing left to do: the test would prove nothing.
    for step in RENAME_STEPS:
        assert run("after", step, "1") == -signal.SIGKILL, step
    assert run() == 0, (tmp_path / "run.log").read_text()[-3000:]

    catalog = load_catalog("shop", **load_config(config).catalog.properties())
    assert [name[-1] for name in catalog.list_tables("killed")] == ["sales"]
    rows = catalog.load_table(("killed", "sales")).scan().to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": 1, "v": "one"}, {"id": 2, "v": "zwei"}, {"id": 3, "v": "drei"}]
