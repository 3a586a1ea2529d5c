"""When the source made a change, in every form in which messages say it."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from cdc.decode import DecodePlan, Wire, decode_changes
from cdc.model import OFFSET, TIME
from connectors import DIALECTS
from tests.unit import connector_messages
from tests.unit.avro_messages import AvroTopic
from tests.unit.connector_sources import MOMENT
from tests.unit.messages import (
    Message,
    arrays,
    column,
    insert,
    plan_of,
    planned,
    truncate,
    without_schemas,
)
from tests.unit.registry_server import served
from tests.unit.test_decode_flat import ADDED, flat

POSTGRES = DIALECTS["postgres"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNITS = {"ts_ms": 1_000, "ts_us": 1_000_000, "ts_ns": 1_000_000_000}


def with_times(message: Message, **times: int | None) -> Message:
    """Give a message's source block some times, and no others."""
    assert message.value is not None
    parts = json.loads(message.value)
    block = next(f for f in parts["schema"]["fields"] if f["field"] == "source")
    block["fields"] = [f for f in block["fields"] if f["field"] not in UNITS]
    block["fields"] += [column(name, "int64") for name in times]
    source = {n: v for n, v in parts["payload"]["source"].items() if n not in UNITS}
    parts["payload"]["source"] = source | times
    return replace(message, value=json.dumps(parts, separators=(",", ":")).encode())


def times_of(messages: list[Message], plan: DecodePlan | None = None) -> list[Any]:
    decoded = decode_changes(0, *arrays(messages), plan or planned(messages, POSTGRES))
    assert decoded.bad_records == ()
    assert all(table[TIME].type == pa.timestamp("us", "UTC") for table in decoded.changes)
    rows = [row for table in decoded.changes for row in table.to_pylist()]
    return [row[TIME] for row in sorted(rows, key=lambda row: row[OFFSET])]


SECOND = 1_700_000_000


@pytest.mark.parametrize(
    ("times", "microseconds"),
    [
        ({"ts_ms": SECOND * 1000 + 123}, 123_000),
        ({"ts_ms": SECOND * 1000 + 123, "ts_us": SECOND * 10**6 + 123_456}, 123_456),
        ({"ts_ms": SECOND * 1000 + 123, "ts_ns": SECOND * 10**9 + 123_456_789}, 123_456),
        ({"ts_ns": SECOND * 10**9 + 999}, 0),
        ({"ts_us": None, "ts_ms": SECOND * 1000 + 123}, 123_000),
    ],
)
@pytest.mark.parametrize("form", ["json", "schemaless", "avro"])
def test_the_finest_time_of_the_source_is_that_of_the_change(
    form: str, times: dict[str, int | None], microseconds: int
) -> None:
    message = with_times(insert({"id": 1, "name": "ann"}), **times)
    topic = AvroTopic()
    if form == "schemaless":
        message = without_schemas(message)
    elif form == "avro":
        message = topic.write(message)

    with served(topic.schemas) as url:
        wire = Wire(registry={"url": url})
        bare = DecodePlan(message.topic, POSTGRES, wire)
        met = decode_changes(0, *arrays([message]), bare).new_schemas
        found = times_of([message], replace(plan_of(message.topic, met, POSTGRES), wire=wire))

    assert found == [EPOCH + timedelta(seconds=SECOND, microseconds=microseconds)]


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("schemas", [True, False])
def test_the_changes_of_every_database_have_their_time(dialect: str, schemas: bool) -> None:
    messages, _ = connector_messages.life_of_rows(dialect)
    if not schemas:
        messages = [connector_messages.without_schemas(message) for message in messages]
    decoded = decode_changes(0, *arrays(messages), planned(messages, DIALECTS[dialect]))

    times = pa.concat_tables(decoded.changes)[TIME].to_pylist()
    assert len(times) >= 4
    # The connector's own time, behind the source block, is three seconds later.
    around = EPOCH + timedelta(milliseconds=MOMENT)
    assert {abs(time - around) < timedelta(seconds=2) for time in times} == {True}


@pytest.mark.parametrize(
    "times",
    [
        {},
        {"ts_ms": 0},
        {"ts_us": -1},
        {"ts_ms": 2**63 - 1},
        {"ts_us": 2**63 - 1},
        {"ts_us": 253_402_300_800_000_000},
        {"ts_ms": -(2**63)},
        {"ts_ms": None},
    ],
)
def test_what_is_no_time_is_unknown_and_no_fault(times: dict[str, int | None]) -> None:
    good = with_times(insert({"id": 2}, offset=1), **dict.fromkeys(times, 1_700_000_000_000))
    odd = with_times(insert({"id": 1}), **times)

    found = times_of([odd, good])

    assert found[0] is None
    assert (found[1] is None) == (not times)


def test_a_time_that_the_schema_has_as_something_else_is_left_alone() -> None:
    message = insert({"id": 1, "name": "ann"})
    assert message.value is not None
    parts = json.loads(message.value)
    block = next(f for f in parts["schema"]["fields"] if f["field"] == "source")
    block["fields"] = [f for f in block["fields"] if f["field"] != "ts_ms"]
    block["fields"].append(column("ts_ms", "string"))
    parts["payload"]["source"]["ts_ms"] = "2024-01-01"

    assert times_of([replace(message, value=json.dumps(parts).encode())]) == [None]


def test_a_truncate_has_its_time_in_microseconds() -> None:
    row = insert({"id": 1})
    messages = [with_times(truncate(offset=1), ts_ms=SECOND * 1000), truncate(offset=2)]
    messages[1] = with_times(messages[1], ts_ms=None)

    decoded = decode_changes(0, *arrays([row, *messages]), planned([row], POSTGRES))

    assert [truncate.time for truncate in decoded.truncates] == [SECOND * 10**6, None]


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ({"__source_ts_ms": 2_000}, 2),
        ({"__ts_ms": 3_000}, 3),
        ({"__ts_us": 4_000_000, "__source_ts_ms": 2_000}, 2),
        ({"__ts_us": 4_000_000, "__source_ts_ms": None}, 4),
        ({"__source_ts_ns": 5_000_000_000}, 5),
        ({}, None),
    ],
)
def test_a_flat_row_has_the_time_that_was_added_to_it(
    added: dict[str, int], expected: int | None
) -> None:
    blocks = tuple(column(name, "int64") for name in added)
    message = flat(
        {"id": 1, "name": "ann", "__deleted": "false", **added}, added=(ADDED[0], *blocks)
    )

    assert times_of([message]) == [expected and EPOCH + timedelta(seconds=expected)]
