"""What Java keeps of Spark's classes: each of the many starts of Spark in the tests is cheaper.

    python -m tests.java_classes FILE

A start that reads the file takes half the processor time. Java looks by itself whether a file is of
this Java and these jars, and does without one that is not.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

KEPT = Path(sys.prefix) / "spark-classes.jsa"

# Spark's JVMs live for minutes here: compiling their code to the last degree costs more than it
# gains on two cores. All of it must find room: without, a long run would go on uncompiled.
_ALWAYS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
# What Java has to say of its file would stand among the answers of the command.
SPARK_OPTIONS = f"{_ALWAYS} -XX:SharedArchiveFile={KEPT} -Xlog:cds*=off"

_CONFIG = """
name = "shop"
[source]
connector = "postgres"
topics = ["*"]
[kafka]
"bootstrap.servers" = "localhost:9"
"""


def keep_classes(file: Path) -> None:
    """Let a Spark do a little of everything and keep the classes that it loads."""
    from pyspark import SparkContext

    from cdc.config.load import parse_config
    from cdc.runtime.stream.session import build_session

    os.environ["SPARK_SUBMIT_OPTS"] = f"{_ALWAYS} -XX:ArchiveClassesAtExit={file} -Xlog:cds*=off"
    with tempfile.TemporaryDirectory(prefix="java-classes-") as folder:
        spark = build_session(parse_config(_CONFIG.encode(), Path(folder) / "shop.toml"))
        spark.sql("CREATE NAMESPACE shop.a")
        spark.sql("CREATE TABLE shop.a.t (id bigint, v string) USING iceberg")
        stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        query = (
            stream.selectExpr("value AS id", "'v' AS v")
            .mapInArrow(lambda batches: batches, "id bigint, v string")
            .writeStream.foreachBatch(lambda batch, _: batch.writeTo("shop.a.t").append())
            .option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        spark.table("shop.a.t").toArrow()
        spark.stop()
        # Java writes the file as it ends, which it does when its input does.
        gateway: Any = SparkContext._gateway
        gateway.proc.stdin.close()
        gateway.proc.wait()


if __name__ == "__main__":
    keep_classes(Path(sys.argv[1]).resolve())
