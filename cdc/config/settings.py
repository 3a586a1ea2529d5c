"""Every setting of a config file: its name, type, default and meaning."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from cdc.config import checks
from cdc.config.checks import Check, Misfit, Settings, check_settings
from cdc.config.choices import CatalogType, Connector, RecordFormat
from cdc.config.modes import handling_modes
from cdc.config.paths import absolute_uri
from cdc.config.secret import Secret, reveal, revealed
from cdc.config.table_rules import TablesConfig
from cdc.errors import Problem

DEFAULT_CATALOG_URI = "sqlite:///mirror/catalog.db"
DEFAULT_WAREHOUSE = "mirror/warehouse"
Options = Mapping[str, Secret | str]
LOCAL_CATALOGS = (CatalogType.SQL, CatalogType.HADOOP)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceConfig(Settings):
    """The database and its topics."""

    connector: Annotated[Connector, "The database that Debezium reads"]
    topics: Annotated[
        tuple[str, ...],
        Check(checks.topic_globs),
        "Globs over topic names; new matching topics join while it runs",
    ]
    format: Annotated[RecordFormat, "How messages are written; `auto` tells each one apart"] = (
        RecordFormat.AUTO
    )
    url: Annotated[
        Secret | str | None,
        "The database itself, for the types of JSON without schemas, for comments, and to tell "
        "what was renamed or dropped",
    ] = None
    modes: Annotated[
        Mapping[str, str],
        Check(handling_modes),
        "How the connector writes decimals, times, bytes, by its own setting names; "
        "needed only for JSON without schemas, where it differs from Debezium's defaults",
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConfig(Settings):
    """The Kafka client's options."""

    options: Annotated[
        Options,
        Check(checks.has_bootstrap_servers),
        'Any Kafka client option; `"bootstrap.servers"` is required',
    ]

    def client_options(self) -> dict[str, str]:
        """The options with their secrets read, for a Kafka client."""
        return revealed(self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryConfig(Settings):
    """The schema registry, only for Avro."""

    url: Annotated[Secret | str, Check(checks.addresses), "Its address; commas between several"]
    options: Annotated[
        Options,
        Check(checks.registry_options),
        'As Confluent\'s clients name them: `"basic.auth.user.info"`, `"ssl.ca.location"` …',
    ] = field(default_factory=dict)

    def client_options(self) -> dict[str, str]:
        """All options with their secrets read, for a registry client."""
        return {"url": reveal(self.url), **revealed(self.options)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogConfig(Settings):
    """The Iceberg catalog, in pyiceberg's names."""

    type: Annotated[CatalogType, "The kind of catalog"] = CatalogType.SQL
    uri: Annotated[
        Secret | str | None,
        Check(checks.catalog_uri),
        "Where the catalog is; `rest` and `hive` have no default",
    ] = DEFAULT_CATALOG_URI
    warehouse: Annotated[
        str | None,
        Check(checks.location),
        "Where the tables are: a folder or a URI; `rest`, `hive` and `glue` have no default",
    ] = DEFAULT_WAREHOUSE
    options: Annotated[
        Options, Check(checks.catalog_options), "Any other option of the catalog and its storage"
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)
        # The defaults are for a catalog on this machine; a server or a cloud has its own.
        if self.type is not CatalogType.SQL and self.uri == DEFAULT_CATALOG_URI:
            object.__setattr__(self, "uri", None)
        if self.type not in LOCAL_CATALOGS and self.warehouse == DEFAULT_WAREHOUSE:
            object.__setattr__(self, "warehouse", None)
        if self.type in (CatalogType.REST, CatalogType.HIVE) and self.uri is None:
            example = (
                "http://localhost:8181" if self.type is CatalogType.REST else "thrift://hive:9083"
            )
            raise Misfit(
                Problem("uri", f"is missing: type = {self.type} needs it", f'Such as "{example}".')
            )

    def properties(self) -> dict[str, str]:
        """The properties in pyiceberg's names, with their secrets read."""
        named: dict[str, str] = {"type": self.type.value}
        if isinstance(self.uri, Secret):
            named["uri"] = absolute_uri(self.uri.reveal(), self.uri.folder)
        elif self.uri is not None:
            named["uri"] = self.uri
        if self.warehouse is not None:
            named["warehouse"] = self.warehouse
        return named | revealed(self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetConfig(Settings):
    """The names of the mirrored tables."""

    table: Annotated[
        str,
        Check(checks.table_template),
        "Name of a mirrored table, from `{server}` `{database}` `{schema}` `{table}`",
    ] = "{database}.{table}"

    def identifier(self, *, server: str, database: str, schema: str, table: str) -> tuple[str, ...]:
        """Name the mirror of one source table: its namespace, part by part, then its own name.

        A dot inside a source name stays within its part.
        """
        names = {"server": server, "database": database, "schema": schema, "table": table}
        return tuple(part.format(**names) for part in self.table.split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamConfig(Settings):
    """How often, how much, and where the stream keeps its scratch files."""

    trigger: Annotated[str, Check(checks.interval), "Time from one batch's start to the next"] = (
        "10 seconds"
    )
    max_records: Annotated[
        int, Check(checks.positive, before=True), "Most records that one batch takes"
    ] = 500_000
    retry_parked: Annotated[
        str,
        Check(checks.interval),
        "Time after which a parked table is tried again",
    ] = "5 minutes"
    checkpoint: Annotated[
        str, Check(checks.location), "Scratch folder of the stream; the tables hold the truth"
    ] = "mirror/checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkConfig(Settings):
    """The Spark that does the work."""

    master: Annotated[
        str, Check(checks.location), "Spark's master: `local[*]`, `spark://…`, `k8s://…`, `yarn`"
    ] = "local[*]"
    options: Annotated[
        Options, Check(checks.spark_options), 'Any Spark option, such as `"spark.driver.memory"`'
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorConfig(Settings):
    """One mirrored database."""

    name: Annotated[str, Check(checks.safe_word), "Names the ledger, the metrics, the checkpoint"]
    source: Annotated[SourceConfig, "The database and its topics"]
    kafka: Annotated[KafkaConfig, "The Kafka client's options"]
    registry: Annotated[RegistryConfig | None, "The schema registry, only for Avro"] = None
    catalog: Annotated[CatalogConfig, "The Iceberg catalog"] = field(default_factory=CatalogConfig)
    target: Annotated[TargetConfig, "The names of the mirrored tables"] = field(
        default_factory=TargetConfig
    )
    stream: Annotated[StreamConfig, "How often, how much, and where its scratch files are"] = field(
        default_factory=StreamConfig
    )
    tables: Annotated[TablesConfig, "How tables are mirrored"] = field(default_factory=TablesConfig)
    spark: Annotated[SparkConfig, "The Spark that does the work"] = field(
        default_factory=SparkConfig
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.source.format is RecordFormat.AVRO and self.registry is None:
            raise Misfit(checks.NO_REGISTRY)
