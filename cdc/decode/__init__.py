"""Bytes from Kafka to Arrow change tables, whole columns at a time."""

from cdc.decode.changes import DecodedChanges, decode_changes
from cdc.decode.decode_plan import DecodePlan, TargetTable, ValueRules
from cdc.decode.defaults import default_text
from cdc.decode.envelope import named_by
from cdc.decode.key_forms import key_forms
from cdc.decode.old_key import OLD_KEY_HEADER, old_key
from cdc.decode.schema_versions import column_mapping
from cdc.decode.wire import Wire

__all__ = [
    "OLD_KEY_HEADER",
    "DecodePlan",
    "DecodedChanges",
    "TargetTable",
    "ValueRules",
    "Wire",
    "column_mapping",
    "decode_changes",
    "default_text",
    "key_forms",
    "named_by",
    "old_key",
]
