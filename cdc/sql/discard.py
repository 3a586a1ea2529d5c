"""Records that leave the quarantine."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from cdc.sql.names import doubled, same_key


def discard_records(spark: SparkSession, table: str, places: pa.Table) -> None:
    """Remove records by their places, in one commit. Run twice, the second run finds none.

    Args:
        spark: Any session.
        table: The quarantine's quoted name.
        places: The columns that tell records apart.
    """
    # In a new session, since settings of another may put a ledger into the commit.
    session = spark.newSession()
    gone = session.createDataFrame(places)
    session.sql(discard_sql(table, places.column_names), gone=gone)


def discard_sql(table: str, names: Sequence[str]) -> str:
    """Render the statement; Spark puts the places in place of `{gone}`."""
    same = doubled(" AND ".join(same_key(names)))
    return f"DELETE FROM {doubled(table)} t WHERE EXISTS (SELECT 1 FROM {{gone}} s WHERE {same})"
