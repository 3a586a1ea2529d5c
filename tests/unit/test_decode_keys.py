"""Keys of every type that the mirror has, in inserts, updates and deletes."""

import base64
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cdc.collapse import collapse
from cdc.config import ResolvedRule
from cdc.decode import DecodePlan, Wire, decode_changes
from cdc.decode.messages import BadRecords
from cdc.decode.record_keys import RecordKeys
from cdc.model import OFFSET, OP
from cdc.schema.arrow_schema import PRIMITIVES
from connectors import DIALECTS
from tests.unit.avro_messages import AvroTopic
from tests.unit.messages import (
    Block,
    Message,
    Table,
    arrays,
    change,
    column,
    decimal,
    decimal_column,
    delete,
    insert,
    plan_of,
    tombstone,
    update,
)
from tests.unit.registry_server import served

POSTGRES = DIALECTS["postgres"]
DEBEZIUM = "io.debezium.time."
# A key column, two of its values as messages have them, and as the table has them.
Key = tuple[Block, tuple[Any, Any], tuple[Any, Any]]


def key(
    kind: str, sent: tuple[Any, Any], kept: tuple[Any, Any] | None = None, logical: str = ""
) -> Key:
    block = column("k", kind, optional=False, logical=logical or None)
    return block, sent, sent if kept is None else kept


