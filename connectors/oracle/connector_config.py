"""The Debezium connector for Oracle."""

from cdc.dialect import ConnectorRequest
from connectors.connector_settings import database_settings, schema_history


def connector_config(request: ConnectorRequest) -> dict[str, str]:
    """Describe a connector that loses nothing: truncates, large objects and intervals whole.

    The database of a container is named with it, as in `ORCLCDB/ORCLPDB1`.
    """
    container, _, pluggable = request.database.partition("/")
    return {
        "connector.class": "io.debezium.connector.oracle.OracleConnector",
        **database_settings(request),
        **schema_history(request),
        "database.dbname": container,
        **({"database.pdb.name": pluggable} if pluggable else {}),
        # By default transactions that are open when the snapshot starts are left out.
        "internal.log.mining.transaction.snapshot.boundary.mode": "all",
        # By default CLOB, NCLOB and BLOB columns come without their values.
        "lob.enabled": "true",
        # The default, numeric, counts a month as 30.4375 days.
        "interval.handling.mode": "string",
    }
