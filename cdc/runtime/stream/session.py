"""The Spark session of a mirror."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from cdc.config import CatalogType, MirrorConfig, revealed
from cdc.downloads.spark_jars import spark_jars
from cdc.errors import FolderError

ICEBERG = "org.apache.iceberg.spark"
LOGGING = Path(__file__).parent / "log4j2.properties"
JAVA_TYPES = {CatalogType.SQL: "jdbc"}
# Where pyiceberg and Iceberg's Java library name the same thing differently.
JAVA_NAMES = {"s3.region": "client.region"}


def build_session(config: MirrorConfig) -> SparkSession:
    """Start Spark with the mirror's catalog, under the mirror's name."""
    # Executors would otherwise run whatever `python3` is first on their path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _make_catalog_folder(config)
    builder = SparkSession.builder.appName(f"database-mirror {config.name}")
    for name, value in session_options(config).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def session_options(config: MirrorConfig) -> dict[str, str]:
    """Give all options of the session; those of the config's [spark] win."""
    options = {
        "spark.master": config.spark.master,
        # Plain jars: as packages they would be on the path of every Python task and slow it down.
        "spark.jars": ",".join(str(jar) for jar in spark_jars()),
        "spark.sql.extensions": f"{ICEBERG}.extensions.IcebergSparkSessionExtensions",
        "spark.python.daemon.module": "cdc.runtime.task.daemon",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{LOGGING}",
        "spark.sql.session.timeZone": "UTC",
        # A table may be named ${env:PASSWORD}; Spark would put the password in its place.
        "spark.sql.variable.substitute": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
        "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
        "spark.sql.streaming.stopTimeout": "60s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **catalog_options(config),
    }
    if config.spark.master.startswith("local"):
        cores = os.cpu_count() or 2
        options |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # A MERGE of one machine gains nothing from Spark's 200 partitions.
            "spark.sql.shuffle.partitions": str(cores),
            "spark.driver.memory": "2g",
        }
    return options | revealed(config.spark.options)


def _make_catalog_folder(config: MirrorConfig) -> None:
    """Make the folder of a SQLite catalog, which SQLite itself does not make."""
    uri = config.catalog.properties().get("uri", "")
    if uri.startswith("sqlite"):
        folder = Path(uri.partition(":///")[2]).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FolderError("catalog.uri", str(folder), str(error.strerror)) from error


def catalog_options(config: MirrorConfig) -> Mapping[str, str]:
    """Configure Spark's catalog from the same keys that pyiceberg takes."""
    properties = config.catalog.properties()
    kind = CatalogType(properties.pop("type"))
    if kind is CatalogType.SQL:
        properties["uri"] = jdbc_uri(properties["uri"])
        # The layout that pyiceberg reads and writes.
        properties["jdbc.schema-version"] = "V1"
    prefix = f"spark.sql.catalog.{config.name}"
    options = {
        prefix: f"{ICEBERG}.SparkCatalog",
        f"{prefix}.type": JAVA_TYPES.get(kind, kind.value),
        # A cached table hides the commits that other sessions make.
        f"{prefix}.cache-enabled": "false",
    }
    for name, value in properties.items():
        options[f"{prefix}.{JAVA_NAMES.get(name, name)}"] = value
    return options


def jdbc_uri(uri: str) -> str:
    """Turn SQLAlchemy's address of a database into JDBC's."""
    scheme, _, rest = uri.partition("://")
    scheme = scheme.partition("+")[0]
    if scheme == "sqlite":
        # Three slashes end the empty host name; what follows is the path.
        return f"jdbc:sqlite:{rest.removeprefix('/')}"
    return f"jdbc:{scheme}://{rest}"
