"""Every value exact: all types and edges, written in a real database, equal in its mirror.

The values go through the real Debezium in each handling mode and in both wire formats. What they
should be is asked of the source in SQL.
"""

import threading
import time

import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from cdc.runtime.mirror import Mirror
from tests.conftest import Configure
from tests.integration.stack import Stack
from tests.integration.values.cells import Format, Tally
from tests.integration.values.comparing import Comparison
from tests.integration.values.mysql_source import MariadbValues, MysqlValues
from tests.integration.values.postgres_source import PostgresValues
from tests.integration.values.setups import setups
from tests.integration.values.sources import ValueSource

LEAST_CELLS = 2_000  # of each database
QUARANTINE = "shop.shop._mirror_quarantine"


@pytest.mark.parametrize("kind", [PostgresValues, MariadbValues, MysqlValues])
def test_mirror_holds_every_value_as_the_source_has_it(
    kind: type[ValueSource],
    stack: Stack,
    spark: SparkSession,
    configure: Configure,
    tallies: dict[str, Tally],
    request: pytest.FixtureRequest,
) -> None:
    if kind is MysqlValues:
        request.getfixturevalue("mysql")  # which skips where no server can be had
    source = kind(stack, f"values{time.time_ns() % 10**8}")
    connectors = setups(source.name, source.modes)
    source.create()
    source.fill()
    try:
        source.register(connectors)
        source.wait_for(connectors, streamed=False)
        source.change()
        source.wait_for(connectors, streamed=True)
    finally:
        source.close()
    config = configure(
        topics=f"{source.name}_*.*.*",
        servers=stack.kafka.bootstrap_servers,
        connector=source.connector,
        more=f'{chosen_types(source)}\n[registry]\nurl = "{stack.registry.url}"',
    )

    Mirror(spark, config, threading.Event()).run(once=True)

    comparison = Comparison(spark, QUARANTINE)
    for setup in connectors:
        for table in source.tables:
            mirror, topic = f"shop.{setup.name}.{table.name}", source.topic(setup, table)
            comparison.compare(mirror, topic, table, setup, source.expected(setup, table))
    catalog = load_catalog(config.name, **config.catalog.properties())
    for setup in connectors[: len(Format)]:
        for table in source.tables:
            read = catalog.load_table((setup.name, table.name)).scan().to_arrow()
            comparison.compare_readers(f"shop.{setup.name}.{table.name}", read, setup)
    comparison.tally.missing = source.missing
    tallies[source.connector] = comparison.tally
    assert comparison.differences == []
    assert len(comparison.tally.cells) >= LEAST_CELLS


def chosen_types(source: ValueSource) -> str:
    """Render the rules that choose types for columns."""
    lines = []
    for table in source.tables:
        choices = [f'{c.name} = "{c.choice}"' for c in table.columns if c.choice]
        if choices:
            lines += ["[[tables.rules]]", f'match = "*.{table.name}"']
            lines += [f"types = {{ {', '.join(choices)} }}"]
    return "\n".join(lines)
