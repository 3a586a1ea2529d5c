"""A table written by the mirror says the same to every engine that can read it."""

import json
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
import pytest
from pyiceberg.catalog import load_catalog

from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.spark.conftest import IN_EACH_WAY
from tests.unit.messages import (
    Table,
    column,
    decimal,
    decimal_column,
    delete,
    insert,
    update,
)

pytestmark = IN_EACH_WAY

COLUMNS = (
    column("id", "int64", optional=False),
    column("name", "string"),
    decimal_column("amount", 12, 2),
    column("day", "int32", logical="io.debezium.time.Date"),
    column("at", "int64", logical="io.debezium.time.MicroTimestamp"),
    column("flag", "boolean"),
)
Row = tuple[Any, ...]


def row(number: int, name: str) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "amount": decimal(number * 125 - 5000),
        "day": 19000 + number,
        "at": 1_700_000_000_000_000 + number,
        "flag": number % 2 == 0,
    }


@pytest.fixture
def written(bench: Bench, table: Table) -> tuple[Bench, Table]:
    """A table of some rows, updates and deletes, over three batches."""
    table = replace(table, columns=COLUMNS)
    rows = [insert(row(n, f"näme {n}"), table=table, offset=n) for n in range(100)]
    bench.apply(*rows)
    bench.apply(*(update(row(n, "new"), table=table, offset=100 + n) for n in range(0, 100, 7)))
    bench.apply(*(delete({"id": n}, table=table, offset=300 + n) for n in range(0, 100, 3)))
    return bench, table


def expected() -> list[tuple[int, str]]:
    kept = [n for n in range(100) if n % 3]
    return [(n, "new" if n % 7 == 0 else f"näme {n}") for n in kept]


def test_engines_agree_on_every_row(
    written: tuple[Bench, Table], deletes: str, configure: Configure
) -> None:
    bench, table = written
    catalog = load_catalog("shop", **configure().catalog.properties())
    mirrored = catalog.load_table((table.server, "orders"))
    columns = "id, name, CAST(amount AS VARCHAR(20)), CAST(day AS VARCHAR(20)), flag"

    spark = bench.spark.sql(
        f"SELECT id, name, CAST(amount AS STRING), CAST(day AS STRING), flag "
        f"FROM shop.{table.server}.orders ORDER BY id"
    )
    readings: dict[str, list[Row]] = {"spark": [tuple(r) for r in spark.collect()]}
    if deletes == "positional":
        found = mirrored.scan().to_arrow().sort_by("id").to_pylist()
        readings["pyiceberg"] = [
            (r["id"], r["name"], str(r["amount"]), str(r["day"]), r["flag"]) for r in found
        ]
        readings["duckdb"] = read_with_duckdb(columns, mirrored.metadata_location)
    else:
        readings["chdb"] = read_with_clickhouse(mirrored.location())

    assert [reading[:2] for reading in readings["spark"]] == expected()
    for engine, reading in readings.items():
        assert by_value(reading) == by_value(readings["spark"]), engine


def by_value(rows: list[Row]) -> list[Row]:
    """Compare decimals as numbers: ClickHouse writes them without trailing zeros."""
    return [(key, name, Decimal(amount), *rest) for key, name, amount, *rest in rows]


def read_with_duckdb(columns: str, metadata: str) -> list[Row]:
    with duckdb.connect() as connection:
        for package, name in (
            (duckdb_extension_avro, "avro"),
            (duckdb_extension_iceberg, "iceberg"),
        ):
            (folder,) = package.__path__
            (extension,) = Path(folder).glob(f"extensions/*/{name}.duckdb_extension")
            connection.execute(f"LOAD '{extension}'")
        query = f"SELECT {columns} FROM iceberg_scan('{metadata}') ORDER BY id"
        return connection.execute(query).fetchall()


READ_WITH_CLICKHOUSE = """
import chdb, json, sys
columns = "id, name, toString(amount), toString(day), flag"
query = f"SELECT {columns} FROM icebergLocal('{sys.argv[1]}') ORDER BY id"
rows = chdb.query(query, "ArrowTable").to_pylist()
print(json.dumps([list(row.values()) for row in rows]))
"""


def read_with_clickhouse(location: str) -> list[Row]:
    # It reads only what lies below the folder in which it runs.
    command = [sys.executable, "-c", READ_WITH_CLICKHOUSE, location]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)
    return [tuple(row) for row in json.loads(done.stdout)]
