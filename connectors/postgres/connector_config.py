"""The Debezium connector for PostgreSQL."""

from cdc.dialect import ConnectorRequest


def connector_config(request: ConnectorRequest) -> dict[str, str]:
    """Describe a connector that loses nothing: truncates kept, nulls left null."""
    slot = "".join(c if c.isalnum() else "_" for c in request.name.lower())[:63]
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "database.hostname": request.hostname,
        "database.port": str(request.port),
        "database.user": request.user,
        "database.password": request.password,
        "database.dbname": request.database,
        "topic.prefix": request.topic_prefix,
        "plugin.name": "pgoutput",
        "slot.name": slot,
        "publication.name": slot,
        # A publication of listed tables leaves out those created later. This one needs a superuser:
        # without one, create the publication by hand.
        "publication.autocreate.mode": "all_tables",
        "table.include.list": ",".join(request.tables),
        # By default truncates are left out.
        "skipped.operations": "none",
        "snapshot.mode": "initial",
        # By default columns of types that Debezium does not know, such as composites, are left out.
        "include.unknown.datatypes": "true",
    }
