"""A catalog that several open at once, with the real library."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from pyspark.sql import SparkSession

from cdc.commit import IcebergCatalog
from cdc.model import TableName
from cdc.runtime.session import ICEBERG

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
