"""Tables whose source gets another primary key, through real Spark and Iceberg."""

from dataclasses import replace
from typing import Any

import pytest

from cdc.errors import LackingKeyError, SchemaChangeError
from cdc.state.schema_log import read_log
from tests.spark.bench import Bench
from tests.spark.conftest import IN_EACH_WAY, Open
from tests.unit.messages import Table, column, delete, insert, tombstone, truncate, update

pytestmark = IN_EACH_WAY

ID = column("id", "int64", optional=False)
CODE = column("code", "string")
SIZE = column("size")
COLUMNS = (ID, CODE, SIZE)


@pytest.fixture
def table(table: Table) -> Table:
    return replace(table, columns=COLUMNS)


def keyed(table: Table, *key: str) -> Table:
    """Give a table another key; its columns cannot be null then."""
    blocks = [{**block, "optional": block["field"] not in key} for block in table.columns]
    return replace(table, columns=tuple(blocks), key=key)


def row(id_: int, code: str, size: int) -> dict[str, Any]:
    return {"id": id_, "code": code, "size": size}


def rows(bench: Bench, table: Table) -> list[tuple[Any, ...]]:
    found = bench.rows(f"{table.server}.orders")
    return sorted((r["id"], r["code"], r["size"]) for r in found)


def test_changes_from_before_are_applied_under_the_old_key_and_later_ones_under_the_new(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench()
    other = keyed(table, "code")
    bench.apply(*(insert(row(n, f"c{n}", n), table=table, offset=n, lsn=10 + n) for n in range(5)))

    bench.apply(
        delete({"id": 0}, table=table, offset=5, lsn=20),
        tombstone({"id": 0}, table=table, offset=6),
        update(row(1, "c1", 11), table=table, offset=7, lsn=21),
        update(row(2, "c2", 22), table=other, offset=8, lsn=30),
        delete({"code": "c3"}, table=other, offset=9, lsn=31),
        insert(row(9, "c9", 9), table=other, offset=10, lsn=32),
    )
    again = open_bench()
    again.apply(update(row(7, "c4", 44), table=other, offset=11, lsn=40))

    assert rows(again, table) == [(1, "c1", 11), (2, "c2", 22), (7, "c4", 44), (9, "c9", 9)]
    assert not bench.parked
    ledgers = bench.ledgers(f"{table.server}.orders")
    assert all(ledger.account.balanced for ledger in ledgers)
    assert sum(ledger.account.read - ledger.account.duplicates for ledger in ledgers) == 12
    (event,) = read_log(again.table(table.topic).table.properties)[1:]
    assert (event.kind, event.place.offset) == ("change_key", 8)
    assert event.text.startswith("SET KEY (code)")


def test_rows_that_go_on_in_other_partitions_are_there_once(open_bench: Open, table: Table) -> None:
    bench = open_bench()
    other = keyed(table, "id", "code")
    bench.apply(
        insert(row(1, "a", 1), table=table, offset=0, lsn=10),
        insert(row(2, "b", 2), table=table, partition=1, offset=0, lsn=11),
    )

    bench.apply(
        update(row(1, "a", 5), table=other, partition=1, offset=1, lsn=30),
        update(row(2, "b", 6), table=other, partition=0, offset=1, lsn=31),
    )

    assert rows(bench, table) == [(1, "a", 5), (2, "b", 6)]


def test_a_partition_that_lags_is_read_up_to_the_change_first(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench()
    other = keyed(table, "code")
    bench.apply(
        insert(row(1, "a", 1), table=table, offset=0, lsn=10),
        insert(row(2, "b", 2), table=table, partition=1, offset=0, lsn=11),
    )
    late = delete({"id": 2}, table=table, partition=1, offset=1, lsn=12)
    bench.topic = [late]  # Kafka has it, the batch does not

    bench.apply(insert(row(3, "b", 3), table=other, offset=1, lsn=30))
    bench.apply(late, update(row(1, "a", 9), table=other, partition=1, offset=2, lsn=40))

    assert rows(bench, table) == [(1, "a", 9), (3, "b", 3)]
    assert not bench.parked


def test_of_several_rows_that_had_the_new_key_only_the_one_that_is_left_is_replaced(
    open_bench: Open, table: Table
) -> None:
    """A file that is newer may hold a row of the key that is gone."""
    bench = open_bench()
    other = keyed(table, "code")
    bench.apply(insert(row(1, "same", 1), table=table, offset=0, lsn=10))
    bench.apply(insert(row(2, "same", 2), table=table, offset=1, lsn=11))
    bench.apply(delete({"id": 2}, table=table, offset=2, lsn=12))

    bench.apply(update(row(1, "same", 5), table=other, offset=3, lsn=30))
    bench.apply(update(row(1, "same", 6), table=other, offset=4, lsn=31))

    assert rows(bench, table) == [(1, "same", 6)]


def test_a_late_delete_under_the_old_key_finds_its_row_by_the_row_as_it_was(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench()
    other = keyed(table, "code")
    bench.apply(*(insert(row(n, f"c{n}", n), table=table, offset=n, lsn=10 + n) for n in range(3)))
    bench.apply(update(row(1, "c1", 5), table=other, offset=3, lsn=30))

    bench.apply(
        delete(row(2, "c2", 2), table=table, partition=1, offset=0, lsn=20),
        delete({"id": 0}, table=table, partition=1, offset=1, lsn=21),
    )

    assert rows(bench, table) == [(0, "c0", 0), (1, "c1", 5)]
    kept = [r for r in bench.rows("shop._mirror_quarantine") if r["topic"] == table.topic]
    assert [(r["partition"], r["offset"]) for r in kept] == [(1, 1)]
    assert "does not say which code" in kept[0]["reason"]


def test_a_truncate_before_the_change_empties_the_table_once(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench()
    other = keyed(table, "code")
    bench.apply(insert(row(1, "a", 1), table=table, offset=0, lsn=10))

    bench.apply(
        insert(row(2, "b", 2), table=table, offset=1, lsn=11),
        truncate(table=table, offset=2, lsn=12),
        insert(row(3, "c", 3), table=table, offset=3, lsn=13),
        update(row(3, "c", 4), table=other, offset=4, lsn=30),
        insert(row(5, "e", 5), table=other, offset=5, lsn=31),
    )

    assert rows(bench, table) == [(3, "c", 4), (5, "e", 5)]


def test_a_key_column_that_is_dropped_stays_for_the_deletes_that_speak_of_it(
    open_bench: Open, table: Table
) -> None:
    bench = open_bench()
    other = keyed(replace(table, columns=(CODE, SIZE)), "code")
    bench.apply(insert(row(1, "a", 1), table=table, offset=0, lsn=10))

    bench.apply(
        delete({"id": 1}, table=table, offset=1, lsn=20),
        insert(row(2, "b", 2), table=table, offset=2, lsn=21),
        update({"code": "b", "size": 3}, table=other, offset=3, lsn=30),
    )

    assert bench.rows(f"{table.server}.orders") == [{"id": None, "code": "b", "size": 3}]


def test_rows_without_a_value_in_the_new_key_park_the_table(open_bench: Open, table: Table) -> None:
    bench = open_bench()
    serial = keyed(replace(table, columns=(*COLUMNS, column("number"))), "number")
    bench.apply(insert(row(1, "a", 1), table=table, offset=0, lsn=10))

    bench.apply(insert({**row(2, "b", 2), "number": 2}, table=serial, offset=1, lsn=30))

    error = bench.parked[table.topic]
    assert isinstance(error, LackingKeyError)
    assert (error.key, error.columns) == (("number",), ("number",))
    assert rows(bench, table) == [(1, "a", 1)]


def test_a_default_gives_old_rows_their_new_key(open_bench: Open, table: Table) -> None:
    bench = open_bench()
    region = column("region", "int32", optional=False, default=7)
    other = keyed(replace(table, columns=(*COLUMNS, region)), "id", "region")
    bench.apply(
        insert(row(1, "a", 1), table=table, offset=0, lsn=10),
        insert(row(2, "b", 2), table=table, offset=1, lsn=11),
    )

    bench.apply(
        update({**row(1, "a", 5), "region": 7}, table=other, offset=2, lsn=30),
        delete({"id": 2, "region": 7}, table=other, offset=3, lsn=31),
        insert({**row(2, "b", 3), "region": 8}, table=other, offset=4, lsn=32),
    )

    assert rows(bench, table) == [(1, "a", 5), (2, "b", 3)]


@pytest.mark.parametrize("policy", ["ignore", "fail"])
def test_where_it_may_not_be_followed_the_table_is_parked(
    open_bench: Open, table: Table, policy: str
) -> None:
    bench = open_bench(f'schema_policies = {{ change_key = "{policy}" }}')
    bench.apply(insert(row(1, "a", 1), table=table, offset=0, lsn=10))

    bench.apply(update(row(1, "a", 2), table=keyed(table, "code"), offset=1, lsn=30))

    error = bench.parked[table.topic]
    assert isinstance(error, SchemaChangeError)
    assert error.changes == ("its key from (id) to (code)",)
    assert rows(bench, table) == [(1, "a", 1)]


def test_a_history_goes_on_under_the_new_key(open_bench: Open, table: Table) -> None:
    bench = open_bench(mode="history")
    other = keyed(table, "code")
    bench.apply(insert(row(1, "a", 1), table=table, offset=0, lsn=10))

    bench.apply(
        update(row(1, "a", 2), table=table, offset=1, lsn=11),
        update(row(1, "a", 3), table=other, offset=2, lsn=30),
    )

    found = bench.rows(f"{table.server}.orders")
    assert sorted((r["size"], r["_mirror_current"]) for r in found) == [
        (1, False),
        (2, False),
        (3, True),
    ]


def test_soft_deletes_go_on_under_the_new_key(open_bench: Open, table: Table) -> None:
    bench = open_bench('on_delete = "soft"')
    other = keyed(table, "code")
    bench.apply(
        insert(row(1, "a", 1), table=table, offset=0, lsn=10),
        insert(row(2, "b", 2), table=table, offset=1, lsn=11),
    )

    bench.apply(
        delete({"id": 1}, table=table, offset=2, lsn=12),
        delete({"code": "b"}, table=other, offset=3, lsn=30),
    )

    found = bench.rows(f"{table.server}.orders")
    assert [(r["code"], r["_mirror_deleted"]) for r in found] == [("a", True), ("b", True)]
