"""Changes of every database end in the right rows of a real table.

The messages are made from Debezium's documentation: see tests/unit/connector_messages.py.
"""

import pytest
from pyspark.sql import SparkSession

from connectors import DIALECTS
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.connector_messages import ANNE, document_event, event, life_of_rows
from tests.unit.messages import Message

every_database = pytest.mark.parametrize("name", DIALECTS)
# Their snapshots may read a row that a later insert repeats.
INEXACT = [name for name, dialect in DIALECTS.items() if not dialect.exact_snapshot]


def bench_of(spark: SparkSession, configure: Configure, name: str, target: str) -> Bench:
    """Mirror into a table that no other test has."""
    more = '[tables.defaults]\ndeletes = "equality"'
    return Bench(spark, configure(connector=name, target=f"{target}_{name}.{{table}}", more=more))


def inserted(name: str, op: str, n: int) -> Message:
    if name == "mongodb":
        return document_event(op, n, "1", after='{"_id": 1}')
    return event(name, op, n, after=ANNE)


@every_database
def test_changes_batch_by_batch_leave_the_right_rows(
    name: str, spark: SparkSession, configure: Configure
) -> None:
    bench = bench_of(spark, configure, name, "life")
    messages, expected = life_of_rows(name)

    for start in range(0, len(messages), 2):
        bench.apply(*messages[start : start + 2])

    table = "CUSTOMERS" if name == "oracle" else "customers"
    assert bench.rows(f"life_{name}.{table}") == expected


@pytest.mark.parametrize("name", INEXACT)
def test_an_insert_that_repeats_a_row_of_the_snapshot_makes_no_second_row(
    name: str, spark: SparkSession, configure: Configure
) -> None:
    bench = bench_of(spark, configure, name, "overlap")

    bench.apply(inserted(name, "r", 1))
    bench.apply(inserted(name, "c", 2))

    table = "CUSTOMERS" if name == "oracle" else "customers"
    assert len(bench.rows(f"overlap_{name}.{table}")) == 1
