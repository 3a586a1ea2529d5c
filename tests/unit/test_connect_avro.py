"""The Avro schemas that tests make are those of a real converter, and mean what JSON's mean."""

import json
from typing import Any

import pytest

from cdc.decode.avro_schema import parse_schema
from cdc.decode.connect_schema import source_type
from connectors import DIALECTS
from tests.unit.connect_avro import avro_schema
from tests.unit.connector_messages import life_of_rows
from tests.unit.documented_types import CASES, Case
from tests.unit.messages import RECORDED, read_recorded

# Named anew for Avro, or recorded in Avro alone.
INCOMPARABLE = {"pg.app.Mixed_Case.Envelope", "pg.app.orders.Envelope", "pg.app.orders.Key"}
PRIMITIVES = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}


def with_full_names(schema: Any, space: str = "") -> Any:
    """Write every name with its namespace, and both recordings' topics alike."""
    if isinstance(schema, list):
        return [with_full_names(branch, space) for branch in schema]
    if isinstance(schema, str):
        full = schema if schema in PRIMITIVES or "." in schema else f"{space}.{schema}"
        return one_prefix(full)
    if schema["type"] == "array":
        return {**schema, "items": with_full_names(schema["items"], space)}
    if schema["type"] != "record":
        return schema
    space = schema.get("namespace", space)
    fields = [{**f, "type": with_full_names(f["type"], space)} for f in schema["fields"]]
    named = {**schema, "name": one_prefix(f"{space}.{schema['name']}"), "fields": fields}
    named.pop("namespace", None)
    return {**named, "connect.name": one_prefix(schema["connect.name"])}


def one_prefix(name: str) -> str:
    return name.replace("pgj.", "pg.").replace("pga.", "pg.")


def text(schema: Any) -> str:
    return json.dumps(with_full_names(schema), sort_keys=True)


def test_a_made_schema_is_the_one_that_a_converter_registered() -> None:
    registry = json.loads((RECORDED / "pg_avro.schemas.json").read_text())
    registered = [json.loads(entry["schema"]) for entry in registry["ids"].values()]
    parts = {
        part
        for messages in read_recorded("pg_json.jsonl").values()
        for message in messages
        for part in (message.key, message.value)
        if part is not None
    }
    made = {text(avro_schema(json.loads(part)["schema"])) for part in parts}

    missing = {with_full_names(s)["name"] for s in registered if text(s) not in made}

    assert missing == INCOMPARABLE
    assert len(registered) > 30


@pytest.mark.parametrize("name", DIALECTS)
def test_the_messages_of_every_database_have_the_same_types_in_avro(name: str) -> None:
    messages, _ = life_of_rows(name)
    parts = {part for message in messages for part in (message.key, message.value) if part}

    for block in (json.loads(part)["schema"] for part in parts):
        assert parse_schema(json.dumps(avro_schema(block))).source == source_type(block)


@pytest.mark.parametrize(
    "case", [case for _, case in CASES], ids=lambda case: f"{case.source} {case.block.get('name')}"
)
def test_a_documented_type_is_the_same_in_avro(case: Case) -> None:
    row = {"type": "struct", "fields": [case.block], "optional": False, "name": "s.t.Value"}

    assert parse_schema(json.dumps(avro_schema(row))).source == source_type(row)
