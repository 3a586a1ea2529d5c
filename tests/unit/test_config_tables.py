"""Which rule holds for which table, what its mirror is called, and what is not applied yet."""

import pickle

import pytest

from cdc.config import (
    ApplyMode,
    ChangeKind,
    DeleteKind,
    Lookup,
    MirrorConfig,
    OnDelete,
    ResolvedRule,
    SchemaChange,
    TableDefaults,
    TableRule,
    TablesConfig,
    TargetConfig,
)
from cdc.config.load import parse_config
from cdc.errors import ConfigError

SMALLEST = """
name = "shop"
[source]
connector = "postgres"
topics = ["shop.public.*"]
[kafka]
"bootstrap.servers" = "localhost:9092"
"""


def load(tables: str) -> MirrorConfig:
    return parse_config(f"{SMALLEST}\n{tables}".encode(), "shop.toml")


def test_a_table_without_a_rule_follows_the_defaults() -> None:
    tables = TablesConfig(defaults=TableDefaults(deletes=DeleteKind.EQUALITY))

    assert tables.rule_for("public", "orders") == ResolvedRule(deletes=DeleteKind.EQUALITY)


def test_a_rule_goes_over_the_defaults_and_leaves_the_rest() -> None:
    tables = TablesConfig(
        defaults=TableDefaults(
            mode=ApplyMode.HISTORY,
            deletes=DeleteKind.EQUALITY,
            on_delete=OnDelete.SOFT,
            schema_change=SchemaChange.FAIL,
        ),
        rules=(TableRule(match="public.orders", mode=ApplyMode.MIRROR, key=("id",)),),
    )

    assert tables.rule_for("public", "orders") == ResolvedRule(
        mode=ApplyMode.MIRROR,
        deletes=DeleteKind.EQUALITY,
        on_delete=OnDelete.SOFT,
        schema_change=SchemaChange.FAIL,
        key=("id",),
    )


def test_a_rule_hands_on_everything_it_sets() -> None:
    rule = TableRule(
        match="public.orders",
        mode=ApplyMode.HISTORY,
        deletes=DeleteKind.EQUALITY,
        on_delete=OnDelete.SOFT,
        schema_change=SchemaChange.LENIENT,
        schema_policies={ChangeKind.DROP_COLUMN: SchemaChange.FAIL},
        schema_allow=(ChangeKind.ADD_COLUMN,),
        schema_deny=(ChangeKind.CHANGE_TYPE,),
        renames={"old": "new"},
        renamed_from="public.purchases",
        partition=("day(at)",),
        exclude=("note",),
        hash=("email",),
        key=("id",),
        types={"payload": "string"},
        lookup=Lookup.MERGE,
        format_version=3,
        max_quarantined=5,
    )

    resolved = TablesConfig(rules=(rule,)).rule_for("public", "orders")

    for name in ResolvedRule.__dataclass_fields__.keys() - {"table"}:
        assert getattr(resolved, name) == getattr(rule, name)


def test_the_first_matching_rule_wins() -> None:
    tables = TablesConfig(
        rules=(
            TableRule(match="public.orders", key=("first",)),
            TableRule(match="public.*", key=("second",)),
            TableRule(match="*.orders", key=("third",)),
        )
    )

    assert tables.rule_for("public", "orders").key == ("first",)
    assert tables.rule_for("public", "items").key == ("second",)
    assert tables.rule_for("sales", "orders").key == ("third",)


@pytest.mark.parametrize(
    ("glob", "schema", "table", "matches"),
    [
        ("public.orders", "public", "orders", True),
        ("public.orders", "public", "orders2", False),
        ("public.orders", "Public", "orders", False),
        ("public.orders", "publicXorders", "", False),
        ("*.*", "public", "orders", True),
        ("public.order_?", "public", "order_1", True),
        ("public.[ab]*", "public", "bills", True),
        ("public.[!ab]*", "public", "bills", False),
        ("shop.my.table", "shop", "my.table", True),
    ],
)
def test_a_rule_is_a_glob_over_schema_and_table(
    glob: str, schema: str, table: str, matches: bool
) -> None:
    tables = TablesConfig(rules=(TableRule(match=glob, key=("id",)),))

    assert bool(tables.rule_for(schema, table).key) is matches


