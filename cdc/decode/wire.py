"""Which wire format a message has, told from the message itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from cdc.config import RecordFormat
from cdc.decode.avro_messages import split_avro
from cdc.decode.json_messages import Schemaless, split_json
from cdc.decode.messages import BadMessage, MessageGroup, Rows
from cdc.decode.registry import open_registry
from cdc.decode.schemaless import split_schemaless
from cdc.model.column_types import KnownColumns

AVRO_MAGIC = b"\x00"
NO_REGISTRY = "it is Avro, whose schema only a registry knows, and none is configured"


@dataclass(frozen=True, slots=True)
class Wire:
    """How the messages of a mirror may be written."""

    format: RecordFormat = RecordFormat.AUTO
    registry: Mapping[str, str] = field(default_factory=dict)


class NoRegistryError(ValueError):
    """Avro messages, and no registry that knows their schemas; `row` is the first of them."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def split(
    messages: pa.Array, rows: Rows, wire: Wire, columns: KnownColumns
) -> Iterator[MessageGroup | BadMessage]:
    """Split messages, none of them null, by format and schema.

    Args:
        messages: Values, or keys.
        rows: Their rows in the chunk.
        wire: How they may be written.
        columns: What is known of the columns of messages that do not describe them.

    Raises:
        NoRegistryError: All messages are Avro, and no registry is configured.
    """
    avro = pc.equal(pc.binary_slice(messages, 0, 1), AVRO_MAGIC).to_numpy(zero_copy_only=False)
    if avro.any():
        if not wire.registry and avro.all() and wire.format is not RecordFormat.JSON:
            raise NoRegistryError(int(rows[0]))
        yield from _avro(messages.filter(pa.array(avro)), rows[avro], wire)
        messages, rows = messages.filter(pa.array(~avro)), rows[~avro]
    if not len(messages):
        return
    if wire.format is RecordFormat.AVRO:
        yield from (BadMessage(row, "it is not Avro") for row in rows.tolist())
        return
    for item in split_json(messages, rows):
        if isinstance(item, Schemaless):
            yield from split_schemaless(item.payloads, item.rows, columns)
        else:
            yield item


def _avro(messages: pa.Array, rows: Rows, wire: Wire) -> Iterator[MessageGroup | BadMessage]:
    if wire.format is RecordFormat.JSON:
        yield from (BadMessage(row, "it is not JSON") for row in rows.tolist())
    elif not wire.registry:
        yield from (BadMessage(row, NO_REGISTRY) for row in rows.tolist())
    else:
        yield from split_avro(messages, rows, open_registry(wire.registry))
