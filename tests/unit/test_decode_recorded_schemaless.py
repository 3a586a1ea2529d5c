"""Real messages without schemas: with their columns declared, the same rows as with schemas.

The recordings of both kinds are of the same changes. One thing differs: the converter of those
without schemas was left to its default, which writes a null as the column's default value.
"""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from cdc.decode import DecodePlan, decode_changes
from cdc.model import MISSING, SourceColumn, SourceType
from cdc.model.column_types import known_columns
from connectors import DIALECTS
from tests.unit.messages import (
    Message,
    arrays,
    final_rows,
    plan_of,
    planned,
    read_recorded,
    without_schemas,
)

TOLD = {
    "postgres": read_recorded("pg_json.jsonl"),
    "mariadb": read_recorded("maria_json.jsonl"),
}
UNTOLD = {
    "postgres": read_recorded("pg_json_noschema.jsonl"),
    "mariadb": read_recorded("maria_json_noschema.jsonl"),
}
PREFIXES = {"postgres": ("pgj", "pgn"), "mariadb": ("mj", "mn")}
TABLES = [
    *(("postgres", f"app.{name}") for name in ("Mixed_Case", "composite_pk", "trunc", "uq_idx")),
    *(("postgres", f"app.{name}") for name in ("parted", "parted_eu", "parted_us", "toast_full")),
    *(("postgres", "app.all_types"), ("mariadb", "shop.all_types")),
    *(("mariadb", f"shop.{name}") for name in ("Mixed_Case", "composite_pk", "trunc")),
    *(("mariadb", "shop.late"), ("mariadb", "shop.later")),
]
# The clock of the database when the row was written, in two recordings.
MOVING = {"c_ts6"}
# What the table says for rows that leave the column out, by the database's own catalog.
DEFAULTS = {
    "postgres": {
        *("c_smallint", "c_int", "c_num_10_2", "c_bool", "c_text", "c_date", "c_tstz", "id"),
    },
    "mariadb": {"c_tiny", "c_bool", "c_int", "c_dec", "c_date", "c_varchar", "c_enum", "c_ts6"},
}


def both(database: str, table: str) -> tuple[list[Message], list[Message]]:
    told, untold = PREFIXES[database]
    return TOLD[database][f"{told}.{table}"], UNTOLD[database][f"{untold}.{table}"]


def columns_of(plan: DecodePlan) -> tuple[SourceColumn, ...]:
    """Give all columns that the schemas of a topic know."""
    found = {column.name: column for schema in plan.known for column in schema.columns}
    return tuple(found.values())


def declared_plan(messages: list[Message], columns: tuple[SourceColumn, ...]) -> DecodePlan:
    """Plan a topic without schemas, its table made of declared columns."""
    dialect = DIALECTS["postgres" if messages[0].topic.startswith("pg") else "mariadb"]
    known = known_columns(declared=columns)
    unplanned = DecodePlan(messages[0].topic, dialect, columns=known)
    met = decode_changes(0, *arrays(messages), unplanned)
    assert not met.bad_records
    assert not any(schema.inferred for schema in met.new_schemas)
    return replace(plan_of(messages[0].topic, met.new_schemas, dialect), columns=known)


@pytest.mark.parametrize(("database", "table"), TABLES)
def test_the_same_messages_without_their_schemas_give_the_same_changes(
    database: str, table: str
) -> None:
    messages, _ = both(database, table)
    plan = planned(messages, DIALECTS[database])
    stripped = [without_schemas(message) for message in messages]

    untold = decode_changes(
        0, *arrays(stripped), replace(plan, columns=known_columns(declared=columns_of(plan)))
    )

    told = decode_changes(0, *arrays(messages), plan)
    assert untold.bad_records == told.bad_records
    assert untold.truncates == told.truncates
    assert untold.tombstones == told.tombstones
    assert in_order(untold.changes) == in_order(told.changes)


def in_order(changes: tuple[pa.Table, ...]) -> str:
    """Give changes as text, in which a NaN equals a NaN."""
    return str(pa.concat_tables(changes).sort_by("_mirror_offset").to_pylist())


