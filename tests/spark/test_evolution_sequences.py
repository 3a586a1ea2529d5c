"""Columns that change several times within one batch, through real Spark and Iceberg."""

from dataclasses import replace

from tests.spark.conftest import Open
from tests.unit.messages import Block, Table, column, insert, update

NAME = column("name", "string")


def with_columns(table: Table, *blocks: Block) -> Table:
    """Give a table the key and these columns."""
    return replace(table, columns=(table.columns[0], *blocks))


def test_a_default_is_filled_in_under_the_name_that_its_column_got_meanwhile(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench('renames = { size = "width" }')
    sized = with_columns(table, NAME, column("size", default=7))
    wide = with_columns(table, NAME, column("width", default=7))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10))

    bench.apply(
        insert({"id": 2, "name": "b"}, table=table, offset=1, lsn=20),
        insert({"id": 3, "name": "c", "size": None}, table=sized, offset=2, lsn=30),
        insert({"id": 4, "name": "d", "width": 4}, table=wide, offset=3, lsn=40),
    )

    assert bench.rows(f"{table.server}.orders") == [
        {"id": 1, "name": "a", "width": 7},
        {"id": 2, "name": "b", "width": 7},
        {"id": 3, "name": "c", "width": None},
        {"id": 4, "name": "d", "width": 4},
    ]


def test_a_default_goes_with_its_column_and_does_not_come_back_with_its_name(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench()
    sized = with_columns(table, NAME, column("size", default=7))
    bare = with_columns(table)
    again = with_columns(table, column("size"))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10))

    bench.apply(
        insert({"id": 2, "name": "b", "size": 2}, table=sized, offset=1, lsn=20),
        insert({"id": 3}, table=bare, offset=2, lsn=30),
        insert({"id": 4, "size": 4}, table=again, offset=3, lsn=40),
    )

    assert bench.rows(f"{table.server}.orders") == [
        {"id": 1, "size": None},
        {"id": 2, "size": None},
        {"id": 3, "size": None},
        {"id": 4, "size": 4},
    ]


def test_a_name_that_comes_goes_and_comes_again_brings_no_value_back(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench()
    sized = with_columns(table, NAME, column("size"))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=10))

    bench.apply(
        update({"id": 1, "name": "a", "size": 1}, table=sized, offset=1, lsn=20),
        insert({"id": 2, "name": "b"}, table=table, offset=2, lsn=30),
        insert({"id": 3, "name": "c", "size": 3}, table=sized, offset=3, lsn=40),
    )

    assert bench.rows(f"{table.server}.orders") == [
        {"id": 1, "name": "a", "size": None},
        {"id": 2, "name": "b", "size": None},
        {"id": 3, "name": "c", "size": 3},
    ]
