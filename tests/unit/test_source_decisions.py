"""What became of a source table, and what its rule says of it."""

from dataclasses import replace

import pytest

from cdc.config import ApplyMode, ChangeKind, ResolvedRule, SchemaChange
from cdc.dialect import SourceTables
from cdc.errors import DroppedTableError, RemadeTableError
from cdc.model import SourceTable, TableName
from cdc.runtime.follow.source_decisions import (
    SourceLookup,
    SourceTableState,
    look_up,
    source_action,
)
from cdc.state.left_topics import LeftTable, LeftTopic, left_topics_property, read_left_topics
from cdc.state.source_identity import Identity, Moment, SourceIdentity
from cdc.state.table_view import TableView
from tests.unit.table_views import a_view as view_of

ORDERS = SourceTable("srv", "shop", "public", "orders")
KNOWN = Identity("a", 7)
SEEN = Moment("2026-11-17T20:44:47+00:00", 500, 1)


def a_view(rule: ResolvedRule, source: SourceIdentity | None = None) -> TableView:
    return view_of(rule=rule, source=ORDERS, state={"source": source or SourceIdentity(KNOWN)})


def found(server: str = "a", **numbers: int | None) -> SourceTables:
    return SourceTables(server, {("public", name): n for name, n in numbers.items()})


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [
        (KNOWN, found(orders=7), SourceLookup(SourceTableState.THERE, KNOWN)),
        (None, found(orders=7), SourceLookup(SourceTableState.THERE, KNOWN)),
        (KNOWN, found(orders=8), SourceLookup(SourceTableState.REPLACED, Identity("a", 8))),
        (KNOWN, found(sales=7), SourceLookup(SourceTableState.RENAMED, KNOWN, ("public", "sales"))),
        (KNOWN, found(sales=8), SourceLookup(SourceTableState.DROPPED)),
        # Two tables were swapped: the name is what counts.
        (
            KNOWN,
            found(orders=8, sales=7),
            SourceLookup(SourceTableState.REPLACED, Identity("a", 8)),
        ),
        # Nobody may see the numbers: what is gone may have been renamed.
        (Identity("a", None), found(sales=None), SourceLookup(SourceTableState.MISSING)),
        (
            Identity("a", None),
            found(orders=None),
            SourceLookup(SourceTableState.THERE, Identity("a", None)),
        ),
        # Another server's numbers, and its lack of a table, say nothing.
        (KNOWN, found("b", orders=8), SourceLookup(SourceTableState.THERE, Identity("b", 8))),
        (KNOWN, found("b", sales=7), SourceLookup(SourceTableState.UNKNOWN)),
        (None, found(sales=7), SourceLookup(SourceTableState.UNKNOWN)),
        (KNOWN, found(""), SourceLookup(SourceTableState.UNKNOWN)),
        # The catalog is of another database.
        (KNOWN, replace(found(), database="other"), SourceLookup(SourceTableState.UNKNOWN)),
        (KNOWN, replace(found(), database="shop"), SourceLookup(SourceTableState.DROPPED)),
    ],
)
def test_the_catalog_tells_what_became_of_a_table(
    known: Identity | None, now: SourceTables, expected: SourceLookup
) -> None:
    assert look_up(known, ORDERS, now, lasting=True) == expected


def test_a_new_number_is_no_new_table_where_numbers_change_with_every_rebuild() -> None:
    assert look_up(KNOWN, ORDERS, found(orders=8), lasting=False).state is SourceTableState.THERE


@pytest.mark.parametrize(
    ("lasting", "number", "state"),
    [
        (True, 8, SourceTableState.REPLACED),
        (False, 8, SourceTableState.REPLACED),
        (True, 7, SourceTableState.THERE),
    ],
)
def test_a_table_that_was_missing_and_is_there_is_another_one(
    lasting: bool, number: int, state: SourceTableState
) -> None:
    now = found(orders=number)

    assert look_up(KNOWN, ORDERS, now, lasting=lasting, dropped=True).state is state


