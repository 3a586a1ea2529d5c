"""Source schemas to Iceberg schemas, and what has changed between them."""

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

__all__ = [
    "DAY",
    "ColumnChange",
    "Decision",
    "SchemaDifference",
    "arrow_schema",
    "arrow_type",
    "check_alone",
    "check_mode",
    "check_partition",
    "decide",
    "difference",
    "fitted",
    "guessable_columns",
    "iceberg_schema",
    "joined",
    "mirror_columns",
    "mode_of",
    "own_columns",
    "quarantine_schema",
    "source_schema",
    "statement",
    "table_folder",
    "table_location",
    "target_name",
    "target_pattern",
]
