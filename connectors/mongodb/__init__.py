"""MongoDB through change streams; made from Debezium's documentation."""

from cdc.dialect import Dialect
from connectors.mongodb.connector_config import connector_config
from connectors.mongodb.position import POSITION_FIELDS, position
from connectors.mongodb.probe import probe
from connectors.mongodb.source_types import SOURCE_TYPES
from connectors.mongodb.type_map import iceberg_type

DIALECT = Dialect(
    name="mongodb",
    schema_field="db",
    topic_parts=("database", "table"),
    position_fields=POSITION_FIELDS,
    position=position,
    iceberg_type=iceberg_type,
    connector_config=connector_config,
    probe=probe,
    table_field="collection",
    source_types=SOURCE_TYPES,
)
