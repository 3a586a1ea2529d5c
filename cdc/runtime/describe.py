"""What a single record tells about its table, before Spark is there."""

import pyarrow as pa

from cdc.decode import DecodePlan, decode_changes
from cdc.dialect import Dialect
from cdc.model import News
from cdc.source.topics import Record


def describe(record: Record, dialect: Dialect) -> News:
    """Read from one record which table it belongs to and what its columns are.

    Raises:
        MirrorError: The record is not a Debezium change.
    """
    decoded = decode_changes(
        record.partition,
        pa.array([record.offset]),
        pa.array([record.key], pa.binary()),
        pa.array([record.value], pa.binary()),
        DecodePlan(record.topic, dialect, None, frozenset()),
    )
    return News(decoded.table, decoded.new_schemas)
