"""Source schemas to Iceberg schemas, and what has changed between them."""

from cdc.runtime.follow.source_standing import (
    GOES,
    ROWS_GO,
    Fate,
    Standing,
    on_drop,
    on_remake,
    standing,
)
from cdc.schema.arrow_schema import arrow_schema, arrow_type, source_schema
from cdc.schema.difference import ColumnChange, SchemaDifference, difference
from cdc.schema.mapping import iceberg_schema, mirror_columns, own_columns
from cdc.schema.partitioning import check_partition
from cdc.schema.policy import DAY, Decision, decide, statement
from cdc.schema.quarantine import quarantine_schema
from cdc.schema.table_mode import check_mode, mode_of
from cdc.schema.target import (
    check_alone,
    table_folder,
    table_location,
    target_name,
    target_pattern,
)
from cdc.schema.widening import fitted, guessable_columns, joined
from cdc.state.column_identities import Renames, identities_property, read_identities, told_renames
from cdc.state.column_types import (
    ToldTypes,
    TypeMemory,
    read_types,
    remembered,
    told_types,
    types_property,
)
from cdc.state.key import former_key, former_property, key_of, key_property
from cdc.state.schema_log import created, event_of, log_property, read_log, since, table_event

__all__ = [
    "DAY",
    "GOES",
    "ROWS_GO",
    "ColumnChange",
    "Decision",
    "Fate",
    "Renames",
    "SchemaDifference",
    "Standing",
    "ToldTypes",
    "TypeMemory",
    "arrow_schema",
    "arrow_type",
    "check_alone",
    "check_mode",
    "check_partition",
    "created",
    "decide",
    "difference",
    "event_of",
    "fitted",
    "former_key",
    "former_property",
    "guessable_columns",
    "iceberg_schema",
    "identities_property",
    "joined",
    "key_of",
    "key_property",
    "log_property",
    "mirror_columns",
    "mode_of",
    "on_drop",
    "on_remake",
    "own_columns",
    "quarantine_schema",
    "read_identities",
    "read_log",
    "read_types",
    "remembered",
    "since",
    "source_schema",
    "standing",
    "statement",
    "table_event",
    "table_folder",
    "table_location",
    "target_name",
    "target_pattern",
    "told_renames",
    "told_types",
    "types_property",
]
