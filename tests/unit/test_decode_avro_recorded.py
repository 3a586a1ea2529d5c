"""Real Debezium messages in Avro, from splitting to raw columns."""

import io
import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from cdc.decode import avro_messages
from cdc.decode.avro_messages import AvroGroup, split_avro
from cdc.decode.registry import SchemaRegistry
from tests.unit.avro_datums import comparable, recorded_messages, recorded_schemas
from tests.unit.registry_server import client_of

CAPTURES = ["pg_avro.jsonl", "orders_pg_avro.jsonl"]


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistry]:
    with client_of(recorded_schemas()) as client:
        yield client


def read_all(messages: list[bytes], registry: SchemaRegistry) -> dict[int, Any]:
    """Read every field of every message."""
    rows: dict[int, Any] = {}
    for group in split_avro(pa.array(messages), np.arange(len(messages)), registry):
        assert isinstance(group, AvroGroup)
        read = group.read(group.type.fields)
        assert read.bad_messages == ()
        read.table.validate(full=True)
        places = group.rows[read.indexes].tolist()
        rows |= dict(zip(places, read.table.to_pylist(), strict=True))
    return rows


def plain(value: Any) -> Any:
    """Make a map, a list of pairs here and a dict there, the same in both."""
    if isinstance(value, dict):
        return [(name, plain(part)) for name, part in value.items()]
    if isinstance(value, list):
        return [plain(part) for part in value]
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


@pytest.mark.parametrize("few", [0, 10**6], ids=["together", "singly"])
@pytest.mark.parametrize("part", ["key", "value"])
@pytest.mark.parametrize("capture", CAPTURES)
def test_every_message_is_read_as_it_was_written(
    capture: str, part: str, few: int, registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(avro_messages, "FEW", few)
    if few == 0:
        monkeypatch.delattr(avro_messages._Reading, "_read_singly")
    schemas = {
        id_: fastavro.parse_schema(json.loads(text.replace('"logicalType"', '"ignored"')))
        for id_, text in recorded_schemas().items()
    }
    for messages in recorded_messages(capture, part).values():
        rows = read_all(messages, registry)

        for place, message in enumerate(messages):
            schema = schemas[int.from_bytes(message[1:5], "big")]
            written = fastavro.schemaless_reader(io.BytesIO(message[5:]), schema)
            assert comparable(plain(rows[place])) == comparable(plain(written))


def test_the_orders_are_the_same_as_in_json(registry: SchemaRegistry) -> None:
    (in_avro,) = recorded_messages("orders_pg_avro.jsonl", "value").values()
    (in_json,) = recorded_messages("orders_pg_json.jsonl", "value").values()

    rows = read_all(in_avro, registry)

    def text(value: Any) -> Any:
        return b64encode(value).decode() if isinstance(value, bytes) else value

    changes = [json.loads(message) for message in in_json]
    assert len(rows) == len(changes) > 100
    for place, change in enumerate(changes):
        after = rows[place]["after"]
        found = None if after is None else {name: text(value) for name, value in after.items()}
        assert (rows[place]["op"], found) == (change["op"], change["after"])