def ruled(policy: SchemaChange | None = None, **settings: object) -> ResolvedRule:
    policies = {} if policy is None else {ChangeKind.DROP_TABLE: policy}
    return ResolvedRule(schema_policies=policies, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "state", "expected"),
    [
        (ruled(), SourceTableState.DROPPED, "DROP TABLE at the source: stays"),
        (ruled(SchemaChange.LENIENT), SourceTableState.DROPPED, "DROP TABLE at the source: stays"),
        (ruled(SchemaChange.IGNORE), SourceTableState.DROPPED, "DROP TABLE at the source: stays"),
        (ruled(SchemaChange.EVOLVE), SourceTableState.DROPPED, "DROP TABLE"),
        (ruled(SchemaChange.EVOLVE), SourceTableState.MISSING, "DROP TABLE at the source: stays"),
        (
            ruled(SchemaChange.EVOLVE, schema_deny=(ChangeKind.DROP_TABLE,)),
            SourceTableState.DROPPED,
            "DROP TABLE at the source: stays",
        ),
        (ruled(SchemaChange.FAIL), SourceTableState.DROPPED, None),
        (ruled(schema_change=SchemaChange.FAIL), SourceTableState.DROPPED, None),
    ],
)
def test_a_table_goes_only_where_it_is_asked_for_by_name(
    rule: ResolvedRule, state: SourceTableState, expected: str | None
) -> None:
    view = a_view(rule)
    lookup = SourceLookup(state)
    if expected is None:
        with pytest.raises(DroppedTableError):
            source_action(view, lookup)
    else:
        action = source_action(view, lookup)
        assert action is not None
        assert action.texts == (expected,)


def test_what_was_noted_once_is_not_done_again() -> None:
    noted = SourceIdentity(KNOWN, dropped=SEEN)

    assert source_action(a_view(ruled(), noted), SourceLookup(SourceTableState.DROPPED)) is None


@pytest.mark.parametrize(
    ("rule", "seen", "ends"),
    [
        (ruled(), SEEN, "rows from before go"),
        (ruled(), replace(SEEN, position=None), None),
        (ruled(), None, None),
        (ruled(SchemaChange.IGNORE), None, "rows from before stay"),
        (ruled(mode=ApplyMode.APPEND), None, "rows from before stay"),
        (ruled(SchemaChange.FAIL), SEEN, None),
    ],
)
def test_old_rows_go_only_where_it_is_known_where_the_new_ones_begin(
    rule: ResolvedRule, seen: Moment | None, ends: str | None
) -> None:
    view = a_view(rule, SourceIdentity(KNOWN, dropped=seen))
    lookup = SourceLookup(SourceTableState.REPLACED, Identity("a", 8))
    if ends is None:
        with pytest.raises(RemadeTableError):
            source_action(view, lookup)
    else:
        action = source_action(view, lookup)
        assert action is not None
        assert action.texts[0].endswith(ends)


def test_what_is_known_of_left_topics_is_read_as_it_was_written() -> None:
    tables = (LeftTable("u", TableName(("shop",), "old"), "file:/x", TableName(("shop",), "new")),)
    renamed = LeftTopic("srv.old", {0: 4, 11: 7}, tables, "now", "srv.new", 2, done=True)
    dropped = LeftTopic(
        "srv.gone", {0: 1}, (LeftTable("v", TableName((), "a"), "y"),), "now", position=9
    )

    found = read_left_topics(left_topics_property([renamed, dropped]))

    assert found == {"srv.old": renamed, "srv.gone": dropped}
    assert [topic.done for topic in found.values()] == [True, False]
    assert read_left_topics({}) == {}


@pytest.mark.parametrize(("ends", "over"), [({0: 4}, True), ({0: 5}, False), ({0: 4, 1: 1}, False)])
def test_a_left_topic_is_over_until_something_comes(ends: dict[int, int], over: bool) -> None:
    assert LeftTopic("t", {0: 4}, (), "now").is_over(ends) is over
