"""Find and create tables."""

import logging
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyiceberg.schema import Schema
from pyspark.sql import SparkSession

from cdc.commit.java_errors import java_name, translated
from cdc.commit.java_values import java_array, java_class
from cdc.commit.sql_rows import catalog_database
from cdc.commit.table import IcebergTable
from cdc.errors import ForeignTableError
from cdc.model import TableName
from cdc.state.names import TOPIC_PROPERTY

logger = logging.getLogger(__name__)

# How often a catalog is opened that somebody else may be making.
LOADS = 4


class IcebergCatalog:
    """The catalog that holds the mirrored tables, as Spark has it open."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        self.name = name
        gateway: Any = spark.sparkContext._gateway
        self._gateway = gateway
        self._jvm = self._gateway.jvm
        with translated(f"the catalog {name}"):
            # Spark looks for the catalog's settings in the session that is active in this thread.
            SparkSession._get_j_spark_session_class(self._jvm).setActiveSession(
                spark._jsparkSession
            )
            self._catalog = self._loaded(spark)
            self._database = catalog_database(spark, self._jvm, name, self._catalog)

    def _loaded(self, spark: SparkSession) -> Any:
        """Open the catalog itself, which makes the tables that it keeps its own records in.

        Of two mirrors that make them at once, one is refused, and finds them when it tries again.
        """
        util = self._jvm.org.apache.iceberg.spark.Spark3Util
        for _ in range(LOADS - 1):
            try:
                return util.loadIcebergCatalog(spark._jsparkSession, self.name)
            except Py4JJavaError as error:
                if not java_name(error).endswith("UncheckedSQLException"):
                    raise
        return util.loadIcebergCatalog(spark._jsparkSession, self.name)

    def load(self, name: TableName) -> IcebergTable | None:
        """Open a table, or say that there is none."""
        with translated(str(name)):
            try:
                table = self._catalog.loadTable(self._identifier(name))
            except Py4JJavaError as error:
                if java_name(error).endswith(("NoSuchTableException", "NoSuchNamespaceException")):
                    return None
                raise
        return IcebergTable(name, table, self._gateway)

    def create(
        self,
        name: TableName,
        schema: Schema,
        properties: Mapping[str, str],
        location: str | None,
    ) -> IcebergTable:
        """Create an unpartitioned table, or open the one that somebody made in the meantime."""
        with translated(str(name)):
            self._create_namespaces(name)
            parsed = self._class("SchemaParser").fromJson(schema.model_dump_json())
            builder = self._catalog.buildTable(self._identifier(name), parsed)
            for key, value in properties.items():
                builder = builder.withProperty(key, value)
            if location is not None:
                builder = builder.withLocation(location)
            try:
                table = builder.create()
                logger.info("created table=%s topic=%s", name, properties.get(TOPIC_PROPERTY, "-"))
            except Py4JJavaError as error:
                if not java_name(error).endswith("AlreadyExistsException"):
                    raise
                table = self._catalog.loadTable(self._identifier(name))
        return IcebergTable(name, table, self._gateway)

    def namesakes(self, name: TableName) -> dict[str, str]:
        """Find what an SQL catalog's database has under the same name for other catalogs.

        To that database a catalog is a name, and mirrors of two names see nothing of each other.

        Returns:
            The metadata file of each table, by the name of its catalog.
        """
        if self._database is None:
            return {}
        with translated(str(name)):
            return self._database.namesakes(self.name, name)

    def withdraw(self, table: IcebergTable) -> None:
        """Take back a table that nothing was written to. Done twice, it is done once.

        Its folder may be another table's: only the files of its own metadata are deleted.
        """
        with translated(str(table.name)):
            metadata = table.java.operations().current()
            files = [metadata.metadataFileLocation(), *(f.file() for f in metadata.previousFiles())]
            self._catalog.dropTable(self._identifier(table.name), False)
            for file in files:
                table.java.io().deleteFile(file)
        logger.info("withdrawn table=%s", table.name)

    def rename(self, name: TableName, new_name: TableName) -> None:
        """Give a table another name; its files stay where they are. Done twice, it fails.

        Raises:
            ForeignTableError: There is a table of the new name.
            CatalogError: The catalog does not rename tables, or does not answer.
        """
        with translated(str(name)):
            self._create_namespaces(new_name)
            try:
                self._catalog.renameTable(self._identifier(name), self._identifier(new_name))
            except Py4JJavaError as error:
                if java_name(error).endswith("AlreadyExistsException"):
                    raise ForeignTableError(str(new_name), "it is there already") from error
                raise
        logger.info("renamed table=%s to=%s", name, new_name)

    def drop(self, name: TableName) -> None:
        """Take a table out of the catalog; its files stay. Done twice, it is done once."""
        with translated(str(name)):
            self._catalog.dropTable(self._identifier(name), False)
        logger.info("dropped table=%s", name)

    def sql_name(self, name: TableName) -> str:
        """Quote a table's whole name for Spark SQL."""
        parts = (self.name, *name.namespace, name.table)
        return ".".join("`" + part.replace("`", "``") + "`" for part in parts)

    def _create_namespaces(self, name: TableName) -> None:
        for depth in range(1, len(name.namespace) + 1):
            namespace = self._namespace(name.namespace[:depth])
            try:
                if not self._catalog.namespaceExists(namespace):
                    self._catalog.createNamespace(namespace)
            except Py4JJavaError as error:
                if not java_name(error).endswith("AlreadyExistsException"):
                    raise

    def _identifier(self, name: TableName) -> Any:
        identifier = self._class("catalog.TableIdentifier")
        return identifier.of(self._namespace(name.namespace), name.table)

    def _namespace(self, levels: tuple[str, ...]) -> Any:
        names = java_array(self._gateway, java_class(self._jvm, "java.lang.String"), levels)
        return self._class("catalog.Namespace").of(names)

    def _class(self, name: str) -> Any:
        return java_class(self._jvm, f"org.apache.iceberg.{name}")
