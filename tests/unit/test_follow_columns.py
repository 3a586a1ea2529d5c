"""What a table does about the columns of its source, without a catalog and without a database."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import BooleanType, LongType, NestedField

from cdc.config import ApplyMode, ChangeKind, OnDelete, ResolvedRule, SchemaChange
from cdc.config.load import parse_config
from cdc.dialect import ColumnFacts
from cdc.errors import SchemaChangeError
from cdc.model import SchemaEvent, SchemaPlace, SourceColumn, SourceSchema, SourceType
from cdc.runtime.follow.column_decisions import ColumnDecision, ColumnDecisions
from cdc.runtime.follow.source_catalog import CatalogColumns
from cdc.state.key import TableKey
from cdc.state.table_view import TableView
from connectors import DIALECTS
from tests.unit.table_views import SCHEMA, a_view

POSTGRES = DIALECTS["postgres"]
# Without source.url nobody is asked.
CONFIG = b"""
name = "shop"
[source]
connector = "postgres"
topics = ["srv.*"]
[kafka]
"bootstrap.servers" = "localhost:9092"
"""
KINDS = {"id": SourceType("int64"), "region": SourceType("int64")}
NOW, BEFORE = SchemaPlace(0, 9, 200), SchemaPlace(0, 4, 50)
DROPPED_OLD = SchemaEvent("drop_column", "old", SchemaPlace(0, 7, 100))
RENAMED = ResolvedRule(renames={"name": "title"})


def a_schema(*names: str, key: tuple[str, ...] = ("id",), inferred: bool = False) -> SourceSchema:
    """Make a schema in which all but the key is text that may be null."""
    columns = (
        SourceColumn(name, KINDS.get(name, SourceType("string")), optional=name not in key)
        for name in names
    )
    return SourceSchema(tuple(columns), key, inferred=inferred)


@pytest.fixture(scope="module")
def decisions() -> ColumnDecisions:
    config = parse_config(CONFIG, Path("/shop.toml"))
    return ColumnDecisions(POSTGRES, CatalogColumns(config, POSTGRES))


def texts(found: ColumnDecision) -> tuple[str, ...]:
    assert found.action is not None
    return found.action.texts


def facts(**identities: int) -> Mapping[str, ColumnFacts]:
    return {name: ColumnFacts(identity) for name, identity in identities.items()}


def test_a_table_that_has_room_does_nothing(decisions: ColumnDecisions) -> None:
    schema = a_schema("id", "name")

    assert decisions.decide(a_view(), schema, NOW) == ColumnDecision(schema, newest=True)


@pytest.mark.parametrize(
    ("schema", "rule", "expected"),
    [
        (a_schema("id", "note", "name"), None, ("ADD COLUMN note string AFTER id",)),
        (a_schema("id", "name", "note"), None, ("ADD COLUMN note string AFTER name",)),
        (a_schema("id"), None, ("DROP COLUMN name",)),
        # Whether it was renamed nobody tells: nothing goes.
        (a_schema("id", "title"), None, ("ADD COLUMN title string AFTER id",)),
        (a_schema("id", "title"), RENAMED, ("RENAME COLUMN name TO title",)),
        (
            replace(a_schema("id", "name", key=("id",)), key=("name",)),
            None,
            ("SET KEY (name)", "ALTER COLUMN id DROP NOT NULL"),
        ),
    ],
)
def test_a_table_follows_the_columns_of_its_source(
    decisions: ColumnDecisions,
    schema: SourceSchema,
    rule: ResolvedRule | None,
    expected: tuple[str, ...],
) -> None:
    found = decisions.decide(a_view(rule=rule), schema, NOW)

    assert texts(found) == expected
    assert (found.newest, found.has_room, found.is_known) == (True, False, False)
    assert found.schema == schema


@pytest.mark.parametrize(
    ("rule", "schema"),
    [
        (ResolvedRule(schema_change=SchemaChange.IGNORE), a_schema("id", "name", "note")),
        (ResolvedRule(schema_change=SchemaChange.LENIENT), a_schema("id")),
        (ResolvedRule(exclude=("note",)), a_schema("id", "name", "note")),
        (
            ResolvedRule(schema_policies={ChangeKind.ADD_COLUMN: SchemaChange.IGNORE}),
            a_schema("id", "name", "note"),
        ),
    ],
)
def test_what_its_rule_lets_pass_asks_for_nothing(
    decisions: ColumnDecisions, rule: ResolvedRule, schema: SourceSchema
) -> None:
    found = decisions.decide(a_view(rule=rule), schema, NOW)

    assert (found.action, found.has_room) == (None, True)


@pytest.mark.parametrize(
    ("rule", "schema", "change"),
    [
        (
            ResolvedRule(schema_change=SchemaChange.FAIL),
            a_schema("id", "name", "note"),
            "note (string), which is new",
        ),
        (
            ResolvedRule(schema_change=SchemaChange.IGNORE),
            a_schema("name", "id", key=("name",)),
            "its key from (id) to (name)",
        ),
        # The config's key is another one than the table was made with.
        (ResolvedRule(key=("name",)), a_schema("id", "name"), "its key from (id) to (name)"),
    ],
)
def test_what_its_rule_does_not_allow_is_refused_by_name(
    decisions: ColumnDecisions, rule: ResolvedRule, schema: SourceSchema, change: str
) -> None:
    view = a_view(rule=rule)

    with pytest.raises(SchemaChangeError) as caught:
        decisions.decide(view, schema, NOW)

    assert (caught.value.table, caught.value.changes) == ("public.orders", (change,))
    assert not decisions.has_room(view, schema)


# Schemas from before


def following(*events: SchemaEvent, **state: object) -> TableView:
    return a_view(state={"events": events, **state})


def test_an_older_schema_whose_columns_are_accounted_for_is_known(
    decisions: ColumnDecisions,
) -> None:
    schema = a_schema("id", "name", "old")

    found = decisions.decide(following(DROPPED_OLD), schema, BEFORE)

    assert found == ColumnDecision(schema, newest=False, is_known=True)
    assert found.action is None


def test_the_same_schema_after_that_is_a_new_one(decisions: ColumnDecisions) -> None:
    found = decisions.decide(following(DROPPED_OLD), a_schema("id", "name", "old"), NOW)

    assert (found.newest, found.is_known) == (True, False)
    assert texts(found) == ("ADD COLUMN old string AFTER name",)


def test_an_older_schema_that_nobody_knows_takes_no_column_away(
    decisions: ColumnDecisions,
) -> None:
    # It lacks `name`, and has another key: both may have come since.
    schema = replace(a_schema("id", "unknown"), key=("unknown",))

    found = decisions.decide(following(DROPPED_OLD), schema, BEFORE)

    assert (found.newest, found.is_known, found.has_room) == (False, False, False)
    assert texts(found) == ("ADD COLUMN unknown string",)  # the columns of its key come first
    assert found.action is not None
    assert found.action.decision.new_key == ()


def test_an_older_schema_of_a_column_that_was_renamed_is_known(decisions: ColumnDecisions) -> None:
    renamed = SchemaEvent("rename_column", "title", SchemaPlace(0, 7, 100), to="name")

    assert decisions.decide(following(renamed), a_schema("id", "title"), BEFORE).is_known


# What the catalog knows


def test_the_catalog_tells_a_renamed_column_by_its_number(decisions: ColumnDecisions) -> None:
    view, schema = a_view(state={"identities": {"id": 1, "name": 2}}), a_schema("id", "title")

    action = decisions.alter(view, schema, newest=True, facts=facts(id=1, title=2))

    assert action is not None
    assert action.texts == ("RENAME COLUMN name TO title",)


def test_the_catalog_tells_a_column_that_is_gone_from_a_renamed_one(
    decisions: ColumnDecisions,
) -> None:
    view, schema = a_view(state={"identities": {"id": 1, "name": 2}}), a_schema("id", "title")

    action = decisions.alter(view, schema, newest=True, facts=facts(id=1, title=3))

    assert action is not None
    assert action.texts == ("ADD COLUMN title string AFTER id", "DROP COLUMN name")


def test_what_the_config_says_of_a_new_name_counts_more(decisions: ColumnDecisions) -> None:
    view = a_view(rule=RENAMED, state={"identities": {"id": 1, "name": 2}})

    action = decisions.alter(
        view,
        a_schema("id", "title", "other"),
        newest=True,
        facts=facts(id=1, title=3, other=2),
    )

    assert action is not None
    assert action.texts == ("RENAME COLUMN name TO title", "ADD COLUMN other string AFTER title")


def test_the_catalog_tells_comments(decisions: ColumnDecisions) -> None:
    told = {"name": ColumnFacts(comment="it's one")}

    action = decisions.alter(a_view(), a_schema("id", "name"), newest=True, facts=told)

    assert action is not None
    assert action.texts == ("ALTER COLUMN name COMMENT 'it''s one'",)


def test_the_mirrors_own_columns_have_not_gone(decisions: ColumnDecisions) -> None:
    rule = ResolvedRule(on_delete=OnDelete.SOFT)
    schema = Schema(*SCHEMA.fields, NestedField(3, "_mirror_deleted", BooleanType()))
    view = a_view(rule=rule, schema=schema, state={"identities": {"id": 1, "name": 2}})

    action = decisions.alter(view, a_schema("id", "note"), newest=True, facts=facts(id=1, note=3))

    assert action is not None
    assert action.texts == ("ADD COLUMN note string AFTER id", "DROP COLUMN name")


def test_a_column_that_is_excluded_is_no_other_ones_new_name(decisions: ColumnDecisions) -> None:
    rule = ResolvedRule(exclude=("secret",))
    view = a_view(rule=rule, state={"identities": {"id": 1, "name": 2}})

    # `name` is `last` by now; in between it was what the catalog does not have any more.
    action = decisions.alter(
        view, a_schema("id", "title", "secret"), newest=True, facts=facts(id=1, last=2)
    )

    assert action is not None
    assert action.texts == ("RENAME COLUMN name TO title",)


def test_where_the_table_has_room_alter_says_nothing(decisions: ColumnDecisions) -> None:
    assert decisions.alter(a_view(), a_schema("id", "name"), newest=True, facts={}) is None


# Keys


def test_another_key_says_its_columns(decisions: ColumnDecisions) -> None:
    schema = Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "region", LongType(), required=True),
    )
    view = a_view(schema=schema, state={"key": TableKey(("id",))})

    found = decisions.decide(view, a_schema("id", "region", key=("region", "id")), NOW)

    assert found.action is not None
    assert found.action.decision.new_key == ("region", "id")
    assert found.action.texts == ("SET KEY (region, id)",)


def test_a_column_that_was_in_the_key_once_stays_for_late_deletes(
    decisions: ColumnDecisions,
) -> None:
    key = TableKey(("name",), frozenset({1}))

    found = decisions.decide(a_view(state={"key": key}), a_schema("name", key=("name",)), NOW)
    without = decisions.decide(
        a_view(state={"key": TableKey(("name",))}), a_schema("name", key=("name",)), NOW
    )

    assert (found.action, found.has_room) == (None, True)
    assert texts(without) == ("DROP COLUMN id",)


def test_a_column_by_which_a_table_is_partitioned_stays(decisions: ColumnDecisions) -> None:
    view = replace(a_view(), partitioned_by=frozenset({"name"}))

    assert decisions.decide(view, a_schema("id"), NOW).action is None


def test_a_table_of_changes_has_no_key_that_could_change(decisions: ColumnDecisions) -> None:
    view = a_view(rule=ResolvedRule(mode=ApplyMode.APPEND), state={"key": TableKey()})

    found = decisions.decide(view, a_schema("id", "name", key=("name",)), NOW)

    # Only that the column may be null now is followed.
    assert texts(found) == ("ALTER COLUMN id DROP NOT NULL",)


# Messages without schemas

# They do not say that a key is never null.
OPTIONAL = Schema(*(NestedField(c.field_id, c.name, c.field_type) for c in SCHEMA.fields))


def test_types_that_were_guessed_are_those_of_the_table(decisions: ColumnDecisions) -> None:
    guessed = SourceSchema(
        (SourceColumn("id", SourceType("int32")), SourceColumn("name", SourceType("string"))),
        ("id",),
        inferred=True,
    )

    found = decisions.decide(a_view(schema=OPTIONAL), guessed, NOW)

    assert {column.name: column.type.kind for column in found.schema.columns} == {
        "id": "int64",
        "name": "string",
    }
    assert (found.action, found.has_room) == (None, True)


def test_a_message_that_does_not_name_a_column_does_not_drop_it(
    decisions: ColumnDecisions,
) -> None:
    view = a_view(schema=OPTIONAL)

    assert decisions.decide(view, a_schema("id", inferred=True), NOW).has_room
    assert not decisions.decide(view, a_schema("id"), NOW).has_room


def test_types_that_messages_tell_are_left_as_they_are(decisions: ColumnDecisions) -> None:
    schema = a_schema("id", "name")

    assert decisions.fitted(a_view(), schema) is schema
