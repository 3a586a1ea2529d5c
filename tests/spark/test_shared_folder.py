"""Two mirrors in one SQL database, whose tables would be in one folder: real Spark and Iceberg."""

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdc.commit import IcebergCatalog, set_properties
from cdc.config import MirrorConfig
from cdc.config.load import parse_config
from cdc.errors import MirrorError, SharedFolderError
from cdc.model import TableName
from cdc.runtime.stream.session import catalog_options
from cdc.runtime.tables.folders import Folders
from cdc.schema import quarantine_schema
from tests.spark.bench import Bench
from tests.unit.messages import ORDERS, insert, update

NAME = TableName(("shop",), "orders")
TOPIC = ORDERS.topic

Configured = Callable[..., MirrorConfig]


@pytest.fixture
def configured(spark: SparkSession, tmp_path: Path) -> Configured:
    """Make configs over one SQLite file, each with a catalog that Spark knows."""

    def make(name: str, warehouse: str = "warehouse") -> MirrorConfig:
        # A catalog that Spark has opened once keeps its settings.
        name = f"{name}{uuid.uuid4().hex[:8]}"
        text = f"""
            name = "{name}"
            [source]
            connector = "postgres"
            topics = ["*"]
            [kafka]
            "bootstrap.servers" = "localhost:9"
            [catalog]
            uri = "sqlite:///catalog.db"
            warehouse = "{warehouse}"
            [target]
            table = "shop.{{table}}"
        """
        config = parse_config(text.encode(), tmp_path / f"{name}.toml")
        for option, value in catalog_options(config).items():
            spark.conf.set(option, value)
        return config

    return make


def metadata_files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*.metadata.json")}


def reason(bench: Bench) -> MirrorError | None:
    return bench.parked.get(TOPIC)


def test_a_table_in_the_folder_of_another_mirrors_table_is_not_made(
    spark: SparkSession,
    configured: Configured,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    left, right = configured("left"), configured("right")
    one, other = Bench(spark, left), Bench(spark, right)
    one.apply(insert({"id": 1, "name": "a"}, offset=0))
    files = metadata_files(tmp_path)
    caplog.set_level(logging.INFO, "cdc.commit.catalog")
    caplog.clear()

    other.apply(insert({"id": 1, "name": "a"}, offset=0))

    error = reason(other)
    assert isinstance(error, SharedFolderError)
    folder = f"{tmp_path}/warehouse/shop/orders"
    assert (error.table, error.other, error.folder) == ("shop.orders", left.name, folder)
    assert metadata_files(tmp_path / "warehouse" / "shop") == files
    assert f"created table={NAME}" not in caplog.text  # not even for a moment
    assert IcebergCatalog(spark, right.name).load(NAME) is None
    one.apply(update({"id": 1, "name": "b"}, offset=1))
    assert one.rows("shop.orders") == [{"id": 1, "name": "b"}]


def test_of_two_tables_made_at_once_in_one_folder_the_later_is_taken_back(
    spark: SparkSession, configured: Configured, tmp_path: Path
) -> None:
    left, right = configured("left"), configured("right")
    one, other = IcebergCatalog(spark, left.name), IcebergCatalog(spark, right.name)
    folders = Folders(right.catalog, other)
    location = folders.location(NAME)  # nothing is there yet
    kept = one.create(NAME, quarantine_schema(), {}, location)
    files = metadata_files(tmp_path)
    late = other.create(NAME, quarantine_schema(), {}, location)

    with pytest.raises(SharedFolderError) as raised:
        folders.check(late)

    assert raised.value.other == left.name
    assert other.load(NAME) is None
    assert metadata_files(tmp_path) == files
    found = one.load(NAME)
    assert found is not None and found.uuid == kept.uuid


def test_a_table_that_a_killed_mirror_did_not_take_back_is_taken_back_when_it_is_opened(
    spark: SparkSession, configured: Configured
) -> None:
    left, right = configured("left"), configured("right")
    killed = Bench(spark, right)
    killed.apply(update({"id": 1, "name": "a"}, offset=0))
    properties = killed.table(TOPIC).table.properties
    owned = {name: properties[name] for name in properties if name.startswith("_mirror_")}
    spark.sql(f"DROP TABLE {right.name}.shop.orders PURGE")
    one = Bench(spark, left)
    one.apply(insert({"id": 1, "name": "a"}, offset=0))
    table = one.table(TOPIC).table
    IcebergCatalog(spark, right.name).create(NAME, table.schema, owned, None)

    other = Bench(spark, right)
    other.apply(insert({"id": 1, "name": "a"}, offset=0))

    assert isinstance(reason(other), SharedFolderError)
    assert IcebergCatalog(spark, right.name).load(NAME) is None
    assert one.rows("shop.orders") == [{"id": 1, "name": "a"}]


def test_two_tables_with_rows_in_one_folder_are_parked_and_kept(
    spark: SparkSession, configured: Configured, tmp_path: Path
) -> None:
    left, elsewhere = configured("left"), configured("right", "elsewhere")
    one = Bench(spark, left)
    one.apply(insert({"id": 1, "name": "a"}, offset=0))
    other = Bench(spark, elsewhere)
    other.apply(insert({"id": 1, "name": "b"}, offset=0))
    # As two mirrors of before would have made them.
    folder = f"{tmp_path}/warehouse/shop/orders"
    found = other.table(TOPIC).table
    found.java.updateLocation().setLocation(folder).commit()
    set_properties(found, {"moved": "yes"})

    again = Bench(spark, elsewhere), Bench(spark, left)
    for bench in again:
        bench.apply(update({"id": 1, "name": "c"}, offset=1))

    assert [type(reason(bench)) for bench in again] == [SharedFolderError] * 2
    assert one.rows("shop.orders") == [{"id": 1, "name": "a"}]
    assert other.rows("shop.orders") == [{"id": 1, "name": "b"}]


def test_mirrors_with_folders_of_their_own_may_have_tables_of_one_name(
    spark: SparkSession, configured: Configured
) -> None:
    benches = Bench(spark, configured("left")), Bench(spark, configured("right", "elsewhere"))

    for number, bench in enumerate(benches):
        bench.apply(replace(insert({"id": number, "name": "a"}), offset=0))

    assert [bench.parked for bench in benches] == [{}, {}]
    assert [bench.rows("shop.orders")[0]["id"] for bench in benches] == [0, 1]
