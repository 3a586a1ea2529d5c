"""What became of a source table, and what its rule says of it."""

from dataclasses import replace

import pytest

from cdc.config import ApplyMode, ChangeKind, ResolvedRule, SchemaChange
from cdc.dialect import SourceTables
from cdc.state.names import TOPIC_PROPERTY
from cdc.state.ledger import Ledger
from cdc.model import PartitionMark, SourceTable, Cutoff
from cdc.runtime.follow.source_standing import Fate, Standing, on_drop, on_remake, standing
from cdc.state.left_topics import LeftTable, RetiredTopic, read_retired, retired_property
from cdc.state.names import FORMER_PROPERTY, SOURCE_PROPERTY
from cdc.state.source_identity import Identity, Moment, current_ledger, former_property

ORDERS = SourceTable("srv", "shop", "public", "orders")
KNOWN = Identity("a", 7)
SEEN = Moment("2026-11-17T20:44:47+00:00", 500, 1)


def found(server: str = "a", **numbers: int | None) -> SourceTables:
    return SourceTables(server, {("public", name): n for name, n in numbers.items()})


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [
        (KNOWN, found(orders=7), Standing(Fate.LIVES, KNOWN)),
        (None, found(orders=7), Standing(Fate.LIVES, KNOWN)),
        (KNOWN, found(orders=8), Standing(Fate.REMADE, Identity("a", 8))),
        (KNOWN, found(sales=7), Standing(Fate.RENAMED, KNOWN, ("public", "sales"))),
        (KNOWN, found(sales=8), Standing(Fate.GONE)),
        # Two tables were swapped: the name is what counts.
        (KNOWN, found(orders=8, sales=7), Standing(Fate.REMADE, Identity("a", 8))),
        # Nobody may see the numbers: what is gone may have been renamed.
        (Identity("a", None), found(sales=None), Standing(Fate.MISSING)),
        (Identity("a", None), found(orders=None), Standing(Fate.LIVES, Identity("a", None))),
        # Another server's numbers, and its lack of a table, say nothing.
        (KNOWN, found("b", orders=8), Standing(Fate.LIVES, Identity("b", 8))),
        (KNOWN, found("b", sales=7), Standing(Fate.UNTOLD)),
        (None, found(sales=7), Standing(Fate.UNTOLD)),
        (KNOWN, found(""), Standing(Fate.UNTOLD)),
        # The catalog is of another database.
        (KNOWN, replace(found(), database="other"), Standing(Fate.UNTOLD)),
        (KNOWN, replace(found(), database="shop"), Standing(Fate.GONE)),
    ],
)
def test_the_catalog_tells_what_became_of_a_table(
    known: Identity | None, now: SourceTables, expected: Standing
) -> None:
    assert standing(known, ORDERS, now, lasting=True) == expected


def test_a_new_number_is_no_new_table_where_numbers_change_with_every_rebuild() -> None:
    assert standing(KNOWN, ORDERS, found(orders=8), lasting=False).fate is Fate.LIVES


@pytest.mark.parametrize(
    ("lasting", "number", "fate"),
    [(True, 8, Fate.REMADE), (False, 8, Fate.REMADE), (True, 7, Fate.LIVES)],
)
def test_a_table_that_was_missing_and_is_there_is_another_one(
    lasting: bool, number: int, fate: Fate
) -> None:
    now = found(orders=number)

    assert standing(KNOWN, ORDERS, now, lasting=lasting, dropped=True).fate is fate


def ruled(policy: SchemaChange | None = None, **settings: object) -> ResolvedRule:
    policies = {} if policy is None else {ChangeKind.DROP_TABLE: policy}
    return ResolvedRule(schema_policies=policies, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "fate", "expected"),
    [
        (ruled(), Fate.GONE, "DROP TABLE at the source: stays"),
        (ruled(SchemaChange.LENIENT), Fate.GONE, "DROP TABLE at the source: stays"),
        (ruled(SchemaChange.IGNORE), Fate.GONE, "DROP TABLE at the source: stays"),
        (ruled(SchemaChange.EVOLVE), Fate.GONE, "DROP TABLE"),
        (ruled(SchemaChange.EVOLVE), Fate.MISSING, "DROP TABLE at the source: stays"),
        (
            ruled(SchemaChange.EVOLVE, schema_deny=(ChangeKind.DROP_TABLE,)),
            Fate.GONE,
            "DROP TABLE at the source: stays",
        ),
        (ruled(SchemaChange.FAIL), Fate.GONE, None),
        (ruled(schema_change=SchemaChange.FAIL), Fate.GONE, None),
    ],
)
def test_a_table_goes_only_where_it_is_asked_for_by_name(
    rule: ResolvedRule, fate: Fate, expected: str | None
) -> None:
    assert on_drop(rule, fate) == expected


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
    action = on_remake(rule, seen)

    assert action is None if ends is None else action is not None and action.endswith(ends)


def test_an_identity_is_read_as_it_was_written() -> None:
    for identity in (Identity("uid/with=/slashes", 12), Identity("a", None)):
        assert Identity.read({SOURCE_PROPERTY: str(identity)}) == identity
    assert Identity.read({}) is None


def test_a_ledger_from_before_a_rename_has_nothing_of_the_new_topic() -> None:
    pending = Cutoff(0, 3, 10)
    marks = {0: PartitionMark(9, 90)}
    old = Ledger("shop", "srv.old", 4, marks, pending_cutoff=pending, snapshot=(5, 6))
    properties = {TOPIC_PROPERTY: "srv.new", **former_property(old)}

    found = current_ledger(old, properties)

    assert found is not None
    assert (found.topic, found.batch, found.partitions) == ("srv.new", 4, {})
    assert (found.pending_cutoff, found.snapshot) == (None, (5, 6))
    newer = replace(old, topic="srv.new", batch=5)
    assert current_ledger(newer, properties) is newer


def test_a_table_set_back_to_long_before_its_rename_has_no_ledger() -> None:
    old = Ledger("shop", "srv.old", 3, {0: PartitionMark(9, 90)})

    assert current_ledger(old, {TOPIC_PROPERTY: "srv.new"}) is None
    former = {TOPIC_PROPERTY: "srv.new", FORMER_PROPERTY: '["srv.old", 4]'}
    assert current_ledger(old, former) is None


def test_what_is_known_of_left_topics_is_read_as_it_was_written() -> None:
    tables = (LeftTable("u", ("shop", "old"), "file:/x", ("shop", "new")),)
    renamed = RetiredTopic("srv.old", {0: 4, 11: 7}, tables, "now", "srv.new", 2, done=True)
    dropped = RetiredTopic("srv.gone", {0: 1}, (LeftTable("v", ("a",), "y"),), "now", position=9)

    found = read_retired(retired_property([renamed, dropped]))

    assert found == {"srv.old": renamed, "srv.gone": dropped}
    assert [topic.done for topic in found.values()] == [True, False]
    assert read_retired({}) == {}


@pytest.mark.parametrize(("ends", "over"), [({0: 4}, True), ({0: 5}, False), ({0: 4, 1: 1}, False)])
def test_a_left_topic_is_over_until_something_comes(ends: dict[int, int], over: bool) -> None:
    assert RetiredTopic("t", {0: 4}, (), "now").is_over(ends) is over
