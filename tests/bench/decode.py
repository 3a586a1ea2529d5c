"""How fast the decoder is, next to Spark's own readers and fastavro, all on one core in one run.

Every reader gets the same 100,000 changes of one table. What is counted is the way from a record's
bytes to the columns of the row and the fields of the envelope that a mirror needs. The decoder's
columns have their final types; those of the others are as the message holds them, so their time
leaves out what is still to be done. Of a Spark job the time of the same job without the reader is
taken away. Times are those of the processor, Python's and the JVM's, so that others on the machine
do not count, and the best of several rounds in which the readers take turns.
"""

import io
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

CHANGES = 100_000
ROUNDS = 5

Rounds = dict[str, Callable[[], object]]


def main() -> None:
    """Print a table of rows per second, and last the ratios as one line of JSON."""
    # Before anything starts a thread: they all inherit it.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    logging.basicConfig(level=logging.WARNING)
    changes = _changes()
    topic, avro = _avro(changes)
    from tests.unit.registry_server import served

    with served(topic.schemas) as url:
        readers: Rounds = {
            "json with schemas: database-mirror": _ours(changes, {}),
            "json without schemas: database-mirror": _ours(
                [_bare(change) for change in changes], {}, described=changes[0]
            ),
            "avro: database-mirror": _ours(avro, {"url": url}),
            "avro: fastavro": _fastavro(topic, avro),
        }
        spark, spark_readers = _spark(changes, topic, avro)
        best = _best({**readers, **spark_readers})
        spark.stop()
    seconds = {
        **{name: best[name] for name in readers},
        "json with schemas: from_json": best["from_json"] - best["json scan"],
        "avro: from_avro": best["from_avro"] - best["avro scan"],
    }
    for name in sorted(seconds):
        print(f"{name:<40} {CHANGES / seconds[name]:>12,.0f} rows/s")
    ours, ours_avro = (
        seconds["json with schemas: database-mirror"],
        seconds["avro: database-mirror"],
    )
    ratios = {
        "json_vs_from_json": seconds["json with schemas: from_json"] / ours,
        "avro_vs_fastavro": seconds["avro: fastavro"] / ours_avro,
        "avro_vs_from_avro": seconds["avro: from_avro"] / ours_avro,
    }
    print(json.dumps({name: round(ratio, 2) for name, ratio in ratios.items()}))


def _changes() -> list[Any]:
    from tests.unit.messages import Table, column, decimal, decimal_column, update

    table = Table(
        (
            column("id", "int64", optional=False),
            column("customer", "int32", optional=False),
            column("status", "string"),
            decimal_column("amount", 12, 2),
            column("note", "string"),
            column("placed", "int64", logical="io.debezium.time.MicroTimestamp"),
            column("shipped", "int32", logical="io.debezium.time.Date"),
            column("changed", "string", logical="io.debezium.time.ZonedTimestamp"),
            column("weight", "double"),
            column("gift", "boolean"),
        )
    )
    return [
        update(
            {
                "id": place,
                "customer": place % 9973,
                "status": "paid" if place % 3 else "new",
                "amount": decimal(place * 7919 % 10**9),
                "note": None if place % 5 == 0 else f"leave at door {place}",
                "placed": 1_700_000_000_000_000 + place * 1_000_003,
                "shipped": 19_700 + place % 365,
                "changed": f"2024-02-{1 + place % 28:02}T10:34:{place % 60:02}.{place:06}Z",
                "weight": place / 7,
                "gift": place % 2 == 0,
            },
            table=table,
            offset=place,
        )
        for place in range(CHANGES)
    ]


def _bare(message: Any) -> Any:
    """Take the schemas away, as the converter does with schemas.enable = false."""
    key, value = (
        json.dumps(json.loads(part)["payload"], separators=(",", ":")).encode()
        for part in (message.key, message.value)
    )
    return replace(message, key=key, value=value)


def _avro(changes: list[Any]) -> tuple[Any, list[Any]]:
    from tests.unit.avro_messages import AvroTopic

    topic = AvroTopic()
    return topic, [topic.write(change) for change in changes]