def test_a_resolved_rule_survives_the_way_to_a_worker() -> None:
    rule = ResolvedRule(key=("id",), types={"payload": "string"})

    assert pickle.loads(pickle.dumps(rule)) == rule


@pytest.mark.parametrize(
    ("template", "identifier"),
    [
        ("{database}.{table}", ("shop", "orders")),
        ("lake.{server}.{schema}.{table}_raw", ("lake", "srv", "public", "orders_raw")),
        ("lake.{schema}_{table}", ("lake", "public_orders")),
    ],
)
def test_a_mirror_is_named_after_the_template(template: str, identifier: tuple[str, ...]) -> None:
    target = TargetConfig(table=template)

    named = target.identifier(server="srv", database="shop", schema="public", table="orders")

    assert named == identifier


def test_a_dot_in_a_source_name_opens_no_namespace() -> None:
    named = TargetConfig().identifier(server="s", database="d.b", schema="p", table="my.{table}")

    assert named == ("d.b", "my.{table}")


def test_each_target_of_a_rule_goes_over_the_rule() -> None:
    config = load("""
        [[tables.rules]]
        match = "public.orders"
        exclude = ["note"]
        hash = ["email"]
        deletes = "equality"
        schema_change = "fail"
        targets = [
          { table = "{database}.{table}", schema_change = "lenient" },
          { table = "{database}.{table}_log", mode = "append", exclude = [], hash = ["phone"] },
        ]
    """)

    now, log = config.tables.targets_for("public", "orders")

    assert (now.table, now.mode, now.exclude) == (
        "{database}.{table}",
        ApplyMode.MIRROR,
        ("note",),
    )
    assert (log.table, log.mode, log.exclude) == ("{database}.{table}_log", ApplyMode.APPEND, ())
    assert (now.hash, log.hash) == (("email",), ("phone",))
    assert (now.schema_change, log.schema_change) == (SchemaChange.LENIENT, SchemaChange.FAIL)
    assert now.deletes is log.deletes is DeleteKind.EQUALITY


def test_a_table_without_targets_of_its_own_has_one() -> None:
    (only,) = load("").tables.targets_for("public", "orders")

    assert only == load("").tables.rule_for("public", "orders")
    assert only.table == ""


def test_what_nothing_sets_has_its_default() -> None:
    assert load("").tables.rule_for("public", "orders") == ResolvedRule(
        mode=ApplyMode.MIRROR,
        deletes=DeleteKind.POSITIONAL,
        lookup=Lookup.INDEX,
        on_delete=OnDelete.HARD,
        schema_change=SchemaChange.EVOLVE,
        format_version=2,
        max_quarantined="10%",
    )


@pytest.mark.parametrize(
    ("targets", "problem"),
    [
        ('{ table = "{table}" }', "tables.rules[0].targets[0].table: has no dot"),
        (
            '{ table = "a.{table}" }, { table = "a.{table}" }',
            "tables.rules[0].targets[1].table: is that of another target",
        ),
        (
            '{ table = "a.{table}", format_version = 1 }',
            "targets[0].format_version: must be 2 or 3",
        ),
        ('{ table = "a.{table}", exclude = ["b"], hash = ["b"] }', "targets[0].hash: holds b"),
        ('{ table = "a.{table}", hash = ["b", "b"] }', "targets[0].hash[1]: is there twice"),
        ('{ mode = "append" }', "tables.rules[0].targets[0].table: is missing"),
    ],
)
def test_a_wrong_target_is_told(targets: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(f'[[tables.rules]]\nmatch = "public.a"\ntargets = [{targets}]')

    assert problem in str(caught.value)
