"""A real schema registry, asked as the mirror asks it."""

import json
import urllib.request
from typing import Any
from urllib.parse import quote

import pytest

from cdc.decode.avro_schema import AvroType
from cdc.decode.registry import SchemaRegistry, UnreadableSchema
from cdc.errors import RegistryUnreachableError
from cdc.sandbox import Service
from tests.integration.stack import Stack

MONEY = {
    "type": "record",
    "name": "Money",
    "namespace": "shop",
    "fields": [{"name": "cents", "type": "long"}],
}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "paid", "type": ["null", "shop.Money"]}],
}


def register(stack: Stack, subject: str, schema: Any, **more: Any) -> int:
    """Register a schema and give its id."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    request = urllib.request.Request(
        f"{stack.registry.url}/subjects/{quote(subject, safe='')}/versions",
        json.dumps({"schema": text, **more}).encode(),
        {"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        id_: int = json.load(reply)["id"]
    return id_


def test_schemas_are_read_with_what_they_refer_to(stack: Stack) -> None:
    register(stack, "shop/money ü", MONEY)
    reference = {"name": "shop.Money", "subject": "shop/money ü", "version": 1}
    order = register(stack, "orders-value", ORDER, references=[reference])
    registry = SchemaRegistry({"url": stack.registry.url})

    found = registry.schema(order)

    assert isinstance(found, AvroType)
    (paid,) = found.source.fields
    assert (paid.type.logical, paid.type.fields[0].type.kind) == ("shop.Money", "int64")
    assert "orders-value" in registry.subjects()


def test_an_id_that_it_does_not_have_is_unknown(stack: Stack) -> None:
    register(stack, "known-value", MONEY)

    found = SchemaRegistry({"url": stack.registry.url}).schema(999_999)

    assert isinstance(found, UnreadableSchema)
    assert "999999" in found.reason


def test_a_schema_of_another_kind_is_named(stack: Stack) -> None:
    text = 'syntax = "proto3"; message Order { int64 id = 1; }'
    id_ = register(stack, "proto-value", text, schemaType="PROTOBUF")

    found = SchemaRegistry({"url": stack.registry.url}).schema(id_)

    assert isinstance(found, UnreadableSchema)
    assert "PROTOBUF" in found.reason


def test_its_other_interface_is_not_taken_for_a_registry_without_schemas(stack: Stack) -> None:
    id_ = register(stack, "known-value", MONEY)

    for path in ("", "/apis", "/apis/registry/v2"):
        with pytest.raises(RegistryUnreachableError):
            SchemaRegistry({"url": f"{stack.registry.root}{path}"}).schema(id_)


def test_an_outage_ends_when_it_comes_back(stack: Stack) -> None:
    id_ = register(stack, "known-value", MONEY)
    registry = SchemaRegistry({"url": stack.registry.url})

    stack.kill(Service.REGISTRY)
    with pytest.raises(RegistryUnreachableError):
        registry.schema(id_)
    stack.restart(Service.REGISTRY)

    assert isinstance(registry.schema(id_), AvroType)
