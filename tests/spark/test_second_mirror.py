"""A second mirror of the same config beside the first, through real Spark and Iceberg."""

import uuid
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import ORDERS, insert, update


@pytest.mark.parametrize("deletes", ["positional", "equality"])
def test_a_mirror_that_finds_its_batch_applied_by_another_finds_the_rows_in_the_files_of_that(
    spark: SparkSession, configure: Configure, deletes: str
) -> None:
    table = replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")
    config = configure(more=f'[tables.defaults]\ndeletes = "{deletes}"')
    one, other = Bench(spark, config), Bench(spark, config)
    first = insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10)
    second = update({"id": 1, "name": "b"}, table=table, offset=1, lsn=20)
    one.apply(first)
    other.apply(first)

    one.apply(second)
    other.apply(second)
    other.apply(update({"id": 1, "name": "c"}, table=table, offset=2, lsn=30))

    assert one.rows(f"{table.server}.orders") == [{"id": 1, "name": "c"}]
