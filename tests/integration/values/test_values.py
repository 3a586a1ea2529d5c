"""Every value exact: all types and edges, written in a real database, equal in its mirror.

The values go through the real Debezium in each handling mode and in both wire formats. What they
should be is asked of the source in SQL.
"""

import threading
import time
from itertools import product

import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from cdc.config import MirrorConfig
from cdc.runtime.stream.mirror import Mirror
from tests.conftest import Configure
from tests.integration.stack import Stack
from tests.integration.values.cells import Format, Setup, Tally
from tests.integration.values.comparing import Comparison
from tests.integration.values.mysql_source import MariadbValues, MysqlValues
from tests.integration.values.postgres_source import PostgresValues
from tests.integration.values.setups import setups
from tests.integration.values.sources import ValueSource

KINDS = (PostgresValues, MariadbValues, MysqlValues)
LEAST_CELLS = 2_000  # of each database
QUARANTINE = "shop.shop._mirror_quarantine"


@pytest.fixture(params=KINDS, ids=[kind.connector for kind in KINDS])
def kind(request: pytest.FixtureRequest) -> type[ValueSource]:
    """Give each database; MySQL is skipped where no server can be had."""
    if request.param is MysqlValues:
        request.getfixturevalue("mysql")
    found: type[ValueSource] = request.param
    return found


def test_mirror_holds_every_value_as_the_source_has_it(
    kind: type[ValueSource],
    stack: Stack,
    spark: SparkSession,
    configure: Configure,
    tallies: dict[str, Tally],
) -> None:
    source = kind(stack, f"values{time.time_ns() % 10**8}", kind.types)
    connectors = setups(source.name, source.modes)
    source.produce(connectors)
    config = configured(configure, source, chosen_types(source))

    Mirror(spark, config, threading.Event()).run(once=True)

    comparison = compared(spark, source, connectors)
    catalog = load_catalog(config.name, **config.catalog.properties())
    for setup, table in product(connectors[: len(Format)], source.tables):
        read = catalog.load_table((setup.name, table.name)).scan().to_arrow()
        comparison.compare_readers(f"shop.{setup.name}.{table.name}", read, setup)
    comparison.tally.missing = source.missing
    tallies[source.connector] = comparison.tally
    assert comparison.differences == []
    assert len(comparison.tally.cells) >= LEAST_CELLS


def test_rows_are_found_again_by_keys_of_every_type(
    kind: type[ValueSource], stack: Stack, spark: SparkSession, configure: Configure
) -> None:
    source = kind(stack, f"keys{time.time_ns() % 10**8}", kind.keys)
    # Every mode, in JSON and in Avro by turns.
    connectors = [s for n, s in enumerate(setups(source.name, source.modes)) if n % 4 in (0, 3)]
    source.produce(connectors)
    # In several batches, so that rows are looked for in the tables too.
    records = sum(table.records() for table in source.tables) * len(connectors)
    config = configured(
        configure,
        source,
        f"[stream]\nmax_records = {records // 2}\n"
        '[[tables.rules]]\nmatch = "*.keyed_equality"\ndeletes = "equality"',
    )

    summary = Mirror(spark, config, threading.Event()).run(once=True)

    assert compared(spark, source, connectors).differences == []
    assert summary.batches > 1


def configured(configure: Configure, source: ValueSource, more: str) -> MirrorConfig:
    """Make the config of a mirror of all setups."""
    return configure(
        topics=f"{source.name}_*.*.*",
        servers=source.stack.kafka.bootstrap_servers,
        connector=source.connector,
        more=f'{more}\n[registry]\nurl = "{source.stack.registry.url}"',
    )


def compared(spark: SparkSession, source: ValueSource, connectors: list[Setup]) -> Comparison:
    """Compare all mirrors with what the source says of them."""
    comparison = Comparison(spark, QUARANTINE)
    for setup, table in product(connectors, source.tables):
        mirror, topic = f"shop.{setup.name}.{table.name}", source.topic(setup, table)
        comparison.compare(mirror, topic, table, setup, source.expected(setup, table))
    return comparison


def chosen_types(source: ValueSource) -> str:
    """Render the rules that choose types for columns."""
    lines = []
    for table in source.tables:
        choices = [f'{c.name} = "{c.choice}"' for c in table.columns if c.choice]
        if choices:
            lines += ["[[tables.rules]]", f'match = "*.{table.name}"']
            lines += [f"types = {{ {', '.join(choices)} }}"]
    return "\n".join(lines)
