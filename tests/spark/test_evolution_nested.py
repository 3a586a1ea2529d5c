"""What policies make of changes inside structs, lists of structs and maps of structs."""

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdc.errors import SchemaChangeError
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import Block, Table, column, insert

X, LONG_X, TEXT_X = column("x"), column("x", "int64"), column("x", "string")
Y = column("y", "string")


@pytest.fixture
def bench(request: pytest.FixtureRequest, spark: SparkSession, configure: Configure) -> Bench:
    policy: str = request.getfixturevalue("policy")
    rule = f'[[tables.rules]]\nmatch = "public.orders"\nschema_change = "{policy}"'
    return Bench(spark, configure(more=rule))


def nested(table: Table, *members: Block) -> Table:
    """Give a table a struct, a list of them, a map of them, and a list of them in a struct."""
    struct = {"type": "struct", "fields": list(members), "optional": True}
    text = {"type": "string", "optional": False}
    columns = (
        column("one", "struct", fields=list(members)),
        column("many", "array", items=struct),
        column("named", "map", keys=text, values=struct),
        column("deep", "struct", fields=[column("inner", "array", items=struct)]),
    )
    return replace(table, columns=(table.columns[0], *columns))


def values(member: dict[str, Any]) -> dict[str, Any]:
    """Put a struct where each of the columns has one."""
    return {
        "one": member,
        "many": [member, None],
        "named": {"a": member},
        "deep": {"inner": [member]},
    }


def read(bench: Bench, table: Table) -> list[dict[str, Any]]:
    """Read the rows; a map as its messages have it."""
    return [row | {"named": dict(row["named"])} for row in bench.rows(f"{table.server}.orders")]


@pytest.mark.parametrize(
    ("policy", "first", "second"),
    [
        ("evolve", {"x": 1, "y": None}, {"x": 2**40, "y": "b"}),
        ("lenient", {"x": 1, "y": None}, {"x": 2**40, "y": "b"}),
        ("ignore", {"x": 1}, {"x": 3}),
        ("fail", {"x": 1}, None),
    ],
)
def test_members_that_structs_got_at_any_depth_follow_the_policy(
    bench: Bench,
    table: Table,
    policy: str,
    first: dict[str, Any],
    second: dict[str, Any] | None,
) -> None:
    large = nested(table, Y, X if policy == "ignore" else LONG_X)
    sent = {"x": 3 if policy == "ignore" else 2**40, "y": "b"}
    bench.apply(insert({"id": 1, **values({"x": 1})}, table=nested(table, X), offset=0))

    bench.apply(insert({"id": 2, **values(sent)}, table=large, offset=1))

    expected = [first] if second is None else [first, second]
    assert read(bench, table) == [{"id": n, **values(v)} for n, v in enumerate(expected, 1)]
    assert bool(bench.parked) == (policy == "fail")


@pytest.mark.parametrize(("policy", "parked"), [("ignore", False), ("fail", True)])
def test_a_wider_member_that_may_not_be_followed_leaves_the_table_as_it_is(
    bench: Bench, table: Table, policy: str, parked: bool
) -> None:
    bench.apply(insert({"id": 1, **values({"x": 1})}, table=nested(table, X), offset=0))

    progress = bench.apply(
        insert({"id": 2, **values({"x": 2**40})}, table=nested(table, LONG_X), offset=1)
    )

    assert read(bench, table) == [{"id": 1, **values({"x": 1})}]
    assert (bool(bench.parked), progress.account.quarantined) == (parked, 0 if parked else 1)


@pytest.mark.parametrize("policy", ["evolve", "fail"])
def test_a_member_of_another_type_parks_the_table(bench: Bench, table: Table, policy: str) -> None:
    bench.apply(insert({"id": 1, **values({"x": 1})}, table=nested(table, X), offset=0))

    bench.apply(insert({"id": 2, **values({"x": "b"})}, table=nested(table, TEXT_X), offset=1))

    (reason,) = bench.parked.values()
    assert isinstance(reason, SchemaChangeError)
    assert len(reason.changes) == 4
    assert read(bench, table) == [{"id": 1, **values({"x": 1})}]


@pytest.mark.parametrize("policy", ["ignore"])
def test_a_member_of_another_type_that_is_ignored_goes_into_quarantine(
    bench: Bench, table: Table, policy: str
) -> None:
    bench.apply(insert({"id": 1, **values({"x": 1})}, table=nested(table, X), offset=0))

    progress = bench.apply(
        insert({"id": 2, **values({"x": "b"})}, table=nested(table, TEXT_X), offset=1)
    )

    assert progress.account.quarantined == 1
    assert read(bench, table) == [{"id": 1, **values({"x": 1})}]


@pytest.mark.parametrize("policy", ["lenient"])
def test_a_member_of_another_type_leaves_the_whole_column_under_a_dated_name(
    bench: Bench, table: Table, policy: str
) -> None:
    bench.apply(insert({"id": 1, **values({"x": 1})}, table=nested(table, X), offset=0))

    bench.apply(insert({"id": 2, **values({"x": "b"})}, table=nested(table, TEXT_X), offset=1))

    rows = bench.rows(f"{table.server}.orders")
    old = {name: [n for n in rows[0] if n.startswith(f"{name}_")] for name in values({})}
    assert all(len(names) == 1 for names in old.values())
    for name, value in values({"x": 1}).items():
        dated = rows[0][old[name][0]]
        assert (dict(dated) if name == "named" else dated) == value
        assert (rows[0][name], rows[1][old[name][0]]) == (None, None)
    for name, value in values({"x": "b"}).items():
        assert (dict(rows[1][name]) if name == "named" else rows[1][name]) == value
