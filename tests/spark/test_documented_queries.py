"""The queries that docs/modes.md shows give what it says, on the tables of its own example."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import ORDERS, Table, column, delete, insert, truncate, update

DOCS = Path(__file__).parents[2] / "docs"
MODES, CONFIG = ((DOCS / f"{page}.md").read_text(encoding="utf-8") for page in ("modes", "config"))
JANUARY, FEBRUARY = (
    1_768_000_000_000,
    1_770_000_000_000,
)  # before and after the queries' moment
TARGETS = next(
    text for text in re.findall(r"```toml\n(.*?)```", CONFIG, re.DOTALL) if "_log" in text
)
SOFT = '\n[[tables.rules]]\nmatch = "public.kept"\non_delete = "soft"\n'


@pytest.fixture
def table() -> Table:
    created = column("created_at", "int64", logical="io.debezium.time.Timestamp")
    columns = (*ORDERS.columns, created)
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}", columns=columns)


def query(start: str, *tables: tuple[str, str]) -> str:
    """Give the page's query that starts so, over other tables."""
    block = re.search(r"```sql\n(.*?)```", MODES, re.DOTALL)
    assert block is not None
    found = [q.strip() for q in re.sub(r"--.*", "", block[1]).split(";") if q.strip()]
    (text,) = [q for q in found if start in q]
    for old, new in tables:
        text = text.replace(old, new)
    return text


def names(rows: Sequence[Any]) -> list[tuple[int, str | None]]:
    return sorted((row["id"], row["name"]) for row in rows)


def test_the_queries_give_what_the_page_says(
    spark: SparkSession, configure: Configure, table: Table
) -> None:
    rules = (TARGETS + SOFT).replace("{database}", "{server}")
    bench = Bench(spark, configure(more=rules))
    kept = replace(table, name="kept")
    for each in (table, kept):
        bench.apply(
            insert({"id": 1, "name": "a"}, table=each, offset=0, source={"ts_ms": JANUARY}),
            insert({"id": 2, "name": "b"}, table=each, offset=1, source={"ts_ms": JANUARY}),
            update({"id": 1, "name": "a2"}, table=each, offset=2, source={"ts_ms": FEBRUARY}),
            delete({"id": 2}, table=each, offset=3, source={"ts_ms": FEBRUARY}),
        )
    bench.apply(truncate(table=replace(table, name="kept"), offset=4))
    bench.apply(insert({"id": 3, "name": "c"}, table=kept, offset=5))

    def run(start: str, shown: str, real: str) -> list[tuple[int, str | None]]:
        return names(spark.sql(query(start, (shown, f"shop.{table.server}.{real}"))).collect())

    history = ("shop.orders_history", "orders_history")
    assert run("_mirror_current", *history) == [(1, "a2")]
    assert run("_mirror_valid_from <=", *history) == [(1, "a"), (2, "b")]
    assert run("row_number()", "shop.orders_log", "orders_log") == [(1, "a2"), (2, None)]
    assert run("NOT _mirror_deleted", "shop.orders", "kept") == [(3, "c")]
