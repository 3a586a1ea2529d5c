"""The whole way: a real database through Debezium and Kafka into tables that equal it."""

import shutil
import threading
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from cdc.config import MirrorConfig
from cdc.observe import RunSummary
from cdc.runtime.stream.mirror import Mirror
from tests.conftest import Configure, OpenSource
from tests.integration.databases import PostgresSource
from tests.integration.stack import Stack
from tests.patience import PATIENCE_SECONDS, wait_until

ORDERS = """
    CREATE TABLE orders (
        id bigint PRIMARY KEY, customer text, amount numeric(12, 2), paid boolean,
        day date, at timestamp, seen timestamptz, tags text[], extra jsonb, code uuid
    )
"""
FILL_ORDERS = """
    INSERT INTO orders
    SELECT g, 'customer ' || g || ' é', g * 1.25, g % 3 = 0, date '2024-01-01' + g % 400,
        timestamp '2024-01-01' + g * interval '1.5 s',
        timestamptz '2024-01-01 00:00Z' + g * interval '1 s',
        ARRAY['a', 'b' || g], jsonb_build_object('n', g), gen_random_uuid()
    FROM generate_series(1, 3000) g
"""
CHANGES = (
    "UPDATE orders SET amount = -1.01, customer = NULL WHERE id % 7 = 0",
    "DELETE FROM orders WHERE id % 11 = 0",
    "INSERT INTO orders (id, customer) SELECT g, 'new' FROM generate_series(5001, 5100) g",
    "DELETE FROM orders WHERE id BETWEEN 5001 AND 5010",
    "INSERT INTO orders (id, customer) VALUES (5001, 'again')",
    "UPDATE orders SET id = id + 100000 WHERE id % 13 = 0",
)


def run_once(spark: SparkSession, config: MirrorConfig) -> RunSummary:
    return Mirror(spark, config, threading.Event()).run(once=True)


def snapshots(spark: SparkSession, table: str) -> int:
    return spark.table(f"{table}.snapshots").count()


@pytest.fixture
def shop(stack: Stack, request: pytest.FixtureRequest) -> Iterator[PostgresSource]:
    """A database of the test's own, with orders, lines of orders and a log."""
    source = PostgresSource(stack, f"pg{abs(hash(request.node.nodeid)) % 10**8}")
    source.execute(
        ORDERS,
        FILL_ORDERS,
        "CREATE TABLE lines (order_id bigint, line int, note text, PRIMARY KEY (order_id, line))",
        "INSERT INTO lines SELECT g / 3, g % 3, 'note ' || g FROM generate_series(1, 900) g",
        "CREATE TABLE log (id int PRIMARY KEY, text varchar(20))",
        "INSERT INTO log SELECT g, 'line ' || g FROM generate_series(1, 50) g",
    )
    source.register()
    source.wait_for("orders", 3000)
    source.wait_for("lines", 900)
    source.wait_for("log", 50)
    yield source
    source.close()


def assert_equal(shop: PostgresSource, spark: SparkSession) -> None:
    for table in ("orders", "lines", "log"):
        found = shop.compare(spark, table, f"shop.{shop.name}.{table}")
        assert found.differences == 0, f"{table}: {found}"


@pytest.mark.parametrize("deletes", ["positional", "equality"])
def test_mirror_of_postgres_equals_it_after_every_kind_of_change(
    shop: PostgresSource, spark: SparkSession, configure: Configure, deletes: str
) -> None:
    config = configure(
        topics=f"{shop.name}.public.*",
        servers=shop.topics.servers,
        more=f'[tables.defaults]\ndeletes = "{deletes}"',
    )

    first = run_once(spark, config)
    assert_equal(shop, spark)
    shop.execute(*CHANGES)
    shop.execute("TRUNCATE log", "INSERT INTO log VALUES (7, 'seven'), (8, 'eight')")
    shop.execute("ALTER TABLE lines ADD COLUMN weight real")
    shop.execute(
        "INSERT INTO lines VALUES (9000, 1, 'heavy', 2.5)", "DELETE FROM lines WHERE line = 2"
    )
    shop.execute("INSERT INTO log VALUES (100, 'last')")
    shop.wait_for("log", 54)
    shop.wait_for("lines", 900 + 1 + 300 * 2)
    second = run_once(spark, config)

    assert_equal(shop, spark)
    assert first.account.applied == 3950
    assert first.exit_code == second.exit_code == 0
    assert second.account.balanced


