"""The wire formats: each message is made as JSON with schemas, and then written as asked for."""

import json
from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from tests.conformance.source import Sent
from tests.unit.avro_messages import AvroTopic
from tests.unit.messages import Message, without_schemas
from tests.unit.registry_server import RegistryServer


class Wire:
    """Writes messages; schemas of Avro go into a registry."""

    def __init__(self, registry: RegistryServer) -> None:
        self._registry = registry
        self._avro = AvroTopic()
        self._lock = Lock()  # columns run side by side

    def writer(self, format_: str) -> Callable[[Sent], Sent]:
        """Give what writes one message in a format."""
        write = {"json": lambda message: message, "avro": self._as_avro, "plain": without_schemas}
        return lambda sent: _written(sent, write[format_])

    def _as_avro(self, message: Message) -> Message:
        with self._lock:
            written = self._avro.write(message)
            for id_, schema in self._avro.schemas.items():
                if id_ not in self._registry.schemas:
                    self._registry.add(id_, schema)
        return written


def _written(sent: Sent, write: Callable[[Message], Message]) -> Sent:
    """Write a message; a value that is none stays as it is, and so do headers."""
    if sent.value is None or _is_json(sent.value):
        made = write(sent)
        return replace(sent, key=made.key, value=made.value)
    return replace(sent, key=write(replace(sent, value=None)).key)


def _is_json(value: bytes) -> bool:
    try:
        json.loads(value)
    except ValueError:
        return False
    return True