UUIDS = ("8f2c9f52-0d9e-4b2e-9ed2-6f1f5f8d3a11", "00000000-0000-0000-0000-000000000000")
KEYS: dict[str, Key] = {
    "int": key("int32", (-(2**31), 0)),
    "small int": key("int16", (-1, 32767)),
    "long": key("int64", (2**63 - 1, -1)),
    "string": key("string", ("zoë 🚀", "")),
    "uuid": key("string", UUIDS, logical="io.debezium.data.Uuid"),
    "boolean": key("boolean", (True, False)),
    "float": key("float", (1.5, -0.25)),
    "double": key("double", (0.1, -1e300)),
    "date": key("int32", (19_000, -1), (date(2022, 1, 8), date(1969, 12, 31)), DEBEZIUM + "Date"),
    "time": key(
        "int64",
        (1, 86_399_999_999),
        (time(0, 0, 0, 1), time(23, 59, 59, 999_999)),
        DEBEZIUM + "MicroTime",
    ),
    "timestamp": key(
        "int64",
        (1_700_000_000_123_456, 0),
        (datetime(2023, 11, 14, 22, 13, 20, 123_456), datetime(1970, 1, 1)),
        DEBEZIUM + "MicroTimestamp",
    ),
    "timestamptz": key(
        "string",
        ("2024-02-03T10:34:05.000001Z", "1969-12-31T23:59:59Z"),
        (
            datetime(2024, 2, 3, 10, 34, 5, 1, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
        ),
        DEBEZIUM + "ZonedTimestamp",
    ),
    "binary": key("bytes", (base64.b64encode(b"\x00\xff").decode(), ""), (b"\x00\xff", b"")),
    "decimal": (
        decimal_column("k", 20, 4, optional=False),
        (decimal(-123_450), decimal(10**19)),
        (Decimal("-12.3450"), Decimal("1000000000000000.0000")),
    ),
}


# A time is text unless the config asks for the type.
RULES = {"time": ResolvedRule(types={"k": "time"})}


def changes_of(
    messages: list[Message], form: str, rule: ResolvedRule | None = None
) -> tuple[pa.Table, DecodePlan]:
    """Decode messages with a plan as after their table was made."""
    topic = AvroTopic()
    if form == "avro":
        messages = [topic.write(message) for message in messages]
    with served(topic.schemas) as url:
        wire = Wire(registry={"url": url})
        unplanned = DecodePlan(messages[0].topic, POSTGRES, wire)
        met = decode_changes(0, *arrays(messages), unplanned).new_schemas
        plan = replace(plan_of(messages[0].topic, met, POSTGRES, rule), wire=wire)
        decoded = decode_changes(0, *arrays(messages), plan)
    assert decoded.bad_records == ()
    return pa.concat_tables(decoded.changes).sort_by(OFFSET), plan


@pytest.mark.parametrize("copies", [1, 50])
@pytest.mark.parametrize("form", ["json", "avro"])
@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_any_type_is_the_same_in_every_change(name: str, form: str, copies: int) -> None:
    block, (one, two), (kept_one, kept_two) = KEYS[name]
    table = Table((block, column("note", "string")), key=("k",))
    messages = []
    for round_ in range(copies):
        messages += [
            insert({"k": one, "note": "a"}, table=table, offset=6 * round_),
            insert({"k": two, "note": "b"}, table=table, offset=6 * round_ + 1),
            update({"k": one, "note": "c"}, table=table, offset=6 * round_ + 2),
            delete({"k": one}, table=table, offset=6 * round_ + 3),
            tombstone({"k": one}, table=table, offset=6 * round_ + 4),
            change("d", None, None, key={"k": two}, table=table, offset=6 * round_ + 5),
        ]

    changes, plan = changes_of(messages, form, RULES.get(name))

    expected = [(kept_one, "c"), (kept_two, "c"), (kept_one, "u"), (kept_one, "d"), (kept_two, "d")]
    found = list(zip(changes["k"].to_pylist(), changes[OP].to_pylist(), strict=True))
    assert found == expected * copies
    collapsed = collapse(changes, plan.key, None, empty=False)
    assert len(collapsed.rows) == 0


def test_every_type_that_the_mirror_has_is_tried_as_a_key() -> None:
    tried = set()
    for name, (block, (one, _), _kept) in KEYS.items():
        messages = [insert({"k": one}, table=Table((block,), key=("k",)))]
        changes, _ = changes_of(messages, "json", RULES.get(name))
        tried.add(changes.schema.field("k").type)

    assert tried >= set(PRIMITIVES.values())
    assert any(pa.types.is_decimal(kind) for kind in tried)


@pytest.mark.parametrize("form", ["json", "avro"])
def test_a_key_of_all_types_together_is_told_apart_by_each(form: str) -> None:
    blocks = [{**block, "field": name} for name, (block, _, _) in KEYS.items()]
    table = Table((*blocks, column("note", "string")), key=tuple(KEYS))
    first = {name: sent[0] for name, (_, sent, _) in KEYS.items()}
    others = [{**first, name: sent[1]} for name, (_, sent, _) in KEYS.items()]
    rows = [{**row, "note": str(place)} for place, row in enumerate([first, *others])]
    messages = [insert(row, table=table, offset=place) for place, row in enumerate(rows)]
    messages.append(delete(first, table=table, offset=len(rows)))

    changes, plan = changes_of(messages, form)

    live = collapse(changes, plan.key, None, empty=False).rows
    assert sorted(live["note"].to_pylist(), key=int) == [str(n + 1) for n in range(len(others))]


@pytest.mark.parametrize("form", ["json", "avro"])
def test_null_is_one_key_where_the_source_allows_it(form: str) -> None:
    table = Table((column("a", "int32", optional=False), column("b", "string")), key=("a", "b"))
    messages = [
        insert({"a": 1, "b": None}, table=table, offset=1),
        insert({"a": 1, "b": "x"}, table=table, offset=2),
        update({"a": 1, "b": None}, table=table, offset=3),
        delete({"a": 1, "b": None}, table=table, offset=4),
    ]

    changes, plan = changes_of(messages, form)

    assert plan.table is not None
    assert [field.nullable for field in plan.table.schema] == [False, True]
    assert changes.select(["a", "b", OP]).to_pylist()[3] == {"a": 1, "b": None, OP: "d"}
    collapsed = collapse(changes, plan.key, None, empty=False)
    assert collapsed.rows["b"].to_pylist() == ["x"]


def test_keys_without_a_schema_are_told_apart_by_their_columns() -> None:
    keys = pa.array([b'{"id":1}', b'{"a":"x","\xc3\xa4":2}', b'{"id":2}'], pa.binary())
    plan = DecodePlan("t", DIALECTS["postgres"])

    groups = list(RecordKeys(keys, plan, BadRecords()).split(np.arange(3)))

    found = {tuple(c.name for c in group.type.fields): group.rows.tolist() for group in groups}
    assert found == {("id",): [0, 2], ("a", "\u00e4"): [1]}
