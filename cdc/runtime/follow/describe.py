"""What a single record tells about its table, before Spark is there."""

import pyarrow as pa

from cdc.config import MirrorConfig
from cdc.decode import DecodePlan, Wire, decode_changes
from cdc.dialect import Dialect
from cdc.errors import NotDebeziumError
from cdc.model import Unplanned
from cdc.runtime.follow.source_catalog import CatalogColumns
from cdc.source.topics import Record
from cdc.state.table_view import TableView


def wire_of(config: MirrorConfig) -> Wire:
    """Give what the decoder must know to read the mirror's messages."""
    registry = config.registry.client_options() if config.registry is not None else {}
    return Wire(config.source.format, registry)


def schemas_in(record: Record) -> tuple[bytes, bytes] | None:
    """Give what stands for the schemas of a record's key and value; None where nothing does.

    Records of which it is the same have the same schemas.
    """
    parts = [_schema_in(message) for message in (record.key or b"", record.value or b"")]
    return None if parts[1] is None or parts[0] is None else (parts[0], parts[1])


def _schema_in(message: bytes) -> bytes | None:
    if not message:
        return b""
    if message[0] == 0:
        return message[:5]  # the id of an Avro schema
    schema, payload, _ = message.partition(b',"payload":')
    return schema if payload and schema.startswith(b'{"schema":{') else None


def describe(
    record: Record,
    dialect: Dialect,
    wire: Wire,
    catalog: CatalogColumns | None = None,
    view: TableView | None = None,
) -> Unplanned:
    """Read from one record which table it belongs to and what its columns are.

    Where the record does not say the columns' types, they are looked up: in the source's catalog,
    and in the mirrored table, if there is one.

    Raises:
        NotDebeziumError: The record is not a Debezium change.
        MirrorError: The topic as a whole cannot be read.
    """
    news = _describe(record, DecodePlan(record.topic, dialect, wire))
    if catalog is None or news.table is None:
        return news
    catalog.learn(record.topic, news.table, news.schemas)
    known = () if view is None else (view.schema, view.state.types)
    columns = catalog.of(record.topic, *known)
    if not columns or not any(schema.inferred for schema in news.schemas):
        return news
    return _describe(record, DecodePlan(record.topic, dialect, wire, columns=columns))


def _describe(record: Record, plan: DecodePlan) -> Unplanned:
    decoded = decode_changes(
        record.partition,
        pa.array([record.offset]),
        pa.array([record.key], pa.binary()),
        pa.array([record.value], pa.binary()),
        plan,
    )
    for bad in decoded.bad_records:
        raise NotDebeziumError(record.topic, record.partition, bad.offset, bad.reason)
    return Unplanned(decoded.table, decoded.new_schemas, places=decoded.places)
