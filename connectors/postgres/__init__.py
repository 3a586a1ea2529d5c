"""PostgreSQL through pgoutput."""

from cdc.dialect import Dialect
from connectors.postgres.catalog import columns, facts
from connectors.postgres.connector_config import connector_config
from connectors.postgres.position import POSITION_FIELDS, position
from connectors.postgres.probe import probe
from connectors.postgres.snapshot import SNAPSHOT_FIELDS, fresh
from connectors.postgres.source_types import SOURCE_TYPES
from connectors.postgres.table_list import tables
from connectors.postgres.type_map import iceberg_type

DIALECT = Dialect(
    name="postgres",
    schema_field="schema",
    topic_parts=("schema", "table"),
    position_fields=POSITION_FIELDS,
    position=position,
    iceberg_type=iceberg_type,
    connector_config=connector_config,
    probe=probe,
    source_types=SOURCE_TYPES,
    columns=columns,
    facts=facts,
    tables=tables,
    lasting_identity=True,
    snapshot_fields=SNAPSHOT_FIELDS,
    fresh=fresh,
    proven=True,
    exact_snapshot=True,
)
