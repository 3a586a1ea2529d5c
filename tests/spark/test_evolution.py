"""Tables that follow their source's columns, by policy, through real Spark and Iceberg."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdc.errors import SchemaChangeError
from cdc.state.schema_log import read_log
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import (
    ORDERS,
    Block,
    Table,
    column,
    decimal,
    decimal_column,
    delete,
    insert,
    update,
)

Open = Callable[..., Bench]
Rows = list[dict[str, Any]]


@pytest.fixture
def table() -> Table:
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")


@pytest.fixture(params=["positional", "equality"])
def open_bench(request: pytest.FixtureRequest, spark: SparkSession, configure: Configure) -> Open:
    """Start a mirror; a second one is a restart, which knows only what the tables tell."""

    def open_bench(*settings: str, mode: str = "mirror") -> Bench:
        lines = ["[[tables.rules]]", 'match = "public.orders"', f'mode = "{mode}"']
        return Bench(
            spark, configure(more="\n".join([*lines, f'deletes = "{request.param}"', *settings]))
        )

    return open_bench


def with_columns(table: Table, *blocks: Block) -> Table:
    """Give a table the key and these columns."""
    return replace(table, columns=(table.columns[0], *blocks))


def rows(bench: Bench, table: Table) -> Rows:
    return bench.rows(f"{table.server}.orders")


def columns(bench: Bench, table: Table) -> list[str]:
    return bench.table(table.topic).table.schema.column_names


NAME = column("name", "string")


def test_a_column_that_the_source_dropped_is_dropped_and_older_changes_do_not_bring_it_back(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench()
    wide = with_columns(table, NAME, column("size"))
    bench.apply(insert({"id": 1, "name": "a", "size": 1}, table=wide, offset=0, lsn=10))

    bench.apply(
        insert({"id": 2, "name": "b", "size": 2}, table=wide, offset=1, lsn=20),
        insert({"id": 3, "name": "c"}, table=table, offset=2, lsn=40),
        insert({"id": 4, "name": "late", "size": 4}, table=wide, partition=1, offset=0, lsn=30),
    )
    again = open_bench()
    again.apply(
        insert({"id": 5, "name": "e", "size": 5}, table=wide, partition=1, offset=1, lsn=35)
    )

    assert rows(again, table) == [
        {"id": 1, "name": "a"},
        {"id": 2, "name": "b"},
        {"id": 3, "name": "c"},
        {"id": 4, "name": "late"},
        {"id": 5, "name": "e"},
    ]


def test_an_older_schema_that_comes_later_drops_nothing(open_bench: Open, table: Table) -> None:
    bench = open_bench()
    wide = with_columns(table, NAME, column("size"))
    bench.apply(insert({"id": 1, "name": "a", "size": 1}, table=wide, offset=0, lsn=50))

    bench.apply(insert({"id": 2, "name": "b"}, table=table, partition=1, offset=0, lsn=10))

    assert rows(bench, table) == [
        {"id": 1, "name": "a", "size": 1},
        {"id": 2, "name": "b", "size": None},
    ]


def test_a_renamed_column_keeps_its_values_and_takes_those_of_older_changes(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench('renames = { name = "title" }')
    titled = with_columns(table, column("title", "string"))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10))

    bench.apply(
        update({"id": 1, "name": "b"}, table=table, offset=1, lsn=20),
        insert({"id": 2, "title": "c"}, table=titled, offset=2, lsn=40),
        insert({"id": 3, "name": "late"}, table=table, partition=1, offset=0, lsn=30),
    )
    again = open_bench('renames = { name = "title" }')
    again.apply(delete({"id": 3}, table=table, partition=1, offset=1, lsn=35))

    assert rows(again, table) == [{"id": 1, "title": "b"}, {"id": 2, "title": "c"}]


def test_a_renamed_key_column_is_the_key_still(open_bench: Open, table: Table) -> None:
    bench = open_bench('renames = { id = "number" }')
    other = replace(
        table, columns=(column("number", "int64", optional=False), NAME), key=("number",)
    )
    bench.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10),
        insert({"id": 2, "name": "b"}, table=table, offset=1, lsn=20),
    )

    bench.apply(
        delete({"id": 2}, table=table, offset=2, lsn=30),
        update({"number": 1, "name": "c"}, table=other, offset=3, lsn=40),
    )

    assert rows(bench, table) == [{"number": 1, "name": "c"}]


def test_without_anybody_who_knows_a_new_name_is_a_new_column(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench()
    titled = with_columns(table, column("title", "string"))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))

    bench.apply(insert({"id": 2, "title": "b"}, table=titled, offset=1))

    assert rows(bench, table) == [
        {"id": 1, "title": None, "name": "a"},
        {"id": 2, "title": "b", "name": None},
    ]


def test_wider_types_are_followed_in_keys_and_in_other_columns(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench()
    narrow = replace(
        table,
        columns=(
            column("id", "int32", optional=False),
            column("size", "int32"),
            column("ratio", "float"),
            decimal_column("price", 5, 2),
        ),
    )
    wide = replace(
        table,
        columns=(
            column("id", "int64", optional=False),
            column("size", "int64"),
            column("ratio", "double"),
            decimal_column("price", 12, 2),
        ),
    )
    row = {"size": 1, "ratio": 0.5, "price": decimal(100)}
    bench.apply(
        insert({"id": 1, **row}, table=narrow, offset=0),
        insert({"id": 2, **row}, table=narrow, offset=1),
    )

    bench.apply(
        update({"id": 1, **row, "size": 2}, table=narrow, offset=2),
        update(
            {"id": 2, "size": 2**40, "ratio": 0.1, "price": decimal(10**11)}, table=wide, offset=3
        ),
        insert({"id": 2**40, **row}, table=wide, offset=4),
    )

    found = [(r["id"], r["size"], r["ratio"], str(r["price"])) for r in rows(bench, table)]
    assert found == [
        (1, 2, 0.5, "1.00"),
        (2, 2**40, 0.1, "1000000000.00"),
        (2**40, 1, 0.5, "1.00"),
    ]


def test_another_type_keeps_the_old_column_under_a_dated_name(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench('schema_change = "lenient"')
    numbers = with_columns(table, column("v", "int32"))
    texts = with_columns(table, column("v", "string"))
    bench.apply(insert({"id": 1, "v": 1}, table=numbers, offset=0, lsn=10))

    bench.apply(
        insert({"id": 2, "v": 2}, table=numbers, offset=1, lsn=20),
        update({"id": 1, "v": "one"}, table=texts, offset=2, lsn=40),
    )
    again = open_bench('schema_change = "lenient"')
    again.apply(insert({"id": 3, "v": 3}, table=numbers, partition=1, offset=0, lsn=30))
    again.apply(insert({"id": 4, "v": 4}, table=numbers, offset=3, lsn=50))  # and back

    dated = [name for name in columns(again, table) if name.startswith("v_")]
    assert len(dated) == 2
    first, second = sorted(dated)
    assert rows(again, table) == [
        {"id": 1, first: None, second: "one", "v": None},
        {"id": 2, first: 2, second: None, "v": None},
        {"id": 3, first: 3, second: None, "v": None},
        {"id": 4, first: None, second: None, "v": 4},
    ]


def test_evolve_parks_a_table_whose_column_has_another_type(open_bench: Open, table: Table) -> None:
    bench = open_bench()
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))

    bench.apply(insert({"id": 2, "name": 5}, table=with_columns(table, column("name")), offset=1))

    (reason,) = bench.parked.values()
    assert isinstance(reason, SchemaChangeError)
    assert rows(bench, table) == [{"id": 1, "name": "a"}]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ('schema_change = "ignore"', [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]),
        ('schema_deny = ["add_column"]', [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]),
        ('schema_policies = { add_column = "fail" }', [{"id": 1, "name": "a"}]),
        ('schema_change = "fail"', [{"id": 1, "name": "a"}]),
    ],
)
def test_a_new_column_does_what_the_policy_says(
    open_bench: Open, table: Table, settings: str, expected: Rows
) -> None:
    bench = open_bench(settings)
    wide = with_columns(table, NAME, column("size"))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))

    bench.apply(insert({"id": 2, "name": "b", "size": 2}, table=wide, offset=1))

    assert rows(bench, table) == expected
    assert bool(bench.parked) == (len(expected) == 1)


@pytest.mark.parametrize(("kind", "value"), [("int64", 2.5), ("float", 1e300), ("float", 0.1)])
def test_values_that_do_not_fit_an_ignored_type_go_into_quarantine(
    open_bench: Open, table: Table, kind: str, value: float
) -> None:
    bench = open_bench('schema_change = "ignore"')
    numbers = with_columns(table, column("v", kind))
    wide = with_columns(table, column("v", "double"))
    bench.apply(insert({"id": 1, "v": 1}, table=numbers, offset=0))

    progress = bench.apply(insert({"id": 2, "v": value}, table=wide, offset=1))

    assert progress.account.quarantined == 1
    assert rows(bench, table) == [{"id": 1, "v": 1}]


@pytest.mark.parametrize("mode", ["mirror", "history", "append"])
def test_rows_from_before_a_column_hold_its_default(
    open_bench: Open, table: Table, mode: str
) -> None:
    bench = open_bench(mode=mode)
    wide = with_columns(table, NAME, column("size", default=7), decimal_column("price", 5, 2))
    bench.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10),
        insert({"id": 2, "name": "b"}, table=table, offset=1, lsn=20),
    )

    bench.apply(
        update({"id": 2, "name": "before"}, table=table, offset=2, lsn=30),
        insert({"id": 3, "name": "c", "size": None}, table=wide, offset=3, lsn=50),
        insert({"id": 4, "name": "late"}, table=table, partition=1, offset=0, lsn=40),
    )

    found = {(row["id"], row["name"]): row["size"] for row in rows(bench, table)}
    old = None if mode == "append" else 7
    expected = {(1, "a"): old, (2, "before"): 7, (3, "c"): None, (4, "late"): 7}
    if mode != "mirror":
        expected[2, "b"] = old  # which was current when the column came
    assert found == expected
    assert not bench.table(table.topic).state.backfill


def test_a_default_that_was_cut_off_is_filled_after_a_restart(
    open_bench: Open, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = open_bench()
    wide = with_columns(table, NAME, column("size", "string", default="it's"))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))

    class Killed(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr("cdc.runtime.tables.table_rows.fill_defaults", killed)
    with pytest.raises(Killed):
        bench.apply(insert({"id": 2, "name": "b", "size": None}, table=wide, offset=1))
    monkeypatch.undo()
    again = open_bench()
    again.tables.open(table.topic, bench.table(table.topic).view.source)
    again.apply(insert({"id": 2, "name": "b", "size": None}, table=wide, offset=1))

    assert rows(again, table) == [
        {"id": 1, "name": "a", "size": "it's"},
        {"id": 2, "name": "b", "size": None},
    ]


def test_members_that_a_struct_got_are_followed(open_bench: Open, table: Table) -> None:
    bench = open_bench()
    x, y = column("x", "int32"), column("y", "string")
    small = with_columns(table, column("point", "struct", fields=[x]))
    large = with_columns(table, column("point", "struct", fields=[y, column("x", "int64")]))
    bench.apply(insert({"id": 1, "point": {"x": 1}}, table=small, offset=0))

    bench.apply(
        insert({"id": 2, "point": {"y": "b", "x": 2**40}}, table=large, offset=1),
        insert({"id": 3, "point": None}, table=large, offset=2),
    )

    assert [row["point"] for row in rows(bench, table)] == [
        {"x": 1, "y": None},
        {"x": 2**40, "y": "b"},
        None,
    ]


def test_a_key_that_may_be_null_now_is_followed(open_bench: Open, table: Table) -> None:
    bench = open_bench()
    pair = replace(
        table,
        columns=(*table.columns[:1], column("part", "string", optional=False)),
        key=("id", "part"),
    )
    nullable = replace(pair, columns=(*table.columns[:1], column("part", "string")))
    bench.apply(insert({"id": 1, "part": "a"}, table=pair, offset=0))

    bench.apply(
        insert({"id": 2, "part": None}, table=nullable, offset=1),
        delete({"id": 1, "part": "a"}, table=nullable, offset=2),
    )

    assert rows(bench, table) == [{"id": 2, "part": None}]


def test_what_was_done_is_on_record_and_old_snapshots_keep_their_columns(
    open_bench: Open, table: Table, spark: SparkSession
) -> None:
    bench = open_bench()
    wide = with_columns(table, NAME, column("size"))
    bench.apply(insert({"id": 1, "name": "a", "size": 1}, table=wide, offset=0, lsn=10))
    before = bench.table(table.topic).table
    snapshot, ids = before.snapshot_id, {c.name: c.field_id for c in before.schema.fields}

    bench.apply(insert({"id": 2, "name": "b"}, table=table, offset=1, lsn=20))
    bench.apply(insert({"id": 3, "name": "c", "size": 3}, table=wide, offset=2, lsn=30))

    log = read_log(bench.table(table.topic).table.properties)
    assert [(e.text, e.place.offset, e.place.position) for e in log] == [
        ("CREATE TABLE", 0, 10),
        ("DROP COLUMN size", 1, 20),
        ("ADD COLUMN size int AFTER name", 2, 30),
    ]
    name = f"shop.{table.server}.orders"
    old = spark.sql(f"SELECT * FROM {name} VERSION AS OF {snapshot}").collect()
    assert [row.asDict() for row in old] == [{"id": 1, "name": "a", "size": 1}]
    new = {c.name: c.field_id for c in bench.table(table.topic).table.schema.fields}
    assert new["size"] not in ids.values()
    assert rows(bench, table)[0] == {"id": 1, "name": "a", "size": None}


def test_the_record_names_the_schemas_before_and_after(open_bench: Open, table: Table) -> None:
    bench = open_bench('schema_change = "lenient"')
    numbers = with_columns(table, NAME, column("size", "int32"))
    texts = with_columns(table, NAME, column("size", "string"), column("note", "string"))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10))

    bench.apply(insert({"id": 2, "name": "b", "size": 2}, table=numbers, offset=1, lsn=20))
    bench.apply(insert({"id": 3, "name": "c", "size": "3"}, table=texts, offset=2, lsn=30))

    java = bench.table(table.topic).table.java
    shown = {
        int(number): [str(field.name()) for field in java.schemas()[number].columns()]
        for number in java.schemas()
    }
    log = read_log(bench.table(table.topic).table.properties)
    changes = [(shown.get(e.old_schema or 0), shown[e.new_schema or 0]) for e in log[1:]]
    assert (log[0].old_schema, log[0].new_schema, shown[0]) == (None, 0, ["id", "name"])
    assert changes[0] == (["id", "name"], ["id", "name", "size"])
    # Two changes in one commit have the same schemas before and after.
    assert changes[1] == changes[2] == (changes[0][1], columns(bench, table))
    assert int(java.schema().schemaId()) == log[-1].new_schema


def test_a_new_column_stands_where_the_source_has_it(open_bench: Open, table: Table) -> None:
    bench = open_bench(mode="history")
    wide = with_columns(table, column("first", "string"), NAME)
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))

    bench.apply(insert({"id": 2, "first": "f", "name": "b"}, table=wide, offset=1))

    assert columns(bench, table)[:3] == ["id", "first", "name"]
