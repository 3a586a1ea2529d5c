"""Messages without schemas: tables made by inference, that keep their types."""

import logging
from dataclasses import replace
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from cdc.errors import UntypedColumnsError
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import (
    Message,
    Row,
    Table,
    column,
    decimal,
    delete,
    insert,
    truncate,
    update,
    without_schemas,
)


def added(row: Row, table: Table, offset: int, partition: int = 0) -> Message:
    return without_schemas(insert(row, table=table, offset=offset, partition=partition))


def types(bench: Bench, table: Table) -> dict[str, str]:
    return dict(bench.spark.table(f"shop.{table.server}.orders").dtypes)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.getMessage().startswith("inferred")]


def test_a_topic_without_schemas_is_mirrored_by_inference_and_says_so(
    bench: Bench, table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        bench.apply(
            added({"id": 1, "name": "2024-01-01", "price": 5, "on": True}, table, 0),
            added({"id": 2, "name": None, "price": 2.5, "on": None, "x": None}, table, 1),
            added({"id": 3, "name": "c", "price": 1, "list": [1, {"a": 2}]}, table, 0, 1),
            without_schemas(delete({"id": 2}, table=table, offset=2)),
        )
        bench.apply(
            without_schemas(update({"id": 1, "name": "b", "price": 7}, table=table, offset=3))
        )

    assert types(bench, table) == {
        "id": "bigint",
        "name": "string",
        "price": "double",
        "on": "boolean",
        "list": "string",
    }
    assert bench.rows(f"{table.server}.orders") == [
        {"id": 1, "name": "b", "price": 7.0, "on": None, "list": None},
        {"id": 3, "name": "c", "price": 1.0, "on": None, "list": '[1,{"a":2}]'},
    ]
    (warning,) = warnings(caplog)
    assert all(f"{name}:" in warning for name in ("id", "name", "price", "on", "list"))
    assert "x:" not in warning


def test_a_new_column_joins_and_is_named(
    bench: Bench, table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    bench.apply(added({"id": 1, "name": "a", "more": None}, table, 0))
    caplog.clear()

    with caplog.at_level(logging.WARNING):
        bench.apply(
            added({"id": 2, "name": "b", "more": 5}, table, 1),
            added({"id": 3, "name": "c", "more": 0.5}, table, 0, 1),
        )

    assert [row["more"] for row in bench.rows(f"{table.server}.orders")] == [None, 5.0, 0.5]
    (warning,) = warnings(caplog)
    assert "more:double" in warning
    assert "name:" not in warning


def test_a_value_that_does_not_fit_is_quarantined_and_the_column_stays(
    bench: Bench, configure: Configure, table: Table
) -> None:
    bench.apply(added({"id": 1, "name": 5}, table, 0))

    progress = bench.apply(
        added({"id": 2, "name": "text"}, table, 1), added({"id": 3, "name": 7}, table, 2)
    )
    later = Bench(bench.spark, configure())
    later.apply(added({"id": 4, "name": 8}, table, 3))

    assert (progress.account.applied, progress.account.quarantined) == (1, 1)
    assert types(bench, table) == {"id": "bigint", "name": "bigint"}
    rows = bench.rows(f"{table.server}.orders")
    assert [(row["id"], row["name"]) for row in rows] == [(1, 5), (3, 7), (4, 8)]


def test_a_truncate_without_a_schema_empties_the_table(bench: Bench, table: Table) -> None:
    bench.apply(added({"id": 1, "name": "a"}, table, 0))

    bench.apply(
        without_schemas(truncate(table=table, offset=1)), added({"id": 2, "name": "b"}, table, 2)
    )

    assert [row["id"] for row in bench.rows(f"{table.server}.orders")] == [2]


def test_a_table_made_with_schemas_is_not_guessed_at_without_them(
    bench: Bench, configure: Configure, table: Table
) -> None:
    moment = column("at", "int64", logical="io.debezium.time.MicroTimestamp")
    table = replace(table, columns=(*table.columns, moment))
    row = {"id": 1, "name": "a", "at": 1_700_000_000_000_000}
    bench.apply(insert(row, table=table, offset=0))
    later = Bench(bench.spark, configure())

    later.apply(added({**row, "id": 2}, table, 1))

    reason = later.parked[table.topic]
    assert isinstance(reason, UntypedColumnsError)
    assert reason.columns == ("at",)
    assert [row["id"] for row in bench.rows(f"{table.server}.orders")] == [1]


def test_schemas_and_no_schemas_in_one_batch_leave_the_guess_aside(
    bench: Bench, table: Table
) -> None:
    moment = column("at", "int64", logical="io.debezium.time.MicroTimestamp")
    table = replace(table, columns=(*table.columns, moment))
    row = {"id": 1, "name": "a", "at": 1_700_000_000_000_000}

    progress = bench.apply(added({**row, "id": 2}, table, 0), insert(row, table=table, offset=1))

    assert types(bench, table)["at"] == "timestamp_ntz"
    assert (progress.account.applied, progress.account.quarantined) == (1, 1)


def test_the_config_tells_what_messages_do_not(
    spark: SparkSession, configure: Configure, table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    rule = """
        [[tables.rules]]
        match = "public.orders"
        [tables.rules.types]
        at = "io.debezium.time.MicroTimestamp"
        price = "org.apache.kafka.connect.data.Decimal(10,2)"
        code = "string"
    """
    bench = Bench(spark, configure(more=rule))
    row = {"id": 1, "at": 1_700_000_000_000_000, "price": decimal(150), "code": 7, "on": True}

    with caplog.at_level(logging.WARNING):
        bench.apply(added(row, table, 0))
    again = Bench(spark, configure(more=rule))
    again.apply(added({**row, "id": 2, "code": "x"}, table, 1))

    assert types(bench, table) == {
        "id": "bigint",
        "at": "timestamp_ntz",
        "price": "decimal(10,2)",
        "code": "string",
        "on": "boolean",
    }
    assert [(row["price"], row["code"]) for row in bench.rows(f"{table.server}.orders")] == [
        (Decimal("1.50"), "7"),
        (Decimal("1.50"), "x"),
    ]
    assert len(set(warnings(caplog))) == 1  # of both runs the same
    assert "columns=id:int64,on:boolean:" in warnings(caplog)[0]
