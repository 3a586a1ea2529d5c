"""The shop's database, filled, with Debezium reading it into Kafka."""

from typing import Final

from cdc.demo.shop import TABLES, Sizes, fill_shop
from cdc.dialect import ConnectorRequest
from cdc.sandbox import PostgresEndpoint, Sandbox
from connectors import DIALECTS
from connectors.converters import JSON_WITH_SCHEMAS

NAME: Final = "shop"  # of the database, of the connector, and first part of the topics' names


def start_source(sandbox: Sandbox, sizes: Sizes) -> PostgresEndpoint:
    """Make and fill the database, and register the connector. Fails if it is there."""
    source = sandbox.postgres.create_database(NAME)
    fill_shop(source.url, sizes)
    sandbox.connect.register(NAME, connector_config(source, sandbox.kafka.bootstrap_servers))
    return source


def connector_config(source: PostgresEndpoint, bootstrap_servers: str) -> dict[str, str]:
    """Describe the connector: the settings for PostgreSQL, and JSON that carries its schema."""
    request = ConnectorRequest(
        name=NAME,
        topic_prefix=NAME,
        hostname=source.host,
        port=source.port,
        user=source.user,
        password=source.password,
        database=source.database,
        tables=tuple(f"public.{table}" for table in TABLES),
        bootstrap_servers=bootstrap_servers,
    )
    return DIALECTS["postgres"].connector_config(request) | JSON_WITH_SCHEMAS
