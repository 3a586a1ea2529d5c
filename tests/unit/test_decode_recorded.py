"""Real topics of PostgreSQL and MariaDB: decoded, collapsed, and held against the databases."""

import json
from decimal import Decimal

import pytest

from cdc.decode import DecodePlan, decode_changes
from cdc.errors import NoKeyError
from cdc.model import MISSING, NO_POSITION, POSITION, TIME, Cutoff, SourceTable
from connectors import DIALECTS
from tests.unit.messages import (
    RECORDED,
    arrays,
    final_rows,
    plan_of,
    planned,
    read_recorded,
)

POSTGRES, MARIADB = DIALECTS["postgres"], DIALECTS["mariadb"]
TOPICS = {
    "postgres": read_recorded("pg_json.jsonl"),
    "mariadb": read_recorded("maria_json.jsonl"),
}
EXPECTED = {
    "postgres": json.loads((RECORDED / "expected_pg.json").read_text()),
    "mariadb": json.loads((RECORDED / "expected_maria.json").read_text()),
}
# Each topic that a mirror can follow to the end, and how the database calls its table.
FOLLOWED = [
    ("postgres", "pgj.app.Mixed_Case", "Mixed Case"),
    ("postgres", "pgj.app.composite_pk", "composite_pk"),
    ("postgres", "pgj.app.parted_eu", "parted_eu"),
    ("postgres", "pgj.app.parted_us", "parted_us"),
    ("postgres", "pgj.app.toast_full", "toast_full"),
    ("postgres", "pgj.app.trunc", "trunc"),
    ("postgres", "pgj.app.uq_idx", "uq_idx"),
    ("mariadb", "mj.shop.Mixed_Case", "Mixed Case"),
    ("mariadb", "mj.shop.composite_pk", "composite_pk"),
    ("mariadb", "mj.shop.trunc", "trunc"),
]


@pytest.mark.parametrize(("database", "topic", "table"), FOLLOWED)
def test_a_topic_ends_in_the_rows_of_its_table(database: str, topic: str, table: str) -> None:
    messages = TOPICS[database][topic]

    rows = final_rows(messages, planned(messages, DIALECTS[database]))

    texts = [{name: str(value) for name, value in row.items()} for row in rows]
    wanted = [{n: str(v) for n, v in row.items()} for row in EXPECTED[database][table]]
    assert sorted(texts, key=str) == sorted(wanted, key=str)


def test_every_recorded_topic_is_in_a_test() -> None:
    covered = {topic for _, topic, _ in FOLLOWED} | {
        *("pgj.app.all_types", "mj.shop.all_types", "pgj.app.evolve", "mj.shop.evolve"),
        *("pgj.app.no_pk", "mj.shop.no_pk", "pgj.message", "mj", "pgj.app.toast_default"),
        *("pgj.app.neg_scale", "pgj.app.special_numeric", "mj.shop.late", "mj.shop.later"),
        "pgj.app.parted",
    }

    assert {topic for topics in TOPICS.values() for topic in topics} == covered


def test_a_decimal_with_a_scale_above_its_precision_becomes_text() -> None:
    messages = TOPICS["postgres"]["pgj.app.neg_scale"]

    rows = final_rows(messages, planned(messages, POSTGRES))

    assert [Decimal(row["n"]) for row in rows] == [Decimal(12300)]


def test_what_debezium_sends_as_null_for_nan_is_null() -> None:
    messages = TOPICS["postgres"]["pgj.app.special_numeric"]

    rows = final_rows(messages, planned(messages, POSTGRES))

    assert rows == [
        {"id": 1, "n": "1.5", "n2": Decimal("1.50")},
        {"id": 2, "n": None, "n2": None},
        {"id": 3, "n": None, "n2": None},
    ]


def test_the_snapshot_of_a_partitioned_table_comes_under_the_parents_name() -> None:
    messages = TOPICS["postgres"]["pgj.app.parted"]

    rows = final_rows(messages, planned(messages, POSTGRES))

    assert [(row["id"], row["region"]) for row in rows] == [(1, "eu"), (2, "us")]


@pytest.mark.parametrize("topic", ["mj.shop.late", "mj.shop.later"])
def test_a_table_made_after_the_snapshot_is_decoded(topic: str) -> None:
    messages = TOPICS["mariadb"][topic]

    rows = final_rows(messages, planned(messages, MARIADB))

    assert len(rows) == 1


