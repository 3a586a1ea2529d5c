"""Debezium messages in Avro, made from those in JSON, with a registry's worth of their schemas."""

import io
import json
from dataclasses import replace
from typing import Any

import fastavro

from tests.unit.connect_avro import avro_schema, raw_value
from tests.unit.messages import Message


class AvroTopic:
    """Writes messages in Confluent's wire format; the same schema always gets the same id."""

    def __init__(self, first_id: int = 1) -> None:
        self._first_id = first_id
        self.schemas: dict[int, str] = {}
        self._known: dict[str, tuple[int, Any]] = {}

    def write(self, message: Message) -> Message:
        """Write a JSON message with schemas as Avro."""
        return replace(message, key=self._datum(message.key), value=self._datum(message.value))

    def _datum(self, text: bytes | None) -> bytes | None:
        if text is None:
            return None
        parts = json.loads(text)
        identity = json.dumps(parts["schema"])
        if identity not in self._known:
            id_, schema = self._first_id + len(self._known), avro_schema(parts["schema"])
            self.schemas[id_] = json.dumps(schema)
            self._known[identity] = (id_, fastavro.parse_schema(schema))
        id_, parsed = self._known[identity]
        datum = io.BytesIO()
        datum.write(b"\x00" + id_.to_bytes(4, "big"))
        fastavro.schemaless_writer(datum, parsed, raw_value(parts))
        return datum.getvalue()
