"""Values that the source left out, taken from the mirror by their keys."""

import json
from dataclasses import replace

import pytest

from cdc.errors import MissingValueError
from cdc.model import Account
from tests.spark.bench import Bench
from tests.spark.conftest import IN_EACH_WAY
from tests.unit.messages import (
    Table,
    base64_of,
    column,
    decimal,
    decimal_column,
    delete,
    insert,
    update,
)

pytestmark = IN_EACH_WAY

PLACEHOLDER = "__debezium_unavailable_value"
BYTES = base64_of(PLACEHOLDER.encode())


@pytest.fixture
def table(table: Table) -> Table:
    columns = (*table.columns, column("big", "string"), column("scan", "bytes"))
    return replace(table, columns=columns)


def test_unchanged_value_of_an_earlier_batch_is_kept(bench: Bench, table: Table) -> None:
    bench.apply(
        insert({"id": 1, "name": "a", "big": "long 1", "scan": base64_of(b"\xff")}, table=table),
        insert({"id": 2, "name": "b", "big": None}, table=table, offset=1),
        insert({"id": 3, "name": "c", "big": "long 3"}, table=table, offset=2),
    )

    progress = bench.apply(
        update({"id": 1, "name": "a2", "big": PLACEHOLDER, "scan": BYTES}, table=table, offset=3),
        update({"id": 2, "name": "b2", "big": PLACEHOLDER}, table=table, offset=4),
        update({"id": 3, "name": "c2", "big": "new"}, table=table, offset=5),
        update({"id": 3, "name": "c3", "big": PLACEHOLDER}, table=table, offset=6),
    )

    rows = [tuple(row.values()) for row in bench.rows(f"{table.server}.orders")]
    assert rows == [
        (1, "a2", "long 1", b"\xff"),
        (2, "b2", None, None),
        (3, "c3", "new", None),
    ]
    assert progress.account == Account(read=4, applied=3, superseded=1)


def test_keys_of_many_types_find_their_rows(bench: Bench, table: Table) -> None:
    columns = (
        column("at", "int64", optional=False, logical="io.debezium.time.MicroTimestamp"),
        column("day", "int32", optional=False, logical="io.debezium.time.Date"),
        column("moment", "string", optional=False, logical="io.debezium.time.ZonedTimestamp"),
        decimal_column("price", 10, 2, optional=False),
        column("tag", "bytes", optional=False),
        column("a.b `c`", "string", optional=False),
        column("big", "string"),
    )
    keyed = replace(table, columns=columns, key=tuple(c["field"] for c in columns[:-1]))
    key = {
        "at": 1_709_210_096_789_012,
        "day": 19_782,
        "moment": "2024-02-29T10:34:56.789012Z",
        "price": decimal(-12345),
        "tag": base64_of(b"\x00\xff"),
        "a.b `c`": "zoë's {x}",
    }
    bench.apply(
        insert({**key, "big": "long"}, table=keyed, offset=0),
        insert({**key, "day": 1, "big": "other"}, table=keyed, offset=1),
    )

    bench.apply(
        update({**key, "big": PLACEHOLDER}, table=keyed, offset=2),
        delete({**key, "day": 1}, table=keyed, offset=3),
    )

    assert [row["big"] for row in bench.rows(f"{table.server}.orders")] == ["long"]


def test_row_that_the_mirror_does_not_have_parks_the_table_with_the_column(
    bench: Bench, table: Table
) -> None:
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))

    bench.apply(update({"id": 2, "name": "b", "big": PLACEHOLDER}, table=table, offset=1))

    reason = bench.parked[table.topic]
    assert isinstance(reason, MissingValueError)
    assert reason.column == "big"


def test_unchanged_value_of_a_row_whose_key_changed_is_that_of_the_old_key(
    bench: Bench, table: Table
) -> None:
    bench.apply(insert({"id": 1, "name": "a", "big": "long 1"}, table=table, offset=0))

    bench.log.headers = {
        (table.topic, 0, n): json.dumps({"id": old}).encode() for n, old in ((2, 1), (5, 3), (7, 4))
    }
    progress = bench.apply(
        delete({"id": 1}, table=table, offset=1),
        insert({"id": 2, "name": "a", "big": PLACEHOLDER}, table=table, offset=2),
        # Of a row that the table never had, and that moves twice.
        insert({"id": 3, "name": "b", "big": "long 3"}, table=table, offset=3),
        delete({"id": 3}, table=table, offset=4),
        insert({"id": 4, "name": "b", "big": PLACEHOLDER}, table=table, offset=5),
        delete({"id": 4}, table=table, offset=6),
        insert({"id": 5, "name": "b", "big": PLACEHOLDER}, table=table, offset=7),
    )

    rows = [(row["id"], row["big"]) for row in bench.rows(f"{table.server}.orders")]
    assert rows == [(2, "long 1"), (5, "long 3")]
    assert progress.account.balanced
