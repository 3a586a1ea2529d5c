"""What one batch and the next leave in the tables."""

from dataclasses import replace
from pathlib import Path

from cdc.errors import ForeignTableError, NoKeyError, SchemaChangeError
from cdc.model import Account, SourceTable
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.spark.conftest import IN_EACH_WAY, Restart
from tests.unit.messages import (
    Table,
    column,
    delete,
    insert,
    snapshot_row,
    tombstone,
    truncate,
    update,
)

pytestmark = IN_EACH_WAY


def test_changes_over_two_batches_leave_the_newest_row_of_each_key(
    bench: Bench, table: Table
) -> None:
    bench.apply(
        snapshot_row({"id": 1, "name": "a"}, table=table, offset=0, lsn=10),
        snapshot_row({"id": 2, "name": "b"}, table=table, offset=1, lsn=10),
        snapshot_row({"id": 3, "name": "c"}, table=table, offset=2, lsn=10),
    )

    bench.apply(
        update({"id": 1, "name": "a2"}, table=table, offset=3),
        update({"id": 1, "name": "a3"}, table=table, offset=4),
        delete({"id": 2}, table=table, offset=5),
        tombstone({"id": 2}, table=table, offset=6),
        insert({"id": 4, "name": "d"}, table=table, offset=7),
        delete({"id": 3}, table=table, offset=8),
        insert({"id": 3, "name": "c again"}, table=table, offset=9),
        insert({"id": 5, "name": "gone"}, table=table, offset=10),
        delete({"id": 5}, table=table, offset=11),
    )

    rows = bench.rows(f"{table.server}.orders")
    assert [(row["id"], row["name"]) for row in rows] == [(1, "a3"), (3, "c again"), (4, "d")]


def test_replayed_batch_makes_no_snapshot(bench: Bench, restart: Restart, table: Table) -> None:
    first = snapshot_row({"id": 1, "name": "a"}, table=table, offset=0, lsn=10)
    second = update({"id": 1, "name": "b"}, table=table, offset=1)
    bench.apply(first)
    bench.apply(second)
    before = bench.snapshots(f"{table.server}.orders")

    replayed = restart()
    replayed.tables.open(table.topic, SourceTable(table.server, "shop", "public", "orders"))
    progress = replayed.apply(first, second)

    assert bench.snapshots(f"{table.server}.orders") == before
    assert progress.account == Account()
    assert [row["name"] for row in bench.rows(f"{table.server}.orders")] == ["b"]


def test_batch_that_reached_some_tables_reaches_only_the_others_again(
    bench: Bench, restart: Restart, table: Table
) -> None:
    other = replace(table, name="other")
    done = insert({"id": 1, "name": "a"}, table=table, offset=0)
    left = insert({"id": 1, "name": "x"}, table=other, offset=0)
    bench.apply(done)

    progress = restart().apply(done, left)

    assert progress.tables == 1
    assert bench.snapshots(f"{table.server}.orders") == 1
    assert [row["name"] for row in bench.rows(f"{table.server}.other")] == ["x"]


def test_redelivered_insert_leaves_one_row(bench: Bench, table: Table) -> None:
    bench.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=0, lsn=100),
        insert({"id": 2, "name": "b"}, table=table, offset=1, lsn=101),
    )

    bench.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=2, lsn=100),
        insert({"id": 2, "name": "b"}, table=table, offset=3, lsn=101),
        insert({"id": 3, "name": "c"}, table=table, offset=4, lsn=102),
    )

    assert [row["id"] for row in bench.rows(f"{table.server}.orders")] == [1, 2, 3]


def test_change_with_a_smaller_source_position_still_counts(bench: Bench, table: Table) -> None:
    bench.apply(insert({"id": 1, "name": "before the failover"}, table=table, offset=0, lsn=900))

    bench.apply(update({"id": 1, "name": "after it"}, table=table, offset=1, lsn=5))

    assert [row["name"] for row in bench.rows(f"{table.server}.orders")] == ["after it"]


def test_second_snapshot_leaves_no_duplicate(bench: Bench, table: Table) -> None:
    rows = [{"id": n, "name": f"n{n}"} for n in range(5)]
    bench.apply(*(snapshot_row(row, table=table, offset=n, lsn=9) for n, row in enumerate(rows)))

    bench.apply(
        *(snapshot_row(row, table=table, offset=n, lsn=50) for n, row in enumerate(rows, 5))
    )

    assert [row["id"] for row in bench.rows(f"{table.server}.orders")] == [0, 1, 2, 3, 4]


def test_columns_added_twice_within_one_batch_keep_every_value(bench: Bench, table: Table) -> None:
    wider = replace(table, columns=(*table.columns, column("age", "int32")))
    widest = replace(table, columns=(*wider.columns, column("mail", "string")))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))

    bench.apply(
        update({"id": 1, "name": "b"}, table=table, offset=1),
        insert({"id": 2, "name": "c", "age": 7}, table=wider, offset=2),
        insert({"id": 3, "name": "d", "age": 8, "mail": "m"}, table=widest, offset=3),
    )

    assert bench.rows(f"{table.server}.orders") == [
        {"id": 1, "name": "b", "age": None, "mail": None},
        {"id": 2, "name": "c", "age": 7, "mail": None},
        {"id": 3, "name": "d", "age": 8, "mail": "m"},
    ]


