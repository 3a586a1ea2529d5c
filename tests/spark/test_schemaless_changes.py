"""Columns that change while their messages carry no schemas: the source's catalog tells."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdc.dialect import ColumnFacts, Dialect
from cdc.errors import SchemaChangeError, SourceCatalogError, SourceDownError, UnclearTypeError
from cdc.model import SourceColumn, SourceTable, SourceType
from connectors import DIALECTS, debezium_types
from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import (
    ORDERS,
    Message,
    Row,
    Table,
    decimal,
    delete,
    insert,
    update,
    without_schemas,
)

INT, LONG, TEXT = (SourceType(kind) for kind in ("int32", "int64", "string"))
PRECISE = {debezium_types.DECIMAL_MODE: "precise"}
NUMBER = debezium_types.decimal(PRECISE, 5, 2)

Open = Callable[..., Bench]


class Source:
    """A table of the source: its messages, and what the catalog says of it."""

    def __init__(self) -> None:
        self.table = replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")
        self.columns: dict[str, SourceType] = {}
        self.identities: dict[str, int] = {}
        self.failures: list[Exception] = []
        self._offset = 0

    @property
    def name(self) -> str:
        return f"{self.table.server}.orders"

    def has(self, **columns: SourceType) -> None:
        """Let the source have these columns, which are new ones unless their name is known."""
        self.columns.clear()
        self.columns.update(columns)
        for name in columns:
            self.identities.setdefault(name, len(self.identities) + 1)

    def renames(self, old: str, new: str) -> None:
        self.identities[new] = self.identities.pop(old)
        self.has(**{new if name == old else name: kind for name, kind in self.columns.items()})

    def dialect(self) -> Dialect:
        known, identities, failures = self.columns, self.identities, self.failures

        def columns(url: str, table: SourceTable, modes: Any) -> tuple[SourceColumn, ...]:
            if failures:
                raise failures[0]
            return tuple(SourceColumn(name, kind) for name, kind in known.items())

        def facts(url: str, table: SourceTable) -> dict[str, ColumnFacts]:
            return {name: ColumnFacts(identities[name]) for name in known}

        return replace(DIALECTS["postgres"], columns=columns, facts=facts, tables=None)

    def insert(self, **row: Any) -> Message:
        return self._message(insert, row)

    def update(self, **row: Any) -> Message:
        return self._message(update, row)

    def delete(self, **row: Any) -> Message:
        return self._message(delete, row)

    def _message(self, make: Callable[..., Message], row: Row) -> Message:
        self._offset += 1
        table: Table = self.table
        return without_schemas(make(row, table=table, offset=self._offset, lsn=self._offset))


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def open_bench(spark: SparkSession, configure: Configure, source: Source) -> Open:
    """Opens a run of the mirror; another one is what a restarted process would be."""

    def opened(policy: str = "evolve") -> Bench:
        config = configure(more=f'[tables.defaults]\nschema_change = "{policy}"')
        config = replace(config, source=replace(config.source, url="postgresql://u@localhost/shop"))
        return Bench(spark, config, dialect=source.dialect())

    return opened


def types(bench: Bench, source: Source) -> dict[str, str]:
    return dict(bench.spark.table(f"shop.{source.name}").dtypes)


def test_several_versions_in_one_batch_are_followed_one_by_one(
    open_bench: Open, source: Source
) -> None:
    source.has(id=INT, v=INT, note=TEXT)
    first = [source.insert(id=n, v=n, note="a") for n in (1, 2, 3)]
    second = source.update(id=2, v=2, note="b", x=7)
    third = source.update(id=3, note="c", x=8)
    bench = open_bench()
    bench.apply(*first)
    source.has(id=INT, note=TEXT, x=LONG)

    progress = bench.apply(second, third)

    assert not bench.parked
    assert progress.account.quarantined == 0
    assert types(bench, source) == {"id": "int", "note": "string", "x": "bigint"}
    assert bench.rows(source.name) == [
        {"id": 1, "note": "a", "x": None},
        {"id": 2, "note": "b", "x": 7},
        {"id": 3, "note": "c", "x": 8},
    ]


def test_a_column_that_is_gone_by_now_is_still_read_as_what_it_was(
    open_bench: Open, source: Source
) -> None:
    source.has(id=INT, price=NUMBER)
    open_bench("lenient").apply(source.insert(id=1, price=decimal(125)))
    late = source.insert(id=2, price=decimal(250))
    source.has(id=INT)

    later = open_bench("lenient")
    later.apply(late, source.insert(id=3))

    assert not later.parked
    assert [(row["id"], row["price"]) for row in later.rows(source.name)] == [
        (1, Decimal("1.25")),
        (2, Decimal("2.50")),
        (3, None),
    ]


def test_a_renamed_column_keeps_its_values_though_the_mirror_was_down(
    open_bench: Open, source: Source
) -> None:
    source.has(id=INT, price=NUMBER)
    open_bench().apply(source.insert(id=1, price=decimal(125)))
    late = source.insert(id=2, price=decimal(250))
    source.renames("price", "cost")

    later = open_bench()
    later.apply(late, source.insert(id=3, cost=None), source.insert(id=4, cost=decimal(375)))

    assert not later.parked
    assert types(later, source) == {"id": "int", "cost": "decimal(5,2)"}
    assert [row["cost"] for row in later.rows(source.name)] == [
        *(Decimal("1.25"), Decimal("2.50"), None, Decimal("3.75"))
    ]


def test_a_wider_type_is_followed_as_soon_as_a_value_needs_it(
    open_bench: Open, source: Source
) -> None:
    source.has(id=INT, v=INT)
    bench = open_bench()
    bench.apply(source.insert(id=1, v=1))
    source.has(id=LONG, v=LONG)

    progress = bench.apply(source.insert(id=2, v=9_000_000_000))

    assert progress.account.quarantined == 0
    assert types(bench, source) == {"id": "bigint", "v": "bigint"}
    assert [row["v"] for row in bench.rows(source.name)] == [1, 9_000_000_000]


def test_values_tell_which_messages_are_of_the_other_type(open_bench: Open, source: Source) -> None:
    source.has(id=INT, v=INT)
    bench = open_bench("lenient")
    bench.apply(source.insert(id=1, v=1))
    late = source.insert(id=2, v=2)
    source.has(id=INT, v=TEXT)

    progress = bench.apply(late, source.insert(id=3, v="three"))

    assert not bench.parked
    assert progress.account.quarantined == 0
    (dated,) = (name for name in types(bench, source) if name.startswith("v_"))
    rows = [(row["id"], row[dated], row["v"]) for row in bench.rows(source.name)]
    assert rows == [(1, 1, None), (2, 2, None), (3, None, "three")]


def test_another_type_parks_the_table_under_evolve(open_bench: Open, source: Source) -> None:
    source.has(id=INT, v=INT)
    bench = open_bench()
    bench.apply(source.insert(id=1, v=1))
    source.has(id=INT, v=TEXT)

    bench.apply(source.insert(id=2, v="two"))

    reason = bench.parked[source.table.topic]
    assert isinstance(reason, SchemaChangeError)
    assert not isinstance(reason, UnclearTypeError)


@pytest.mark.parametrize("policy", ["evolve", "lenient", "ignore", "fail"])
@pytest.mark.parametrize("restart", [False, True])
def test_types_that_are_written_alike_park_the_table_before_a_value_is_applied(
    open_bench: Open, source: Source, policy: str, restart: bool
) -> None:
    source.has(id=INT, price=NUMBER)
    bench = open_bench(policy)
    bench.apply(source.insert(id=1, price=decimal(125)))
    source.has(id=INT, price=debezium_types.decimal(PRECISE, 6, 3))
    bench = open_bench(policy) if restart else bench

    bench.apply(source.insert(id=2, price=decimal(125)))

    reason = bench.parked[source.table.topic]
    assert isinstance(reason, UnclearTypeError)
    assert "price" in reason.changes[0]
    assert [row["id"] for row in bench.rows(source.name)] == [1]


def test_deletes_without_an_image_drop_no_column(open_bench: Open, source: Source) -> None:
    source.has(id=INT, v=INT, price=NUMBER)
    bench = open_bench()
    bench.apply(*(source.insert(id=n, v=n, price=decimal(n)) for n in (1, 2)))

    bench.apply(source.delete(id=1))

    assert types(bench, source) == {"id": "int", "v": "int", "price": "decimal(5,2)"}
    assert [row["id"] for row in bench.rows(source.name)] == [2]


def test_a_catalog_that_refuses_parks_the_table_and_one_that_is_down_stops_the_batch(
    open_bench: Open, source: Source
) -> None:
    source.has(id=INT, v=INT)
    bench = open_bench()
    bench.apply(source.insert(id=1, v=1))
    late = source.insert(id=2, v=2)

    source.failures.append(SourceDownError("PostgreSQL", "gone"))
    with pytest.raises(SourceDownError):
        bench.apply(late)
    source.failures[:] = [SourceCatalogError("public.orders", "no")]
    bench.apply(late)

    assert isinstance(bench.parked[source.table.topic], SourceCatalogError)
    assert [row["id"] for row in bench.rows(source.name)] == [1]
