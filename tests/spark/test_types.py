"""Values of unusual types, through real Spark and real Iceberg tables."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import Table, column, decimal, insert, update

TIME, DATA = "io.debezium.time.", "io.debezium.data."
COLUMNS = (
    column("id", "int64", optional=False),
    column("day", "int32", logical=TIME + "Date"),
    column("at", "int64", logical=TIME + "MicroTimestamp"),
    column("moment", "string", logical=TIME + "ZonedTimestamp"),
    column("nanos", "int64", logical=TIME + "NanoTimestamp"),
    column("bits", "bytes", logical=DATA + "Bits", parameters={"length": "12"}),
    column("names", "map", keys={"type": "string"}, values={"type": "string", "optional": True}),
    column("counts", "map", keys={"type": "int32"}, values={"type": "int64"}),
    column(
        "price",
        "struct",
        logical=DATA + "VariableScaleDecimal",
        fields=[column("scale"), column("value", "bytes")],
    ),
)
DAY = 86_400_000_000
FIRST, LAST = -2440588, 2932896 + 366  # the last day of year 10000
ROW: dict[str, Any] = {
    "id": 1,
    "day": LAST,
    "at": LAST * DAY,
    "moment": "+10000-12-31T00:00:00Z",
    "nanos": 1_700_000_000_123_456_789,
    "bits": "FQ==",
    "names": {"k": "v", "n": None},
    "counts": [[7, 2**63 - 1]],
    "price": {"scale": 2, "value": decimal(-150)},
}
EARLY = {
    **ROW,
    "id": 2,
    "day": FIRST,
    "at": FIRST * DAY,
    "moment": "-4713-11-24T00:00:00Z",
    "names": {},
    "counts": None,
}


@pytest.mark.parametrize("deletes", ["equality", "positional"])
def test_values_of_unusual_types_survive_a_merge(
    spark: SparkSession, configure: Configure, deletes: str
) -> None:
    table = replace(Table(COLUMNS), server=f"t{uuid.uuid4().hex[:8]}")
    rule = f"""
        [[tables.rules]]
        match = "*.*"
        deletes = "{deletes}"
        types = {{ nanos = "long", price = "decimal(9,3)" }}
    """
    bench = Bench(spark, configure(more=rule))
    bench.apply(insert({**ROW, "names": None}, table=table, offset=0))

    bench.apply(
        update(ROW, table=table, offset=1),
        insert(EARLY, table=table, offset=2),
    )

    found = spark.sql(
        "SELECT id, unix_date(day) AS day, unix_micros(cast(at AS timestamp)) AS at, "
        "unix_micros(moment) AS moment, nanos, bits, names, counts, cast(price AS string) AS price "
        f"FROM shop.{table.server}.orders ORDER BY id"
    )
    rows = [row.asDict() for row in found.collect()]
    common = {"nanos": ROW["nanos"], "bits": b"\x00\x15", "price": "-1.500"}
    assert rows == [
        {
            "id": 1,
            "day": LAST,
            "at": LAST * DAY,
            "moment": LAST * DAY,
            "names": {"k": "v", "n": None},
            "counts": {7: 2**63 - 1},
            **common,
        },
        {
            "id": 2,
            "day": FIRST,
            "at": FIRST * DAY,
            "moment": FIRST * DAY,
            "names": {},
            "counts": None,
            **common,
        },
    ]
