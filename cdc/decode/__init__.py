"""Bytes from Kafka to Arrow change tables, whole columns at a time."""

from cdc.decode.changes import DecodedChanges, decode_changes
from cdc.decode.decode_plan import DecodePlan
from cdc.decode.defaults import default_text
from cdc.decode.eras import view
from cdc.decode.old_key import OLD_KEY_HEADER, old_key
from cdc.decode.wire import Wire

__all__ = [
    "OLD_KEY_HEADER",
    "DecodePlan",
    "DecodedChanges",
    "Wire",
    "decode_changes",
    "default_text",
    "old_key",
    "view",
]