@pytest.mark.parametrize(
    ("database", "topic"), [("postgres", "pgj.app.no_pk"), ("mariadb", "mj.shop.no_pk")]
)
def test_a_table_without_a_key_is_refused(database: str, topic: str) -> None:
    with pytest.raises(NoKeyError) as raised:
        planned(TOPICS[database][topic], DIALECTS[database])

    assert raised.value.missing == ()


def test_an_unchanged_toast_value_is_never_the_placeholder() -> None:
    messages = TOPICS["postgres"]["pgj.app.toast_default"]
    plan = planned(messages, POSTGRES)

    decoded = decode_changes(0, *arrays(messages), plan)
    rows = [row for part in decoded.changes for row in part.to_pylist()]

    missing = [row for row in rows if row.get(MISSING)]
    assert {name for row in missing for name in row[MISSING]} >= {"big"}
    assert all(row[name] is None for row in missing for name in row[MISSING])
    assert not any("__debezium" in str(row) for row in rows)


def test_a_row_with_an_infinite_date_is_refused_with_its_column() -> None:
    messages = TOPICS["postgres"]["pgj.app.all_types"]
    plan = planned(messages, POSTGRES)

    decoded = decode_changes(0, *arrays(messages), plan)

    [bad] = decoded.bad_records
    assert bad.reason.startswith("its c_date does not fit")
    assert "infinity" in bad.reason


@pytest.mark.parametrize(("database", "topic"), [("postgres", "pgj.message"), ("mariadb", "mj")])
def test_a_topic_of_debezium_that_carries_no_rows_is_refused(database: str, topic: str) -> None:
    plan = DecodePlan(topic, DIALECTS[database])

    decoded = decode_changes(0, *arrays(TOPICS[database][topic]), plan)

    assert len(decoded.bad_records) == len(TOPICS[database][topic])
    assert (decoded.table, decoded.new_schemas) == (None, ())


@pytest.mark.parametrize(
    ("database", "topic", "versions"),
    [("postgres", "pgj.app.evolve", 9), ("mariadb", "mj.shop.evolve", 8)],
)
def test_each_schema_version_is_news_in_the_order_it_came(
    database: str, topic: str, versions: int
) -> None:
    messages = TOPICS[database][topic]
    plan = DecodePlan(topic, DIALECTS[database])

    decoded = decode_changes(0, *arrays(messages), plan)

    one_by_one = [
        schema
        for message in messages
        for schema in decode_changes(0, *arrays([message]), plan).new_schemas
    ]
    assert decoded.new_schemas == tuple(dict.fromkeys(one_by_one))
    assert len(decoded.new_schemas) == versions


def test_a_value_too_wide_for_the_old_column_is_refused() -> None:
    messages = TOPICS["postgres"]["pgj.app.evolve"]
    unplanned = DecodePlan(messages[0].topic, POSTGRES)
    schemas = decode_changes(0, *arrays(messages), unplanned).new_schemas

    decoded = decode_changes(0, *arrays(messages), plan_of(messages[0].topic, schemas, POSTGRES))

    assert {bad.reason.partition(":")[0] for bad in decoded.bad_records} == {
        "its a does not fit int32",
        "its c does not fit decimal128(6, 2)",
    }


def test_names_of_schema_and_table_come_from_the_source_block() -> None:
    topics = [TOPICS["postgres"]["pgj.app.Mixed_Case"], TOPICS["mariadb"]["mj.shop.Mixed_Case"]]

    found = [
        decode_changes(0, *arrays(topic), planned(topic, dialect)).table
        for topic, dialect in zip(topics, (POSTGRES, MARIADB), strict=True)
    ]

    assert found == [
        SourceTable("pgj", "shop", "app", "Mixed Case"),
        SourceTable("mj", "shop", "shop", "Mixed Case"),
    ]


@pytest.mark.parametrize(
    ("database", "topic"), [("postgres", "pgj.app.trunc"), ("mariadb", "mj.shop.trunc")]
)
def test_a_recorded_truncate_has_its_offset_and_a_position_between_its_neighbours(
    database: str, topic: str
) -> None:
    messages = TOPICS[database][topic]

    decoded = decode_changes(0, *arrays(messages), planned(messages, DIALECTS[database]))

    before, after = (decoded.changes[0][POSITION][place].as_py() for place in (1, 2))
    (found,) = decoded.truncates
    assert found == Cutoff(0, 2, found.position, found.time)
    times = [time.value for time in decoded.changes[0][TIME]]
    assert found.time is not None
    assert times[1] <= found.time <= times[2]
    assert NO_POSITION < before < found.position < after
