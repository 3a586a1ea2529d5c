"""The Debezium connector for SQL Server."""

from cdc.dialect import ConnectorRequest


def connector_config(request: ConnectorRequest) -> dict[str, str]:
    """Describe a connector for tables whose change data capture is on.

    Times come as numbers, so that most columns keep a type of their own. Only a datetime2(7) beyond
    the year 2262 fits none: it stops the connector, which then needs time.precision.mode=isostring.
    """
    return {
        "connector.class": "io.debezium.connector.sqlserver.SqlServerConnector",
        "tasks.max": "1",
        "database.hostname": request.hostname,
        "database.port": str(request.port),
        "database.user": request.user,
        "database.password": request.password,
        "database.names": request.database,
        "topic.prefix": request.topic_prefix,
        "table.include.list": ",".join(request.tables),
        "schema.history.internal.kafka.bootstrap.servers": request.bootstrap_servers,
        "schema.history.internal.kafka.topic": f"_history.{request.topic_prefix}",
        "skipped.operations": "none",
        "snapshot.mode": "initial",
    }
