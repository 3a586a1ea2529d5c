"""What the Debezium connectors of relational databases are told alike."""

from cdc.dialect import ConnectorRequest


def database_settings(request: ConnectorRequest) -> dict[str, str]:
    """Say where the database is, and what of it is read: all changes of the tables, and a snapshot.

    MongoDB's connector has other names for all of it.
    """
    return {
        "tasks.max": "1",
        "database.hostname": request.hostname,
        "database.port": str(request.port),
        "database.user": request.user,
        "database.password": request.password,
        "table.include.list": ",".join(request.tables),
        "topic.prefix": request.topic_prefix,
        # By default truncates are left out.
        "skipped.operations": "none",
        "snapshot.mode": "initial",
    }


def schema_history(request: ConnectorRequest) -> dict[str, str]:
    """Say where a connector keeps the tables' schemas whose log does not hold them."""
    return {
        "schema.history.internal.kafka.bootstrap.servers": request.bootstrap_servers,
        "schema.history.internal.kafka.topic": f"_history.{request.topic_prefix}",
    }
