"""Names that the mirror adds: columns, properties, tables."""

from typing import Final

# Every column, property and summary key that the mirror adds to a table starts with this.
RESERVED: Final = "_mirror_"
OFFSET: Final = RESERVED + "offset"
OP: Final = RESERVED + "op"
POSITION: Final = RESERVED + "position"
PARTITION: Final = RESERVED + "partition"
# When the source made a change, or else when Kafka got it.
TIME: Final = RESERVED + "time"
# Columns of tables that keep more than the current rows.
DELETED: Final = RESERVED + "deleted"
VALID_FROM: Final = RESERVED + "valid_from"
VALID_TO: Final = RESERVED + "valid_to"
CURRENT: Final = RESERVED + "current"
# The names of the columns that a change leaves out, in tables of changes where any does.
MISSING: Final = RESERVED + "missing"
LEDGER_PROPERTY: Final = RESERVED + "ledger"
# The sequence number of the snapshot for which the ledger among the table's properties is true.
SEQUENCE_PROPERTY: Final = LEDGER_PROPERTY + "_sequence"
MIRROR_PROPERTY: Final = RESERVED + "name"
TOPIC_PROPERTY: Final = RESERVED + "topic"
KEY_PROPERTY: Final = RESERVED + "key"
# The ids of columns that were in the key once.
FORMER_KEY_PROPERTY: Final = RESERVED + "former_key"
# How the bytes of the records' keys began so far.
KEY_FORMS_PROPERTY: Final = RESERVED + "key_forms"
# What the table did to follow its source's columns, and defaults that old rows still lack.
SCHEMA_LOG_PROPERTY: Final = RESERVED + "schema_log"
BACKFILL_PROPERTY: Final = RESERVED + "backfill"
# What the source's own catalog knows the columns by.
IDENTITIES_PROPERTY: Final = RESERVED + "identities"
# The types that columns have had in messages that do not tell them.
TYPES_PROPERTY: Final = RESERVED + "types"
QUARANTINE: Final = RESERVED + "quarantine"
QUARANTINED_PROPERTY: Final = RESERVED + "quarantined"
# Of the quarantine's table: which tables of the mirror are parked, and why.
PARKED_PROPERTY: Final = RESERVED + "parked"
