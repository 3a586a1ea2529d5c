"""Changes of every database, and every documented type, come out of Avro as they do of JSON.

The datums are written by another library under the schemas that a real converter would register:
see connect_avro.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from cdc.decode import DecodePlan, decode_changes
from cdc.decode.wire import Wire
from cdc.dialect import Dialect
from connectors import DIALECTS
from tests.unit.avro_messages import AvroTopic
from tests.unit.connector_messages import event, life_of_rows
from tests.unit.documented_types import CASES, Case
from tests.unit.messages import Message, arrays, column, plan_of
from tests.unit.registry_server import RegistryServer, serve

KEY = column("id", "int32", optional=False)


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with serve() as server:
        yield server


def written(messages: Sequence[Message], registry: RegistryServer) -> list[Message]:
    """Write messages in Avro, their schemas into the registry."""
    topic = AvroTopic(first_id=len(registry.schemas) + 1)
    found = [topic.write(message) for message in messages]
    for id_, schema in topic.schemas.items():
        registry.add(id_, schema)
    return found


def decoded(messages: Sequence[Message], dialect: Dialect, wire: Wire) -> pa.Table:
    """Decode messages as after their table was made from the first of their schemas."""
    topic = messages[0].topic
    unplanned = DecodePlan(topic, dialect, wire)
    met = decode_changes(0, *arrays(messages), unplanned)
    assert met.bad_records == ()
    plan = replace(plan_of(topic, met.new_schemas, dialect), wire=wire)
    return pa.concat_tables(decode_changes(0, *arrays(messages), plan).changes)


@pytest.mark.parametrize("name", DIALECTS)
def test_changes_in_avro_are_those_in_json(name: str, registry: RegistryServer) -> None:
    messages, _ = life_of_rows(name)
    in_json = decoded(messages, DIALECTS[name], Wire())

    found = decoded(
        written(messages, registry), DIALECTS[name], Wire(registry={"url": registry.url})
    )

    assert found.equals(in_json)


# Avro's own decimals have no scale below 0 or above the precision: converters refuse them.
UNWRITABLE = ("NUMBER(36,-2)", "NUMBER(5,7)")
AVRO_CASES = [(name, case) for name, case in CASES if case.source not in UNWRITABLE]


@pytest.mark.parametrize(
    ("name", "case"),
    AVRO_CASES,
    ids=[f"{name} {case.source} {case.block.get('name', '')}" for name, case in AVRO_CASES],
)
def test_a_documented_type_in_avro_is_that_in_json(
    name: str, case: Case, registry: RegistryServer
) -> None:
    messages = [
        event(name, "c", n, after={"id": n, "v": value}, columns=(KEY, case.block))
        for n, value in enumerate((case.raw, None))
    ]
    in_json = decoded(messages, DIALECTS[name], Wire())

    found = decoded(
        written(messages, registry), DIALECTS[name], Wire(registry={"url": registry.url})
    )

    assert found.equals(in_json)
