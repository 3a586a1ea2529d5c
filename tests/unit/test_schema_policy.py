"""What a table does about each kind of change, under each policy."""

from dataclasses import replace

import pytest
from pyiceberg.types import IcebergType, LongType, StringType

from cdc.config import ChangeKind, ResolvedRule, SchemaChange
from cdc.model.column_steps import ColumnStep
from cdc.schema import ColumnChange, Decision, SchemaDifference, decide, statement

KEY = ("id",)
ADD = ColumnChange(ChangeKind.ADD_COLUMN, ("c",), new=StringType(), after="b")
DROP = ColumnChange(ChangeKind.DROP_COLUMN, ("c",), old=StringType())
RENAME = ColumnChange(ChangeKind.RENAME_COLUMN, ("b",), to="c")
WIDEN = ColumnChange(ChangeKind.WIDEN_TYPE, ("b",), new=LongType())
CHANGE = ColumnChange(ChangeKind.CHANGE_TYPE, ("b",), LongType(), StringType())
NULLABLE = ColumnChange(ChangeKind.NULLABILITY, ("id",))
EVOLVE, LENIENT, IGNORE, FAIL = SchemaChange


def decided(
    change: ColumnChange,
    rule: ResolvedRule,
    partitioned: tuple[str, ...] = (),
    taken: tuple[str, ...] = ("id", "b"),
) -> Decision:
    return decide(SchemaDifference((change,), KEY, KEY), rule, taken, partitioned, "20260131")


def statements(decision: Decision) -> list[str]:
    steps: list[ColumnStep] = [step for _, taken in decision.steps for step in taken]
    return [statement(step) for step in steps]


@pytest.mark.parametrize(
    ("change", "policy", "expected"),
    [
        (ADD, EVOLVE, ["ADD COLUMN c string AFTER b"]),
        (ADD, LENIENT, ["ADD COLUMN c string AFTER b"]),
        (ADD, IGNORE, []),
        (DROP, EVOLVE, ["DROP COLUMN c"]),
        (DROP, LENIENT, []),
        (DROP, IGNORE, []),
        (RENAME, EVOLVE, ["RENAME COLUMN b TO c"]),
        (RENAME, LENIENT, ["RENAME COLUMN b TO c"]),
        (RENAME, IGNORE, []),
        (WIDEN, EVOLVE, ["ALTER COLUMN b TYPE long"]),
        (WIDEN, LENIENT, ["ALTER COLUMN b TYPE long"]),
        (WIDEN, IGNORE, []),
        (NULLABLE, EVOLVE, ["ALTER COLUMN id DROP NOT NULL"]),
        (NULLABLE, LENIENT, ["ALTER COLUMN id DROP NOT NULL"]),
        (NULLABLE, IGNORE, []),
        (
            CHANGE,
            LENIENT,
            ["RENAME COLUMN b TO b_20260131", "ADD COLUMN b string AFTER b_20260131"],
        ),
        (CHANGE, IGNORE, []),
    ],
    ids=str,
)
def test_a_policy_says_what_is_done(
    change: ColumnChange, policy: SchemaChange, expected: list[str]
) -> None:
    decision = decided(change, ResolvedRule(schema_change=policy))

    assert statements(decision) == expected
    assert decision.refused == ()


@pytest.mark.parametrize("change", [ADD, DROP, RENAME, WIDEN, CHANGE, NULLABLE], ids=str)
def test_fail_refuses_every_change(change: ColumnChange) -> None:
    decision = decided(change, ResolvedRule(schema_change=FAIL))

    assert decision == Decision((), (str(change),))


def test_evolve_refuses_what_iceberg_cannot_do_without_rewriting() -> None:
    assert decided(CHANGE, ResolvedRule()).refused == ("b from long to string",)