def test_second_run_applies_nothing_and_makes_no_snapshot(
    shop: PostgresSource, spark: SparkSession, configure: Configure
) -> None:
    config = configure(topics=f"{shop.name}.public.*", servers=shop.topics.servers)
    tables = [f"shop.{shop.name}.{table}" for table in ("orders", "lines", "log")]
    run_once(spark, config)
    before = [snapshots(spark, table) for table in tables]

    second = run_once(spark, config)
    shutil.rmtree(config.stream.checkpoint, ignore_errors=True)
    third = run_once(spark, config)

    assert (second.account.read, third.account.read) == (0, 0)
    assert [snapshots(spark, table) for table in tables] == before
    assert_equal(shop, spark)


def test_small_batches_give_the_same_tables(
    shop: PostgresSource, spark: SparkSession, configure: Configure
) -> None:
    config = configure(
        topics=f"{shop.name}.public.*",
        servers=shop.topics.servers,
        more='[stream]\nmax_records = 700\n[tables.defaults]\ndeletes = "equality"',
    )
    shop.execute(*CHANGES)
    shop.wait_for("orders", 4500)

    summary = run_once(spark, config)

    assert summary.batches > 5
    assert_equal(shop, spark)


def test_table_created_while_it_runs_joins_and_a_stop_finishes_the_batch(
    shop: PostgresSource, spark: SparkSession, configure: Configure
) -> None:
    config = configure(
        topics=f"{shop.name}.public.*",
        servers=shop.topics.servers,
        more='[stream]\ntrigger = "1 second"',
    )
    stop = threading.Event()
    summaries: list[RunSummary] = []
    mirror = Mirror(spark, config, stop)
    running = threading.Thread(target=lambda: summaries.append(mirror.run(once=False)))

    running.start()
    try:
        assert wait_until(lambda: spark.catalog.tableExists(f"shop.{shop.name}.log"), pause=0.5)
        shop.execute("CREATE TABLE late (id int PRIMARY KEY, v text)")
        shop.execute("INSERT INTO late VALUES (1, 'a'), (2, 'b')")
        table = f"shop.{shop.name}.late"
        assert wait_until(
            lambda: spark.catalog.tableExists(table) and spark.table(table).count() == 2, pause=0.5
        )
    finally:
        stop.set()
        running.join(PATIENCE_SECONDS)

    assert not running.is_alive()
    assert summaries[0].exit_code == 0
    assert shop.compare(spark, "late", table).differences == 0


@pytest.mark.parametrize("connector", ["mariadb", "mysql"])
def test_mirror_of_a_binlog_database_equals_it_after_every_kind_of_change(
    open_source: OpenSource, spark: SparkSession, configure: Configure, connector: str
) -> None:
    source = open_source(connector)
    source.execute(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer varchar(50), amount decimal(12, 2), "
        "at datetime(6), small tinyint unsigned, big bigint unsigned) CHARACTER SET utf8mb4",
        *(
            f"INSERT INTO orders VALUES ({n}, 'größe {n}', {n}.25, "
            f"'2024-01-01 10:00:00.00012{n % 10}', {n % 256}, {2**64 - n})"
            for n in range(1, 200)
        ),
        "CREATE TABLE log (id int PRIMARY KEY, v text)",
        "INSERT INTO log VALUES (1, 'a'), (2, 'b')",
    )
    source.register()
    source.wait_for("orders", 199)
    config = configure(
        topics=f"{source.name}.{source.name}.*",
        servers=source.topics.servers,
        connector=connector,
    )
    run_once(spark, config)
    source.execute(
        "UPDATE orders SET amount = -5, customer = NULL WHERE id % 7 = 0",
        "DELETE FROM orders WHERE id % 5 = 0",
        "UPDATE orders SET id = id + 1000 WHERE id % 13 = 0",
    )
    source.execute("TRUNCATE log")
    source.execute("INSERT INTO log VALUES (3, 'c')")
    source.wait_for("log", 4)
    run_once(spark, config)

    for table in ("orders", "log"):
        found = source.compare(spark, table, f"shop.{source.name}.{table}")
        assert found.differences == 0, f"{table}: {found}"
