"""Read all tables of a namespace with Spark, as files: `spark_reader CONFIG NAMESPACE FOLDER`."""

import sys
from pathlib import Path

import pyarrow.parquet as pq

from cdc.config import load_config
from cdc.runtime.stream.session import build_session


def main(config: Path, namespace: str, folder: Path) -> None:
    """Write each table of the namespace into a file of its name."""
    settings = load_config(config)
    spark = build_session(settings)
    try:
        for row in spark.sql(f"SHOW TABLES IN {settings.name}.{namespace}").collect():
            table = spark.table(f"{settings.name}.{namespace}.{row.tableName}")
            pq.write_table(table.toArrow(), folder / f"{row.tableName}.parquet")
    finally:
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
