"""The Debezium connector for MariaDB."""

from cdc.dialect import ConnectorRequest
from connectors.mysql.connector_config import binlog_settings


def connector_config(request: ConnectorRequest) -> dict[str, str]:
    """Describe a connector that loses nothing: truncates kept, unsigned numbers exact."""
    return {
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        **binlog_settings(request),
    }
