"""One TOML file per database, as frozen and validated objects."""

from pathlib import Path

from cdc.config.checks import interval_seconds
from cdc.config.choices import (
    ApplyMode,
    CatalogType,
    ChangeKind,
    Connector,
    DeleteKind,
    Lookup,
    OnDelete,
    RecordFormat,
    SchemaChange,
)
from cdc.config.partitioning import partition_fields
from cdc.config.secret import Secret, reveal, revealed, unreadable
from cdc.config.settings import (
    CatalogConfig,
    KafkaConfig,
    MirrorConfig,
    RegistryConfig,
    SourceConfig,
    SparkConfig,
    StreamConfig,
    TargetConfig,
)
from cdc.config.table_rules import (
    ResolvedRule,
    TableDefaults,
    TableRule,
    TablesConfig,
    TargetRule,
)

__all__ = [
    "ApplyMode",
    "CatalogConfig",
    "CatalogType",
    "ChangeKind",
    "Connector",
    "DeleteKind",
    "KafkaConfig",
    "Lookup",
    "MirrorConfig",
    "OnDelete",
    "RecordFormat",
    "RegistryConfig",
    "ResolvedRule",
    "SchemaChange",
    "Secret",
    "SourceConfig",
    "SparkConfig",
    "StreamConfig",
    "TableDefaults",
    "TableRule",
    "TablesConfig",
    "TargetConfig",
    "TargetRule",
    "interval_seconds",
    "load_config",
    "partition_fields",
    "reveal",
    "revealed",
    "unreadable",
]


def load_config(path: Path | str) -> MirrorConfig:
    """Read, check and complete the config file of one database.

    Raises:
        ConfigError: With every problem of the file at once.
    """
    from cdc.config import load  # imports pydantic: late, since workers only need the objects

    return load.load_config(path)