def _ours(
    messages: list[Any], registry: dict[str, str], *, described: Any = None
) -> Callable[[], object]:
    """Decode messages; `described` is one with a schema, where they have none."""
    from cdc.decode import DecodePlan, Wire, decode_changes
    from cdc.model.column_types import known_columns
    from connectors import DIALECTS
    from tests.unit.messages import arrays, plan_of

    topic, dialect, wire = messages[0].topic, DIALECTS["postgres"], Wire(registry=registry)
    columns = arrays(messages)
    plan = DecodePlan(topic, dialect, wire)
    (schema,) = decode_changes(0, *arrays([described or messages[0]]), plan).new_schemas
    known = known_columns(declared=schema.columns if described else ())
    plan = replace(plan_of(topic, [schema], dialect), wire=wire, columns=known)

    def read() -> object:
        decoded = decode_changes(0, *columns, plan)
        assert sum(len(table) for table in decoded.changes) == CHANGES
        return decoded

    return read


def _fastavro(topic: Any, messages: list[Any]) -> Callable[[], object]:
    import fastavro
    import pyarrow as pa

    values = [message.value for message in messages]
    number = int.from_bytes(values[0][1:5], "big")
    schema = fastavro.parse_schema(json.loads(topic.schemas[number]))

    def read() -> object:
        records: list[Any] = [
            fastavro.schemaless_reader(io.BytesIO(value[5:]), schema, None) for value in values
        ]
        return pa.Table.from_pylist([record["after"] for record in records])

    return read


def _spark(changes: list[Any], topic: Any, avro: list[Any]) -> tuple[Any, Rounds]:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    from cdc.downloads.spark_jars import cached_jars, spark_version

    # The compiler's threads share the core with the reader: without the last degree it is ready
    # sooner, with it the reader is faster, and only that counts here.
    jars = cached_jars(f"spark-avro-{spark_version()}").glob("*.jar")
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", ",".join(str(jar) for jar in jars))
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC")
    )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def cached(messages: list[Any]) -> DataFrame:
        values = pa.table({"value": pa.array([message.value for message in messages], pa.binary())})
        frame = spark.createDataFrame(values).coalesce(1).cache()
        assert frame.count() == CHANGES
        return frame

    row = (
        "struct<id:bigint,customer:int,status:string,amount:string,note:string,placed:bigint,"
        "shipped:int,changed:string,weight:double,gift:boolean>"
    )
    source = "struct<name:string,db:string,schema:string,table:string,lsn:bigint>"
    envelope = f"struct<payload:struct<after:{row},source:{source},op:string>>"
    json_values, avro_values = cached(changes), cached(avro)
    number = int.from_bytes(avro[0].value[1:5], "big")
    text = F.col("value").cast("string")
    read_json = json_values.select(F.from_json(text, envelope).alias("m")).select(
        "m.payload.after.*", "m.payload.source", "m.payload.op"
    )
    datum = F.expr("substring(value, 6)")
    read_avro = avro_values.select(from_avro(datum, topic.schemas[number]).alias("m")).select(
        "m.after.*",
        *(f"m.source.{name}" for name in ("name", "db", "schema", "lsn")),
        F.col("m.source.table"),
        "m.op",
    )

    def run(frame: DataFrame) -> Callable[[], object]:
        return lambda: frame.write.format("noop").mode("overwrite").save()

    return spark, {
        "from_json": run(read_json),
        "json scan": run(json_values.select(text)),
        "from_avro": run(read_avro),
        "avro scan": run(avro_values.select(datum)),
    }


def _best(readers: Rounds) -> dict[str, float]:
    """Let the readers take turns, and keep each one's best time; the first turn warms them up."""
    best: dict[str, float] = {}
    for turn in range(ROUNDS + 1):
        for name, read in readers.items():
            started = _processor_seconds()
            read()
            took = _processor_seconds() - started
            if turn:
                best[name] = min(took, best.get(name, took))
        print(f"round {turn} of {ROUNDS}", file=sys.stderr)
    return best


def _processor_seconds() -> float:
    """Sum up what this process and those that it started have used, Spark's JVM above all."""
    used = time.process_time()
    for child in Path("/proc/self/task").glob("*/children"):
        used += sum(_used_by(int(pid)) for pid in child.read_text().split())
    return used


def _used_by(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks: int = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks


if __name__ == "__main__":
    main()
