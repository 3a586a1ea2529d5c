"""Source schemas to Iceberg schemas, and what has changed between them."""

from cdc.schema.arrow_schema import arrow_schema, source_schema
from cdc.schema.difference import SchemaDifference, difference
from cdc.schema.mapping import iceberg_schema, mirror_columns, own_columns
from cdc.schema.partitioning import check_partition
from cdc.schema.quarantine import quarantine_schema
from cdc.schema.table_key import key_of, key_property
from cdc.schema.table_mode import check_mode
from cdc.schema.target import table_location, target_name
from cdc.schema.widening import fitted, guessable_columns, joined

__all__ = [
    "SchemaDifference",
    "arrow_schema",
    "check_mode",
    "check_partition",
    "difference",
    "fitted",
    "guessable_columns",
    "iceberg_schema",
    "joined",
    "key_of",
    "key_property",
    "mirror_columns",
    "own_columns",
    "quarantine_schema",
    "source_schema",
    "table_location",
    "target_name",
]
