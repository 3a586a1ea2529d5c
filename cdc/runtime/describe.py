"""What a single record tells about its table, before Spark is there."""

import pyarrow as pa

from cdc.config import MirrorConfig
from cdc.decode import DecodePlan, Wire, decode_changes
from cdc.dialect import Dialect
from cdc.errors import NotDebeziumError
from cdc.model import News
from cdc.runtime.declared import Declarations
from cdc.source.topics import Record


def wire_of(config: MirrorConfig) -> Wire:
    """Give what the decoder must know to read the mirror's messages."""
    registry = config.registry.client_options() if config.registry is not None else {}
    return Wire(config.source.format, registry)


def describe(
    record: Record, dialect: Dialect, wire: Wire, declarations: Declarations | None = None
) -> News:
    """Read from one record which table it belongs to and what its columns are.

    Where the record does not say the columns' types, they are looked up.

    Raises:
        NotDebeziumError: The record is not a Debezium change.
        MirrorError: The topic as a whole cannot be read.
    """
    news = _describe(record, DecodePlan(record.topic, dialect, None, frozenset(), wire))
    if declarations is None or news.table is None:
        return news
    if not declarations.learn(record.topic, news.table, news.schemas):
        return news
    declared = declarations.of(record.topic)
    return _describe(
        record, DecodePlan(record.topic, dialect, None, frozenset(), wire, declared=declared)
    )


def _describe(record: Record, plan: DecodePlan) -> News:
    decoded = decode_changes(
        record.partition,
        pa.array([record.offset]),
        pa.array([record.key], pa.binary()),
        pa.array([record.value], pa.binary()),
        plan,
    )
    for bad in decoded.bad:
        raise NotDebeziumError(record.topic, record.partition, bad.offset, bad.reason)
    return News(decoded.table, decoded.new_schemas, places=decoded.places)
