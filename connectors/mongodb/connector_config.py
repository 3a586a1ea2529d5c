"""The Debezium connector for MongoDB."""

from cdc.dialect import ConnectorRequest


def connector_config(request: ConnectorRequest) -> dict[str, str]:
    """Describe a connector whose updates carry the whole document."""
    host = f"[{request.hostname}]" if ":" in request.hostname else request.hostname
    return {
        "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
        "tasks.max": "1",
        # The login stays out of the address, which the connector logs.
        "mongodb.connection.string": f"mongodb://{host}:{request.port}/",
        "mongodb.user": request.user,
        "mongodb.password": request.password,
        "topic.prefix": request.topic_prefix,
        "collection.include.list": ",".join(request.tables),
        # The part that an update changed does not make a row.
        "capture.mode": "change_streams_update_full",
        "skipped.operations": "none",
        "snapshot.mode": "initial",
        # The default, legacy, writes NaN as no JSON allows. Connectors before 3.7 ignore this.
        "json.serialization.mode": "extended",
    }
