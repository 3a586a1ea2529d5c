"""The grammar of `partition` in a rule."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdc.config import TableRule, partition_fields
from cdc.config.checks import Misfit
from cdc.config.partitioning import NUMBERED, TRANSFORMS, parse_partition_field
from cdc.config.table_rules import TargetRule
from cdc.errors import Problem
from cdc.model import PartitionField


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("status", PartitionField("identity", "status")),
        ("  status ", PartitionField("identity", "status")),
        ("odd name", PartitionField("identity", "odd name")),
        ("`odd name`", PartitionField("identity", "odd name")),
        ("`day(x)`", PartitionField("identity", "day(x)")),
        ("`a``b`", PartitionField("identity", "a`b")),
        ("größe", PartitionField("identity", "größe")),
        ("a.b", PartitionField("identity", "a.b")),
        ("day", PartitionField("identity", "day")),
        ("identity(status)", PartitionField("identity", "status")),
        ("year(x)", PartitionField("year", "x")),
        ("months(x)", PartitionField("month", "x")),
        ("DAY( created_at )", PartitionField("day", "created_at")),
        ("hour(`odd, name`)", PartitionField("hour", "odd, name")),
        ("day (x)", PartitionField("day", "x")),
        ("bucket(16, id)", PartitionField("bucket", "id", 16)),
        ("bucket(id,16)", PartitionField("bucket", "id", 16)),
        ("bucket(16, 4)", PartitionField("bucket", "4", 16)),
        ("bucket(`16`, 4)", PartitionField("bucket", "16", 4)),
        ("truncate(4, `a,b`)", PartitionField("truncate", "a,b", 4)),
        ("truncate(2147483647, x)", PartitionField("truncate", "x", 2**31 - 1)),
    ],
)
def test_a_field_is_read(text: str, field: PartitionField) -> None:
    assert parse_partition_field(text) == field


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("dya(x)", "unknown transform dya"),
        ("void(x)", "unknown transform void"),
        ("day()", "no partition field"),
        ("day(x", "no partition field"),
        ("day(x))", "no partition field"),
        ("day(month(x))", "no partition field"),
        ("``", "no partition field"),
        ("`a", "no partition field"),
        ("a, b", "no partition field"),
        ("day(x, y)", "two arguments"),
        ("bucket(id)", "only one argument"),
        ("bucket(16, id, 3)", "no partition field"),
        ("bucket(n, id)", "no number"),
        ("bucket(0, id)", "the number 0"),
        ("truncate(-1, id)", "the number -1"),
        ("truncate(2147483648, id)", "the number 2147483648"),
        ("bucket(1.5, id)", "no number"),
        ("bucket(`16`, id)", "no number"),
    ],
)
def test_what_is_no_field_is_refused_with_advice(text: str, part: str) -> None:
    with pytest.raises(Misfit) as caught:
        parse_partition_field(text)

    (problem,) = caught.value.problems
    assert part in problem.text
    assert problem.advice


def test_a_misspelt_transform_is_guessed() -> None:
    with pytest.raises(Misfit) as caught:
        parse_partition_field("buckets(4, id)")

    assert caught.value.problems[0].advice == "Did you mean bucket?"


def test_all_problems_of_the_setting_are_told_with_their_places() -> None:
    with pytest.raises(Misfit) as caught:
        TableRule(match="a.b", partition=("day(x)", "dya(x)", "hour(x)", "s", "`s`", "bucket(x)"))

    assert [problem.path for problem in caught.value.problems] == [
        "partition.[1]",
        "partition.[2]",
        "partition.[4]",
        "partition.[5]",
    ]


def test_two_times_of_one_column_are_redundant() -> None:
    with pytest.raises(Misfit) as caught:
        TableRule(match="a.b", partition=("hour(at)", "day(at)"))

    assert caught.value.problems == (
        Problem(
            "partition.[1]",
            "is redundant: hour(at) is a time of the same column",
            "Keep the finer one, hour.",
        ),
    )


@pytest.mark.parametrize(
    "texts",
    [
        ("day(a)", "day(b)"),
        ("day(a)", "a", "bucket(4, a)"),
        ("bucket(4, a)", "bucket(8, a)"),
        ("truncate(4, a)", "truncate(8, a)"),
    ],
)
def test_fields_that_differ_stand_beside_each_other(texts: tuple[str, ...]) -> None:
    rule = TableRule(match="a.b", partition=texts)

    assert rule.partition is not None
    assert [str(field) for field in partition_fields(rule.partition)] == list(texts)


def test_a_target_has_partition_fields_of_its_own() -> None:
    with pytest.raises(Misfit) as caught:
        TargetRule(table="a.{table}", partition=("dya(x)",))

    assert [problem.path for problem in caught.value.problems] == ["partition.[0]"]
    assert TargetRule(table="a.{table}").partition is None


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@settings(deadline=None)  # a busy machine is no failure
@given(st.sampled_from(TRANSFORMS), names, st.integers(1, 2**31 - 1))
def test_any_column_can_be_named_in_backticks(transform: str, name: str, number: int) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    numbered = transform in NUMBERED
    text = f"{transform}({number}, {quoted})" if numbered else f"{transform}({quoted})"

    fields = partition_fields([text])

    assert fields == (PartitionField(transform, name, number if numbered else None),)


@settings(deadline=None)  # a busy machine is no failure
@given(st.text())
def test_any_other_text_is_refused_or_read_and_nothing_else(text: str) -> None:
    try:
        field = parse_partition_field(text)
    except Misfit:
        return
    assert field.column
    assert field.transform in TRANSFORMS