def test_truncate_wipes_what_was_before_it_and_keeps_what_comes_after(
    bench: Bench, table: Table
) -> None:
    bench.apply(insert({"id": 1, "name": "old"}, table=table, offset=0))

    progress = bench.apply(
        insert({"id": 2, "name": "wiped"}, table=table, offset=1),
        truncate(table=table, offset=2),
        insert({"id": 3, "name": "new"}, table=table, offset=3),
        insert({"id": 1, "name": "again"}, table=table, offset=4),
    )

    rows = [(row["id"], row["name"]) for row in bench.rows(f"{table.server}.orders")]
    assert rows == [(1, "again"), (3, "new")]
    assert progress.account == Account(read=4, applied=3, superseded=1)


def test_truncate_orders_other_partitions_by_source_position(bench: Bench, table: Table) -> None:
    bench.apply(insert({"id": 1, "name": "old"}, table=table, offset=0, partition=1, lsn=10))

    bench.apply(
        truncate(table=table, offset=0, partition=0, lsn=50),
        insert({"id": 2, "name": "wiped"}, table=table, offset=1, partition=1, lsn=40),
        insert({"id": 3, "name": "new"}, table=table, offset=2, partition=1, lsn=60),
    )

    assert [row["id"] for row in bench.rows(f"{table.server}.orders")] == [3]


def test_composite_key_tells_rows_apart(bench: Bench, table: Table) -> None:
    lines = replace(
        table,
        columns=(
            column("order", "int64", optional=False),
            column("line", "string", optional=False),
            column("note", "string"),
        ),
        key=("order", "line"),
        name="lines",
    )
    bench.apply(
        insert({"order": 1, "line": "a", "note": "x"}, table=lines, offset=0),
        insert({"order": 1, "line": "b", "note": "y"}, table=lines, offset=1),
    )

    bench.apply(
        delete({"order": 1, "line": "a"}, table=lines, offset=2),
        update({"order": 1, "line": "b", "note": "z"}, table=lines, offset=3),
    )

    assert bench.rows(f"{table.server}.lines") == [{"order": 1, "line": "b", "note": "z"}]


def test_table_of_nothing_but_its_key_is_mirrored(bench: Bench, table: Table) -> None:
    pairs = replace(
        table,
        columns=(column("a", "int32", optional=False), column("b", "int32", optional=False)),
        key=("a", "b"),
        name="pairs",
    )
    bench.apply(insert({"a": 1, "b": 1}, table=pairs, offset=0))

    bench.apply(
        delete({"a": 1, "b": 1}, table=pairs, offset=1),
        insert({"a": 1, "b": 2}, table=pairs, offset=2),
    )

    assert bench.rows(f"{table.server}.pairs") == [{"a": 1, "b": 2}]


def test_every_record_is_accounted_for_in_the_ledger(bench: Bench, table: Table) -> None:
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))

    bench.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=0),
        update({"id": 1, "name": "b"}, table=table, offset=1),
        update({"id": 1, "name": "c"}, table=table, offset=2),
        delete({"id": 1}, table=table, offset=3),
        tombstone({"id": 1}, table=table, offset=4),
    )

    last = bench.ledgers(f"{table.server}.orders")[-1]
    assert last.account == Account(read=5, applied=1, superseded=3, duplicates=1)
    assert last.partitions[0].next_offset == 5
    assert last.batch == 1


def test_table_without_a_key_is_parked_and_the_others_go_on(bench: Bench, table: Table) -> None:
    keyless = replace(table, key=(), name="keyless")

    bench.apply(
        insert({"id": 1, "name": "a"}, table=table, offset=0),
        insert({"id": 1, "name": "a"}, table=keyless, offset=0),
    )
    bench.apply(
        insert({"id": 2, "name": "b"}, table=table, offset=1),
        insert({"id": 2, "name": "b"}, table=keyless, offset=1),
    )

    assert isinstance(bench.parked[keyless.topic], NoKeyError)
    assert [row["id"] for row in bench.rows(f"{table.server}.orders")] == [1, 2]


def test_change_of_type_parks_the_table_and_leaves_its_rows(bench: Bench, table: Table) -> None:
    retyped = replace(table, columns=(table.columns[0], column("name", "boolean")))
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))

    bench.apply(insert({"id": 2, "name": True}, table=retyped, offset=1))

    assert isinstance(bench.parked[table.topic], SchemaChangeError)
    assert [row["name"] for row in bench.rows(f"{table.server}.orders")] == ["a"]
    assert bench.ledgers(f"{table.server}.orders")[-1].partitions[0].next_offset == 1


def test_parked_batch_leaves_no_file_behind(
    bench: Bench, table: Table, configure: Configure
) -> None:
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0, partition=0))
    folder = configure().catalog.warehouse
    retyped = replace(table, columns=(table.columns[0], column("name", "boolean")))

    bench.apply(
        insert({"id": 2, "name": "b"}, table=table, offset=1, partition=0),
        insert({"id": 3, "name": True}, table=retyped, offset=0, partition=1),
    )

    names = bench.spark.table(f"shop.{table.server}.orders.all_files").select("file_path")
    known = {row.file_path for row in names.collect()}
    assert {str(p) for p in Path(f"{folder}/{table.server}/orders/data").glob("*")} == known


def test_table_that_no_mirror_made_is_never_written(bench: Bench, table: Table) -> None:
    bench.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS shop.{table.server}")
    bench.spark.sql(f"CREATE TABLE shop.{table.server}.orders (id bigint) USING iceberg")

    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))

    assert isinstance(bench.parked[table.topic], ForeignTableError)
    assert bench.rows(f"{table.server}.orders") == []


def test_two_topics_never_share_a_table(bench: Bench, table: Table) -> None:
    namesake = replace(table, schema="archive")

    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))
    bench.apply(insert({"id": 1, "name": "b"}, table=namesake, offset=0))

    assert isinstance(bench.parked[namesake.topic], ForeignTableError)
    assert [row["name"] for row in bench.rows(f"{table.server}.orders")] == ["a"]