@pytest.mark.parametrize(("database", "table"), TABLES)
def test_a_topic_without_schemas_ends_in_the_rows_of_the_one_with_them(
    database: str, table: str
) -> None:
    told, untold = both(database, table)
    plan = planned(told, DIALECTS[database])

    found = final_rows(untold, declared_plan(untold, columns_of(plan)))

    wanted = final_rows(told, plan)
    assert len(found) == len(wanted)
    compared = 0
    for row, other in zip(found, wanted, strict=True):
        for name, value in other.items():
            if name in MOVING or (value is None and name in DEFAULTS[database]):
                continue
            assert str(row[name]) == str(value), name
            compared += 1
    assert compared or not wanted


@pytest.mark.parametrize(("database", "table"), TABLES)
def test_a_topic_without_schemas_is_mirrored_by_inference_where_nobody_tells(
    database: str, table: str
) -> None:
    told, untold = both(database, table)
    unplanned = DecodePlan(untold[0].topic, DIALECTS[database])
    met = decode_changes(0, *arrays(untold), unplanned)
    (schema,) = met.new_schemas
    plan = replace(
        plan_of(untold[0].topic, [schema], DIALECTS[database]),
        columns=known_columns(inferred=schema.columns),
    )

    found = final_rows(untold, plan)

    assert schema.inferred
    unfit = decode_changes(0, *arrays(told), planned(told, DIALECTS[database])).bad_records
    wanted = final_rows(told, planned(told, DIALECTS[database]))
    assert len(found) == len(wanted) + len(unfit)  # a number fits any number's column


def test_an_unchanged_toast_value_is_never_the_placeholder() -> None:
    told, untold = both("postgres", "app.toast_default")
    plan = planned(told, DIALECTS["postgres"])

    decoded = decode_changes(0, *arrays(untold), declared_plan(untold, columns_of(plan)))

    rows = [row for part in decoded.changes for row in part.to_pylist()]
    missing = {name for row in rows for name in row.get(MISSING) or ()}
    assert missing == {"big", "big_json", "big_bytes"}
    assert not any("__debezium" in str(row) for row in rows)


@pytest.mark.parametrize(("database", "topic"), [("postgres", "pgn.message"), ("mariadb", "mn")])
def test_what_debezium_writes_besides_changes_is_none(database: str, topic: str) -> None:
    messages = UNTOLD[database][topic]
    plan = DecodePlan(topic, DIALECTS[database])

    decoded = decode_changes(0, *arrays(messages), plan)

    assert {bad.reason for bad in decoded.bad_records} == {"it is not a Debezium change"}
    assert len(decoded.bad_records) == len(messages)


def test_every_recorded_topic_is_in_a_test() -> None:
    covered = {
        *(f"{PREFIXES[database][1]}.{table}" for database, table in TABLES),
        *("pgn.app.toast_default", "pgn.message", "mn"),
        # These have no key, or change types, for which a catalog has only the last word.
        *("pgn.app.no_pk", "mn.shop.no_pk", "pgn.app.evolve", "mn.shop.evolve"),
    }

    assert {topic for topics in UNTOLD.values() for topic in topics} == covered


def test_a_type_that_changed_at_the_source_leaves_what_was_before_to_quarantine() -> None:
    """The catalog knows the last type only: older values that are of another kind do not fit."""
    _, untold = both("postgres", "app.evolve")
    known = known_columns(
        declared=(
            SourceColumn("id", SourceType("int32")),
            SourceColumn("a", SourceType("string")),
            SourceColumn("b", SourceType("string")),
            SourceColumn("c", SourceType("string")),
            SourceColumn("d", SourceType("string")),
            SourceColumn("d_renamed", SourceType("string")),
            SourceColumn("e", SourceType("int32")),
        )
    )
    unplanned = DecodePlan(untold[0].topic, DIALECTS["postgres"])
    met = decode_changes(0, *arrays(untold), replace(unplanned, columns=known))
    plan = replace(plan_of(untold[0].topic, met.new_schemas, DIALECTS["postgres"]), columns=known)

    decoded = decode_changes(0, *arrays(untold), plan)

    numbers = [
        message.offset
        for message in untold
        if message.value and isinstance((json.loads(message.value)["after"] or {}).get("a"), int)
    ]
    assert [bad.offset for bad in decoded.bad_records] == numbers
