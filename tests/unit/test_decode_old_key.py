"""The key that a row had before its key changed, as headers name it."""

import base64
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from cdc.config import RecordFormat
from cdc.decode import OLD_KEY_HEADER, DecodePlan, Wire, decode_changes, old_key
from connectors import DIALECTS
from tests.unit.avro_messages import AvroTopic
from tests.unit.messages import (
    RECORDED,
    Table,
    arrays,
    column,
    decimal,
    decimal_column,
    insert,
    plan_of,
    planned,
    read_recorded,
    without_schemas,
)
from tests.unit.registry_server import served

POSTGRES = DIALECTS["postgres"]
COLUMNS = (
    column("id", "int64", optional=False),
    column("name", "string", optional=False),
    column("data", "bytes", optional=False),
    decimal_column("price", 9, 2, optional=False),
    column("day", "int32", optional=False, logical="io.debezium.time.Date"),
    column("size", "double", optional=False),
    column("note", "string"),
)
ROW: dict[str, Any] = {
    "id": 7,
    "name": 'a "b" \\',
    "data": base64.b64encode(b"\x00\xff").decode(),
    "price": decimal(1250),
    "day": 1,
    "size": 1.5,
}


def plan_for(*key: str, table: tuple[Any, ...] = COLUMNS) -> DecodePlan:
    return planned([insert(ROW, table=Table(table, key=key))], POSTGRES)


def test_recorded_headers_name_the_old_key_in_every_format() -> None:
    found = 0
    for file in ("pg_json.jsonl", "pg_json_noschema.jsonl", "maria_json.jsonl"):
        topics = read_recorded(file)
        dialect = DIALECTS["mariadb" if file.startswith("maria") else "postgres"]
        for line in (RECORDED / file).read_text().splitlines():
            raw = json.loads(line)
            headers = dict(raw.get("headers") or [])
            if OLD_KEY_HEADER not in headers:
                continue
            before = [m for m in topics[raw["topic"]] if m.offset < raw["offset"]]
            deleted = next(m for m in reversed(before) if m.value is not None)
            assert deleted.key is not None
            key = json.loads(deleted.key)
            plan = planned(before, dialect)
            assert plan.table is not None
            assert old_key(base64.b64decode(headers[OLD_KEY_HEADER]), plan) == key.get(
                "payload", key
            )
            found += 1
    assert found >= 6


def test_keys_of_avro_topics_are_read_from_the_text_that_their_headers_are() -> None:
    topic = AvroTopic()
    message = topic.write(insert(ROW, table=Table(COLUMNS, key=("id", "price"))))
    with served(topic.schemas) as url:
        wire = Wire(RecordFormat.AVRO, {"url": url})
        unplanned = DecodePlan(message.topic, POSTGRES, wire)
        met = decode_changes(0, *arrays([message]), unplanned).new_schemas
        plan = replace(plan_of(message.topic, met, POSTGRES), wire=wire)

        assert old_key(b'{"id":6,"price":12.50}', plan) == {"id": 6, "price": Decimal("12.50")}
        assert message.key is not None
        assert old_key(message.key, plan) == {"id": 7, "price": Decimal("12.50")}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("name", b'{"name":"a \\"b\\" \\\\"}', 'a "b" \\'),
        ("name", b'{"name":"two\nlines"}', "two\nlines"),
        ("data", b'{"data":"AP8="}', b"\x00\xff"),
        ("price", b'{"price":12.5}', Decimal("12.50")),
        ("price", b'{"price":-3}', Decimal("-3.00")),
        ("price", b'{"price":1E+2}', Decimal("100.00")),
        ("size", b'{"size":1.5}', 1.5),
        ("size", b'{"size":2.0}', 2.0),
    ],
)
def test_values_are_read_as_the_usual_converter_writes_them(
    name: str, text: bytes, value: Any
) -> None:
    assert old_key(text, plan_for(name)) == {name: value}


def test_a_header_that_is_written_like_a_key_is_read_like_one() -> None:
    message = insert(ROW, table=Table(COLUMNS, key=("id", "price")))
    plan, bare = planned([message], POSTGRES), without_schemas(message)
    assert message.key is not None
    assert bare.key is not None

    expected = {"id": 7, "price": Decimal("12.50")}
    assert old_key(message.key, plan) == expected
    assert old_key(bare.key, plan) == expected


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"null",
        b"7",
        b"{",
        b"\xff\xfe",
        b"\x00\x00\x00\x00\x07\x02",
        b'{"id":"seven","price":1}',
        b'{"id":1}',
        b'{"id":1,"price":1.005}',
        b'{"id":1,"price":2024-01-01T00:00:00.000Z}',
        b'{"other":1}',
        b'{"id":9223372036854775808,"price":1}',
        b"[" * 100_000,
    ],
)
def test_a_header_that_does_not_tell_gives_none(header: bytes) -> None:
    assert old_key(header, plan_for("id", "price")) is None


def test_a_table_without_a_key_has_no_old_one() -> None:
    plan = plan_for("id")

    assert old_key(b'{"id":1}', plan.with_key(())) is None
    assert old_key(b'{"id":1}', DecodePlan("t", POSTGRES)) is None
