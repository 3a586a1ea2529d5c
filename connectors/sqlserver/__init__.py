"""SQL Server through its change data capture tables; made from Debezium's documentation."""

from cdc.dialect import Dialect
from connectors.sqlserver.connector_config import connector_config
from connectors.sqlserver.position import POSITION_FIELDS, position
from connectors.sqlserver.probe import probe
from connectors.sqlserver.source_types import SOURCE_TYPES
from connectors.sqlserver.type_map import iceberg_type

DIALECT = Dialect(
    name="sqlserver",
    schema_field="schema",
    topic_parts=("database", "schema", "table"),
    position_fields=POSITION_FIELDS,
    position=position,
    iceberg_type=iceberg_type,
    connector_config=connector_config,
    probe=probe,
    source_types=SOURCE_TYPES,
)
