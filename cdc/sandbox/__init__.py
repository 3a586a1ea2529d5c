"""Real PostgreSQL, MariaDB, MySQL, Kafka, Kafka Connect and schema registry as local processes."""

from cdc.sandbox.endpoints import (
    ConnectEndpoint,
    KafkaEndpoint,
    MariadbEndpoint,
    MysqlEndpoint,
    PostgresEndpoint,
    RegistryEndpoint,
)
from cdc.sandbox.sandbox import Sandbox, Service

__all__ = [
    "ConnectEndpoint",
    "KafkaEndpoint",
    "MariadbEndpoint",
    "MysqlEndpoint",
    "PostgresEndpoint",
    "RegistryEndpoint",
    "Sandbox",
    "Service",
]
