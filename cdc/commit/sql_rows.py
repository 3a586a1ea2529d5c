"""The tables of other catalogs in the database of an SQL catalog, which Iceberg does not show."""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from cdc.model import TableName

NAMESAKES_SQL = """
SELECT catalog_name, metadata_location FROM iceberg_tables
 WHERE catalog_name <> ? AND table_namespace = ? AND table_name = ?
"""
# What the catalog's settings that go to the driver begin with.
DRIVER_OPTION = "jdbc."


@dataclass(frozen=True, slots=True)
class CatalogDatabase:
    """The database, reached with the driver that the catalog itself uses."""

    driver: Any
    uri: str
    options: Any

    def namesakes(self, catalog: str, name: TableName) -> dict[str, str]:
        """Give the metadata files of a table's namesakes, by the names of their catalogs."""
        connection = self.driver.connect(self.uri, self.options)
        try:
            statement = connection.prepareStatement(NAMESAKES_SQL)
            for place, value in enumerate((catalog, ".".join(name.namespace), name.table), 1):
                statement.setString(place, value)
            rows = statement.executeQuery()
            found = {}
            while rows.next():
                found[str(rows.getString(1))] = str(rows.getString(2))
            return found
        finally:
            connection.close()


def catalog_database(
    spark: SparkSession, jvm: Any, name: str, catalog: Any
) -> CatalogDatabase | None:
    """Give the database of a catalog that is an SQL one.

    Args:
        spark: The session that has the catalog's settings.
        jvm: Its Java.
        name: The catalog's name.
        catalog: Iceberg's catalog itself.
    """
    prefix = f"spark.sql.catalog.{name}."
    settings = {
        option.removeprefix(prefix): value
        for option, value in spark.conf.getAll.items()
        if option.startswith(prefix)
    }
    if settings.get("type") != "jdbc":
        return None
    # To a caller from outside, Java's DriverManager does not show what came with Spark's jars.
    loader = catalog.getClass().getClassLoader()
    kind = jvm.java.lang.Class.forName("java.sql.Driver")
    drivers = jvm.java.util.ServiceLoader.load(kind, loader).iterator()
    driver = next(driver for driver in drivers if driver.acceptsURL(settings["uri"]))
    options = jvm.java.util.Properties()
    for option, value in settings.items():
        if option.startswith(DRIVER_OPTION):
            options.setProperty(option.removeprefix(DRIVER_OPTION), value)
    return CatalogDatabase(driver, settings["uri"], options)
