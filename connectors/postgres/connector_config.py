"""The Debezium connector for PostgreSQL."""

from cdc.dialect import ConnectorRequest
from connectors.connector_settings import database_settings


def connector_config(request: ConnectorRequest) -> dict[str, str]:
    """Describe a connector that loses nothing: truncates kept, nulls left null."""
    slot = "".join(c if c.isalnum() else "_" for c in request.name.lower())[:63]
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        **database_settings(request),
        "database.dbname": request.database,
        "plugin.name": "pgoutput",
        "slot.name": slot,
        "publication.name": slot,
        # A publication of listed tables leaves out those created later. This one needs a superuser:
        # without one, create the publication by hand.
        "publication.autocreate.mode": "all_tables",
        # By default columns of types that Debezium does not know, such as composites, are left out.
        "include.unknown.datatypes": "true",
    }
