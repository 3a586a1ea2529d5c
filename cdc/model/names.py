"""The names of the columns that the mirror adds; those of properties are in `cdc.state.names`."""

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
