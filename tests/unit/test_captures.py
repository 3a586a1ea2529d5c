"""Every recording, from the records' bytes to changes, whatever its wire format.

The same changes were recorded several times, each through another converter. Where a recording
differs from another in more than the format, it is said here.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from cdc.collapse import after_cutoff, collapse, fill
from cdc.decode import DecodePlan, Wire, decode_changes
from cdc.dialect import Dialect
from cdc.errors import NoKeyError
from cdc.model import RESERVED, Form
from cdc.model.column_types import known_columns
from connectors import DIALECTS
from tests.unit.avro_datums import recorded_schemas
from tests.unit.messages import Message, arrays, plan_of, read_recorded
from tests.unit.registry_server import served

DATABASES = {
    "pg_json.jsonl": "postgres",
    "pg_json_noschema.jsonl": "postgres",
    "pg_json_unwrap.jsonl": "postgres",
    "pg_avro.jsonl": "postgres",
    "orders_pg_json.jsonl": "postgres",
    "orders_pg_avro.jsonl": "postgres",
    "maria_json.jsonl": "mariadb",
    "maria_json_noschema.jsonl": "mariadb",
}
# Topics of Debezium that carry no rows: logical messages, and the schema changes of a whole server.
NO_ROWS = {"message", "mj", "mn", "transaction"}


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with served(recorded_schemas()) as url:
        yield Wire(registry={"url": url})


def plan_for(messages: list[Message], dialect: Dialect, wire: Wire) -> DecodePlan:
    topic = messages[0].topic
    unplanned = DecodePlan(topic, dialect, wire)
    met = decode_changes(0, *arrays(messages), unplanned)
    assert met.bad_records == (), met.bad_records[:3]
    return replace(plan_of(topic, met.new_schemas, dialect), wire=wire)


def rows_left(messages: list[Message], plan: DecodePlan) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Give the rows in which a topic leaves its table, by key; what cannot be applied is left."""
    assert plan.table is not None
    decoded = decode_changes(0, *arrays(messages), plan)
    key = list(plan.key)
    changes = fill(pa.concat_tables(decoded.changes, promote_options="default"), key)
    if decoded.truncates:
        changes = after_cutoff(changes, 0, decoded.truncates[-1])
    live = collapse(changes, key, None, empty=False).rows
    kept = live.drop([name for name in live.column_names if name.startswith(RESERVED)])
    return {tuple(row[name] for name in key): row for row in kept.to_pylist()}


@pytest.mark.parametrize("file", DATABASES)
def test_every_record_of_every_recording_is_accounted_for(file: str, wire: Wire) -> None:
    dialect, counted, refused = DIALECTS[DATABASES[file]], 0, set()
    for topic, messages in read_recorded(file).items():
        if topic.rpartition(".")[2] in NO_ROWS:
            continue
        try:
            plan = plan_for(messages, dialect, wire)
            decoded = decode_changes(0, *arrays(messages), plan)
        except NoKeyError:
            refused.add(topic.rpartition(".")[2])
            continue
        ends = sum(len(part) for part in decoded.changes) + len(decoded.bad_records)
        assert ends + decoded.tombstones + len(decoded.truncates) == len(messages)
        assert not decoded.new_schemas
        counted += len(messages)

    assert counted > 0
    assert refused <= {"no_pk"}


def test_avro_and_json_leave_the_same_rows(wire: Wire) -> None:
    in_json, in_avro = read_recorded("pg_json.jsonl"), read_recorded("pg_avro.jsonl")
    compared = 0
    for topic, messages in in_avro.items():
        name = topic.partition(".")[2]
        told = in_json.get(f"pgj.{name}")
        if told is None or name in NO_ROWS:
            continue
        try:
            plan = plan_for(told, DIALECTS["postgres"], wire)
            wanted = rows_left(told, plan)
            found = rows_left(messages, plan_for(messages, DIALECTS["postgres"], wire))
        except NoKeyError:
            continue
        assert found.keys() == wanted.keys(), name
        for key, row in wanted.items():
            for column, value in row.items():
                # The Avro converter writes a null as the column's default, and has no other way.
                if value is None and found[key][column] is not None:
                    continue
                assert repr(found[key][column]) == repr(value), (name, key, column)
                compared += 1
    assert compared > 200


def test_the_orders_in_avro_and_in_json_leave_the_same_rows(wire: Wire) -> None:
    (in_json,) = read_recorded("orders_pg_json.jsonl").values()
    (in_avro,) = read_recorded("orders_pg_avro.jsonl").values()
    plan = plan_for(in_avro, DIALECTS["postgres"], wire)
    (schema,) = plan.known

    bare = replace(plan, topic=in_json[0].topic, columns=known_columns(declared=schema.columns))

    assert rows_left(in_json, bare) == rows_left(in_avro, plan)


def test_flat_rows_leave_the_rows_of_their_envelopes(wire: Wire) -> None:
    whole, flat = read_recorded("pg_json.jsonl"), read_recorded("pg_json_unwrap.jsonl")
    for name in ("Mixed_Case", "composite_pk", "toast_full", "uq_idx", "parted_eu", "parted_us"):
        told, bare = whole[f"pgj.app.{name}"], flat[f"pgu.app.{name}"]
        plan = plan_for(told, DIALECTS["postgres"], wire)
        columns = {c.name: c for schema in plan.known for c in schema.columns}

        known = known_columns(declared=columns.values())
        unplanned = DecodePlan(bare[0].topic, DIALECTS["postgres"], wire, columns=known)
        met = decode_changes(0, *arrays(bare), unplanned).new_schemas
        assert {schema.form for schema in met} == {Form.FLAT}
        flat_plan = replace(
            plan_of(bare[0].topic, met, DIALECTS["postgres"]), wire=wire, columns=known
        )

        assert rows_left(bare, flat_plan) == rows_left(told, plan), name
