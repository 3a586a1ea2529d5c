"""Bytes from Kafka to Arrow change tables, whole columns at a time."""

from cdc.decode.changes import DecodedChanges, DecodePlan, decode_changes

__all__ = ["DecodePlan", "DecodedChanges", "decode_changes"]
