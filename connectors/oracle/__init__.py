"""Oracle through LogMiner; made from Debezium's documentation."""

from cdc.dialect import Dialect
from connectors.oracle.connector_config import connector_config
from connectors.oracle.position import POSITION_FIELDS, position
from connectors.oracle.probe import probe
from connectors.oracle.source_types import SOURCE_TYPES
from connectors.oracle.type_map import iceberg_type

DIALECT = Dialect(
    name="oracle",
    schema_field="schema",
    topic_parts=("schema", "table"),
    position_fields=POSITION_FIELDS,
    position=position,
    iceberg_type=iceberg_type,
    connector_config=connector_config,
    probe=probe,
    source_types=SOURCE_TYPES,
)
