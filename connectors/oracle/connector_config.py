"""The Debezium connector for Oracle."""

from cdc.dialect import ConnectorRequest


def connector_config(request: ConnectorRequest) -> dict[str, str]:
    """Describe a connector that loses nothing: truncates, large objects and intervals whole.

    The database of a container is named with it, as in `ORCLCDB/ORCLPDB1`.
    """
    container, _, pluggable = request.database.partition("/")
    return {
        "connector.class": "io.debezium.connector.oracle.OracleConnector",
        "tasks.max": "1",
        "database.hostname": request.hostname,
        "database.port": str(request.port),
        "database.user": request.user,
        "database.password": request.password,
        "database.dbname": container,
        **({"database.pdb.name": pluggable} if pluggable else {}),
        "topic.prefix": request.topic_prefix,
        "table.include.list": ",".join(request.tables),
        "schema.history.internal.kafka.bootstrap.servers": request.bootstrap_servers,
        "schema.history.internal.kafka.topic": f"_history.{request.topic_prefix}",
        # By default truncates are left out.
        "skipped.operations": "none",
        "snapshot.mode": "initial",
        # By default transactions that are open when the snapshot starts are left out.
        "internal.log.mining.transaction.snapshot.boundary.mode": "all",
        # By default CLOB, NCLOB and BLOB columns come without their values.
        "lob.enabled": "true",
        # The default, numeric, counts a month as 30.4375 days.
        "interval.handling.mode": "string",
    }