@pytest.mark.parametrize("policy", [EVOLVE, LENIENT, IGNORE])
def test_another_type_in_the_key_is_refused(policy: SchemaChange) -> None:
    change = ColumnChange(ChangeKind.CHANGE_TYPE, ("id",), LongType(), StringType())

    assert decided(change, ResolvedRule(schema_change=policy)).refused


def another_key(*new: str, rule: ResolvedRule) -> Decision:
    change = ColumnChange(ChangeKind.CHANGE_KEY, new, old_key=KEY)
    return decide(SchemaDifference((change,), KEY, new), rule, (), (), "20260131")


@pytest.mark.parametrize("policy", [EVOLVE, LENIENT])
def test_another_key_is_followed(policy: SchemaChange) -> None:
    rule = ResolvedRule(schema_change=policy)

    assert statements(another_key("id", "b", rule=rule)) == ["SET KEY (id, b)"]
    assert statements(another_key("b", rule=rule)) == [
        "SET KEY (b)",
        "ALTER COLUMN id DROP NOT NULL",
    ]


@pytest.mark.parametrize(
    "rule",
    [
        ResolvedRule(schema_change=IGNORE),
        ResolvedRule(schema_change=FAIL),
        ResolvedRule(schema_deny=(ChangeKind.CHANGE_KEY,)),
        ResolvedRule(key=("id", "b")),  # the config's own is not the source's word
    ],
    ids=str,
)
def test_another_key_is_refused_where_it_may_not_be_followed(rule: ResolvedRule) -> None:
    decision = another_key("id", "b", rule=rule)

    assert decision.refused == ("its key from (id) to (id, b)",)
    assert not decision.new_key


def test_a_column_that_was_in_the_key_is_not_dropped() -> None:
    leaves = SchemaDifference((replace(DROP, path=("id",)),), KEY, ("b",))
    left = SchemaDifference((DROP,), KEY, KEY)

    assert decide(leaves, ResolvedRule(), (), (), "20260131") == Decision((), ())
    assert decide(left, ResolvedRule(), (), (), "20260131", ("c",)) == Decision((), ())
    assert decide(left, ResolvedRule(), (), (), "20260131").steps


def test_a_column_that_partitions_the_table_is_not_dropped() -> None:
    assert decided(DROP, ResolvedRule(), partitioned=("c",)) == Decision((), ())


def test_a_dated_name_that_is_taken_gets_a_number() -> None:
    taken = ("id", "b", "b_20260131", "b_20260131_2")

    decision = decided(CHANGE, ResolvedRule(schema_change=LENIENT), taken=taken)

    assert statements(decision)[0] == "RENAME COLUMN b TO b_20260131_3"


def test_a_policy_for_one_kind_goes_over_that_for_all() -> None:
    policies = {ChangeKind.DROP_COLUMN: IGNORE, ChangeKind.CHANGE_TYPE: LENIENT}
    rule = ResolvedRule(schema_policies=policies)

    assert statements(decided(DROP, rule)) == []
    assert len(statements(decided(CHANGE, rule))) == 2
    assert len(statements(decided(ADD, rule))) == 1


@pytest.mark.parametrize(
    "rule",
    [
        ResolvedRule(schema_deny=(ChangeKind.DROP_COLUMN,)),
        ResolvedRule(schema_allow=(ChangeKind.ADD_COLUMN,)),
        ResolvedRule(schema_allow=(ChangeKind.ADD_COLUMN,), schema_change=FAIL),
    ],
)
def test_what_is_not_allowed_is_not_followed(rule: ResolvedRule) -> None:
    assert decided(DROP, rule) == Decision((), ())


@pytest.mark.parametrize("kind", [StringType(), LongType()], ids=str)
def test_a_part_of_a_column_is_named_by_its_path(kind: IcebergType) -> None:
    change = ColumnChange(ChangeKind.ADD_COLUMN, ("b", "x"), new=kind)

    assert statements(decided(change, ResolvedRule())) == [f"ADD COLUMN b.x {kind}"]
