"""MySQL through its binary log."""

from cdc.dialect import Dialect
from connectors.mysql.catalog import columns, facts
from connectors.mysql.connector_config import connector_config
from connectors.mysql.position import POSITION_FIELDS, position
from connectors.mysql.probe import probe
from connectors.mysql.snapshot import SNAPSHOT_FIELDS, fresh
from connectors.mysql.source_types import SOURCE_TYPES
from connectors.mysql.table_list import tables
from connectors.mysql.type_map import iceberg_type, understood

DIALECT = Dialect(
    name="mysql",
    schema_field="db",
    topic_parts=("database", "table"),
    position_fields=POSITION_FIELDS,
    position=position,
    iceberg_type=iceberg_type,
    connector_config=connector_config,
    probe=probe,
    source_types=SOURCE_TYPES,
    understood=understood,
    columns=columns,
    facts=facts,
    tables=tables,
    snapshot_fields=SNAPSHOT_FIELDS,
    fresh=fresh,
    proven=True,
    exact_snapshot=True,
)
