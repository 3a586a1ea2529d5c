"""The Debezium connector for MySQL."""

import zlib

from cdc.dialect import ConnectorRequest
from connectors.connector_settings import database_settings, schema_history


def connector_config(request: ConnectorRequest) -> dict[str, str]:
    """Describe a connector that loses nothing: truncates kept, unsigned numbers exact."""
    return {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        **binlog_settings(request),
    }


def binlog_settings(request: ConnectorRequest) -> dict[str, str]:
    """Give what the MySQL and the MariaDB connector have in common."""
    return {
        **database_settings(request),
        **schema_history(request),
        # Replicas of one server need different ids; one derived from the name stays the same.
        "database.server.id": str(10_000 + zlib.crc32(request.name.encode()) % 1_000_000),
        "database.include.list": request.database,
        # The default, long, turns unsigned numbers above 2^63 negative.
        "bigint.unsigned.handling.mode": "precise",
        # If that is changed, the type's name still tells what a negative number was.
        "datatype.propagate.source.type": r".+\.(BIGINT|INT8) UNSIGNED.*",
        # By default the years 0 to 99 are taken for those around 2000.
        "enable.time.adjuster": "false",
    }
