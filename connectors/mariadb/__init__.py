"""MariaDB through its binary log."""

from cdc.dialect import Dialect
from connectors.mariadb.catalog import columns, facts
from connectors.mariadb.connector_config import connector_config
from connectors.mariadb.position import POSITION_FIELDS, position
from connectors.mariadb.probe import probe
from connectors.mariadb.snapshot import SNAPSHOT_FIELDS, fresh
from connectors.mariadb.source_types import SOURCE_TYPES
from connectors.mariadb.table_list import tables
from connectors.mariadb.type_map import iceberg_type, understood

DIALECT = Dialect(
    name="mariadb",
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
