"""Which new tables of a source are tables that got another name."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import BooleanType, NestedField

from cdc.config import (
    ApplyMode,
    ChangeKind,
    OnDelete,
    ResolvedRule,
    SchemaChange,
    TargetConfig,
)
from cdc.config.load import parse_config
from cdc.dialect import SourceTables
from cdc.errors import (
    ExcludedColumnError,
    ForeignTableError,
    OtherModeError,
    PartitionError,
    RenamedTableError,
)
from cdc.model import PartitionMark, SourceTable, TableName
from cdc.runtime.follow.actions import Rename
from cdc.runtime.follow.source_decisions import (
    Arrival,
    RenameDecisions,
    SourceLookup,
    SourceTableState,
    former_source,
    rename_policy,
)
from cdc.schema import target_name
from cdc.state.ledger import Ledger
from cdc.state.source_identity import Identity
from cdc.state.table_view import TableView
from tests.unit.table_views import SCHEMA, a_view

CONFIG = """
name = "shop"
[source]
connector = "postgres"
topics = ["srv.*"]
[kafka]
"bootstrap.servers" = "localhost:9092"
"""
ORDERS = SourceTable("srv", "shop", "public", "orders")
SALES = SourceTable("srv", "shop", "public", "sales")
BILLS = SourceTable("srv", "shop", "public", "bills")
KNOWN = Identity("a", 7)
TO_SALES = SourceLookup(SourceTableState.RENAMED, KNOWN, ("public", "sales"))
THERE = SourceLookup(SourceTableState.THERE, KNOWN)
ARRIVAL = Arrival("srv.public.sales", SALES)
TOLD = replace(ARRIVAL, renamed_from="public.orders")


def view(name: str = "orders", topic: str = "srv.public.orders", **more: object) -> TableView:
    return a_view(topic=topic, source=ORDERS, name=name, **more)  # type: ignore[arg-type]


def there_are(*tables: str) -> SourceTables:
    return SourceTables("a", {("public", name): None for name in tables})


def decisions(
    *views: TableView,
    lookups: Mapping[str, SourceLookup] | None = None,
    found: SourceTables | None = None,
    more: str = "",
) -> RenameDecisions:
    """Look at some tables; all were renamed to sales unless `lookups` says something else."""
    config = parse_config((CONFIG + more).encode(), Path("/shop.toml"))
    seen = {v.name: (lookups or {}).get(v.name.table, TO_SALES) for v in views}
    return RenameDecisions(config, views, seen, found)


def ruled(policy: SchemaChange) -> ResolvedRule:
    return ResolvedRule(schema_policies={ChangeKind.RENAME_TABLE: policy})


# What a table was called


def test_the_catalog_tells_which_table_a_source_was() -> None:
    former = view()

    assert decisions(former).former(ARRIVAL) == [former]


def test_all_tables_of_a_renamed_source_go_on() -> None:
    log = view("orders_log")
    other = replace(view("other", "srv.public.other"), source=BILLS)

    found = decisions(view(), other, log, lookups={"other": THERE}).former(ARRIVAL)

    assert found == [view(), log]


@pytest.mark.parametrize(
    "lookup",
    [
        THERE,
        SourceLookup(SourceTableState.DROPPED),
        SourceLookup(SourceTableState.UNKNOWN),
        SourceLookup(SourceTableState.RENAMED, KNOWN, ("public", "bills")),
        SourceLookup(SourceTableState.RENAMED, KNOWN, ("archive", "sales")),
        # Nothing but a table that has gone from its name is told by its new one.
        SourceLookup(SourceTableState.REPLACED, KNOWN, ("public", "sales")),
    ],
)
def test_what_is_there_or_went_elsewhere_was_not_the_source(lookup: SourceLookup) -> None:
    assert decisions(view(), lookups={"orders": lookup}).former(ARRIVAL) == []


def test_a_table_that_has_the_topic_already_was_not_renamed_to_it() -> None:
    assert decisions(view(topic=ARRIVAL.topic)).former(ARRIVAL) == []


def test_the_config_tells_a_name_where_the_catalog_tells_none() -> None:
    unknown = {"orders": SourceLookup(SourceTableState.UNKNOWN)}
    other = replace(view("other"), source=BILLS)

    assert decisions(view(), other, lookups=unknown).former(TOLD) == [view()]


def test_the_config_may_name_what_is_long_done() -> None:
    unknown = {"sales": SourceLookup(SourceTableState.UNKNOWN)}
    turned = view("sales", ARRIVAL.topic)

    assert decisions(turned, lookups=unknown, found=there_are("orders")).former(TOLD) == []


def test_the_config_may_tell_a_name_that_the_catalog_lacks() -> None:
    assert decisions(view(), found=there_are("sales")).former(TOLD) == [view()]


def test_the_config_may_not_tell_a_name_that_its_table_still_has() -> None:
    seen = decisions(view(), found=there_are("sales", "orders"))

    with pytest.raises(RenamedTableError) as caught:
        seen.former(TOLD)

    assert (caught.value.source, caught.value.former) == ("public.sales", "public.orders")
    assert "still there" in caught.value.reason


@pytest.mark.parametrize(
    ("source", "former"),
    [
        (SALES, SourceTable("srv", "shop", "archive", "orders")),
        # Where there are no schemas, the database has their place.
        (
            SourceTable("srv", "shop", "shop", "sales"),
            SourceTable("srv", "archive", "archive", "orders"),
        ),
    ],
)
def test_a_former_name_is_of_the_same_server(source: SourceTable, former: SourceTable) -> None:
    assert former_source(source, "archive.orders") == former


# Names in between


@pytest.mark.parametrize(
    ("found", "passing"),
    [
        (there_are("bills"), True),
        (there_are("bills", "sales"), False),  # it is a table of today
        (None, False),  # nobody tells
        (replace(there_are("bills"), database="another"), False),
    ],
)
def test_a_name_that_the_catalog_lacks_may_have_been_in_between(
    found: SourceTables | None, passing: bool
) -> None:
    to_bills = SourceLookup(SourceTableState.RENAMED, KNOWN, ("public", "bills"))
    seen = decisions(
        view(), view("other"), lookups={"orders": to_bills, "other": THERE}, found=found
    )

    assert seen.may_be_passing(SALES) == ([view()] if passing else [])


def test_a_source_that_may_have_been_in_between_is_parked() -> None:
    to_bills = SourceLookup(SourceTableState.RENAMED, KNOWN, ("public", "bills"))
    seen = decisions(view(), lookups={"orders": to_bills}, found=there_are("bills"))

    with pytest.raises(RenamedTableError) as caught:
        seen.decide(ARRIVAL, [])

    assert (caught.value.source, caught.value.former) == ("public.sales", "another table")
    assert "a name that one had in between" in caught.value.reason
    assert "renamed_from" in caught.value.reason


@pytest.mark.parametrize("found", [None, there_are("bills"), there_are("sales", "orders")])
def test_where_nothing_was_renamed_a_source_is_new(found: SourceTables | None) -> None:
    seen = decisions(view(), lookups={"orders": THERE}, found=found)

    assert seen.decide(ARRIVAL, [BILLS]) == []


# Whether it is followed


def test_a_renamed_table_is_followed() -> None:
    assert decisions(view(), found=there_are("sales")).decide(ARRIVAL, [SALES]) == [view()]


@pytest.mark.parametrize("policy", [SchemaChange.EVOLVE, SchemaChange.LENIENT])
def test_policies_that_follow(policy: SchemaChange) -> None:
    former = view(rule=ruled(policy))

    assert rename_policy([former], SALES) is policy
    assert decisions(former).decide(ARRIVAL, []) == [former]


def test_a_rename_that_is_ignored_makes_another_table() -> None:
    # Its first record is older than what is applied, which would be refused otherwise.
    former = view(rule=ruled(SchemaChange.IGNORE), ledger=applied(500))

    assert decisions(former).decide(replace(ARRIVAL, first_position=1), []) == []


def test_a_rename_that_fails_parks_the_new_name() -> None:
    with pytest.raises(RenamedTableError) as caught:
        decisions(view(rule=ruled(SchemaChange.FAIL))).decide(ARRIVAL, [])

    assert (caught.value.source, caught.value.former) == ("public.sales", "public.orders")
    assert "rename_table is fail" in caught.value.reason


def applied(*positions: int) -> Ledger:
    marks = {number: PartitionMark(9, position) for number, position in enumerate(positions)}
    return Ledger("shop", "srv.public.orders", 3, marks)


@pytest.mark.parametrize(
    ("first", "is_older"),
    [(-1, False), (0, True), (499, True), (500, True), (501, False)],
)
def test_a_topic_with_records_from_before_is_of_another_table(first: int, is_older: bool) -> None:
    former = [view(ledger=applied(1)), view("orders_log", ledger=applied(7, 500, 300))]
    arrival = replace(ARRIVAL, first_position=first)

    if not is_older:
        assert decisions(*former).decide(arrival, []) == former
        return
    with pytest.raises(RenamedTableError) as caught:
        decisions(*former).decide(arrival, [])
    assert "srv.public.sales holds records from before" in caught.value.reason


def test_a_table_without_rows_has_nothing_from_before() -> None:
    assert decisions(view()).decide(replace(ARRIVAL, first_position=0), []) == [view()]


def test_a_topic_that_was_left_is_read_from_where_it_was() -> None:
    former = view(ledger=applied(500))
    arrival = replace(ARRIVAL, first_position=1, was_left=True)

    assert decisions(former).decide(arrival, []) == [former]


def test_where_another_name_may_have_been_in_between_nobody_can_tell_the_order() -> None:
    seen = decisions(view(), found=there_are("sales"))

    with pytest.raises(RenamedTableError) as caught:
        seen.decide(ARRIVAL, [SALES, BILLS])

    assert "it may have been public.bills in between" in caught.value.reason
    assert caught.value.former == "public.orders"


def test_what_the_config_tells_needs_no_guess() -> None:
    seen = decisions(view(), found=there_are("sales"))

    assert seen.decide(TOLD, [SALES, BILLS]) == [view()]


# The names that tables get


def name_of(rule: ResolvedRule, source: SourceTable) -> TableName:
    return target_name(TargetConfig(table=rule.table) if rule.table else TargetConfig(), source)


def free(name: TableName) -> bool:
    return False


def renames(seen: RenameDecisions, *views: TableView) -> list[Rename]:
    return seen.renames(views, ARRIVAL, name_of, free)


def refused(seen: RenameDecisions, *views: TableView, taken: TableName | None = None) -> str:
    with pytest.raises(RenamedTableError) as caught:
        seen.renames(views, ARRIVAL, name_of, lambda name: name == taken)
    assert (caught.value.source, caught.value.former) == ("public.sales", "public.orders")
    return caught.value.reason


SALES_TABLE = TableName(("shop",), "sales")
SEVERAL = """
[[tables.rules]]
match = "public.sales"
targets = [
  { table = "{database}.{table}_log", mode = "append" },
  { table = "{database}.{table}" },
  { table = "{database}.{table}_kept", on_delete = "soft" },
]
"""


def test_a_table_gets_the_name_that_its_new_rule_makes() -> None:
    found = renames(decisions(view()), view())

    assert found == [Rename(TableName(("shop",), "orders"), SALES_TABLE)]


def test_each_of_several_tables_gets_that_of_the_target_that_is_like_it() -> None:
    own = [NestedField(9, name, BooleanType()) for name in ("_mirror_deleted",)]
    current = view(rule=ResolvedRule(table="{database}.{table}"))
    kept = view(
        "orders_kept",
        rule=ResolvedRule(table="{database}.{table}_kept", on_delete=OnDelete.SOFT),
        schema=Schema(*SCHEMA.fields, *own),
    )

    found = renames(decisions(current, kept, more=SEVERAL), kept, current)

    assert [str(rename.new) for rename in found] == ["shop.sales_kept", "shop.sales"]


@pytest.mark.parametrize(
    "rule",
    [
        ResolvedRule(),  # it was named by target.table
        ResolvedRule(table="{database}.{table}_log"),
        ResolvedRule(table="{database}.{table}", mode=ApplyMode.APPEND),
        ResolvedRule(table="{database}.{table}", on_delete=OnDelete.SOFT),
    ],
)
def test_a_table_that_no_target_is_like_is_not_renamed(rule: ResolvedRule) -> None:
    former = view(rule=rule)

    reason = refused(decisions(former, more=SEVERAL), former)

    assert reason == "no target of its new rule is like shop.orders"


def test_a_name_that_is_taken_is_not_given() -> None:
    reason = refused(decisions(view()), view(), taken=SALES_TABLE)

    assert reason == "there is a table shop.sales already"


def test_a_hadoop_catalog_renames_no_tables() -> None:
    hadoop = decisions(view(), more='[catalog]\ntype = "hadoop"\nwarehouse = "/lake"')

    assert refused(hadoop, view()) == "a hadoop catalog renames no tables"


def test_a_table_whose_name_stays_is_asked_for_no_other() -> None:
    arrival = Arrival("srv.archive.orders", SourceTable("srv", "shop", "archive", "orders"))
    seen = decisions(view(), more='[catalog]\ntype = "hadoop"\nwarehouse = "/lake"')

    # The name is taken, by itself; and a hadoop catalog has nothing to rename.
    found = seen.renames([view()], arrival, name_of, lambda name: True)

    assert found == [Rename(view().name, view().name)]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ('exclude = ["name"]', ExcludedColumnError),
        ('partition = ["day(created_at)"]', PartitionError),
    ],
)
def test_a_table_that_is_not_what_its_new_rule_says_is_not_renamed(
    more: str, error: type[Exception]
) -> None:
    rule = f'[[tables.rules]]\nmatch = "public.sales"\n{more}'

    with pytest.raises(error):
        renames(decisions(view(), more=rule), view())


def test_a_table_that_was_made_for_another_mode_is_not_renamed() -> None:
    former = view(schema=Schema(*SCHEMA.fields, NestedField(9, "_mirror_deleted", BooleanType())))

    with pytest.raises(OtherModeError):
        renames(decisions(former), former)


def test_a_table_of_another_mirror_is_not_renamed() -> None:
    former = view(state={"mirror": "another"})

    with pytest.raises(ForeignTableError):
        renames(decisions(former), former)
