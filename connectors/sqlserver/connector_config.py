"""The Debezium connector for SQL Server."""

from cdc.dialect import ConnectorRequest
from connectors.connector_settings import database_settings, schema_history


def connector_config(request: ConnectorRequest) -> dict[str, str]:
    """Describe a connector for tables whose change data capture is on.

    Times come as numbers, so that most columns keep a type of their own. Only a datetime2(7) beyond
    the year 2262 fits none: it stops the connector, which then needs time.precision.mode=isostring.
    """
    return {
        "connector.class": "io.debezium.connector.sqlserver.SqlServerConnector",
        **database_settings(request),
        **schema_history(request),
        "database.names": request.database,
    }
