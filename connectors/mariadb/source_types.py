"""MariaDB's types as Debezium sends them, for the types page."""

from cdc.dialect import DocumentedType
from connectors import debezium_types as debezium
from connectors.mysql.source_types import COMMON

SOURCE_TYPES = (
    *COMMON,
    DocumentedType("JSON", debezium.STRING, note="A text that the server checks."),
    DocumentedType(
        "UUID", debezium.UUID, note="In a change, zero bytes at the end come at the start instead."
    ),
    DocumentedType(
        "TIMESTAMP '0000-00-00'",
        debezium.ZONED_TIMESTAMP,
        note="Null from a snapshot, else 1970-01-01.",
    ),
)
