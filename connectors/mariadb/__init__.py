"""MariaDB through its binary log: as MySQL, but for what is named here."""

from dataclasses import replace

from connectors import mysql
from connectors.mariadb.connector_config import connector_config
from connectors.mariadb.position import POSITION_FIELDS, position
from connectors.mariadb.source_types import SOURCE_TYPES
from connectors.mariadb.type_map import iceberg_type, understood

DIALECT = replace(
    mysql.DIALECT,
    name="mariadb",
    position_fields=POSITION_FIELDS,
    position=position,
    iceberg_type=iceberg_type,
    understood=understood,
    connector_config=connector_config,
    source_types=SOURCE_TYPES,
)
