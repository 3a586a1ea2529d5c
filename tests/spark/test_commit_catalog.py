"""A catalog that several open at once, with the real library."""

import logging
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from pyspark.sql import SparkSession

from cdc.commit import IcebergCatalog
from cdc.model import TableName
from cdc.runtime.stream.session import ICEBERG
from cdc.state.names import TOPIC_PROPERTY

AT_ONCE = 8


@pytest.mark.parametrize("attempt", range(8))
def test_a_new_catalog_can_be_opened_by_several_at_once(
    spark: SparkSession, tmp_path: Path, attempt: int
) -> None:
    start = Barrier(AT_ONCE)

    def open_one(number: int) -> IcebergCatalog:
        session, name = spark.newSession(), f"race{attempt}{number}"
        for option, value in {
            "": f"{ICEBERG}.SparkCatalog",
            ".type": "jdbc",
            ".uri": f"jdbc:sqlite:{tmp_path}/catalog.db",
            ".warehouse": str(tmp_path),
            ".jdbc.schema-version": "V1",
        }.items():
            session.conf.set(f"spark.sql.catalog.{name}{option}", value)
        start.wait()
        return IcebergCatalog(session, name)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        catalogs = list(threads.map(open_one, range(AT_ONCE)))

    assert [catalog.load(TableName(("none",), "such")) for catalog in catalogs] == [None] * AT_ONCE


def test_a_table_that_somebody_made_meanwhile_is_opened_and_not_called_created(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "cdc.commit.catalog")
    schema = Schema(NestedField(1, "id", LongType(), required=True))
    name = TableName((f"made{uuid.uuid4().hex[:8]}",), "orders")
    catalog = IcebergCatalog(spark, "shop")

    made, found = (catalog.create(name, schema, {TOPIC_PROPERTY: "t"}, None) for _ in range(2))

    assert made.uuid == found.uuid
    assert caplog.messages == [f"created table={name} topic=t"]
