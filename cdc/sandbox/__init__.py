"""Real PostgreSQL, MariaDB, Kafka, Kafka Connect and schema registry as local processes."""

from cdc.sandbox.endpoints import (
    ConnectEndpoint,
    KafkaEndpoint,
    MariadbEndpoint,
    PostgresEndpoint,
    RegistryEndpoint,
)
from cdc.sandbox.sandbox import Sandbox, Service

__all__ = [
    "ConnectEndpoint",
    "KafkaEndpoint",
    "MariadbEndpoint",
    "PostgresEndpoint",
    "RegistryEndpoint",
    "Sandbox",
    "Service",
]
