"""Defaults of new columns for the rows that a table had before."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from cdc.model import CURRENT
from cdc.sql.names import quoted


def fill_defaults(
    spark: SparkSession, table: str, defaults: Mapping[str, str], *, current_only: bool = False
) -> None:
    """Give new columns their defaults in old rows. Run twice, the second run changes no row.

    It must come before any row is written that has the columns: a null in them is a value then.

    Args:
        spark: Any session.
        table: The table's quoted name.
        defaults: By column, as text.
        current_only: Of a history, the versions that have ended stay as they were.
    """
    # In a new session, since settings of another may put a ledger into the commit.
    session = spark.newSession()
    types = {field.name: field.dataType for field in session.sql(f"SELECT * FROM {table}").schema}
    for name, text in defaults.items():
        if name in types:  # it may have been dropped since
            kind = types[name].simpleString()
            session.sql(fill_sql(table, name, kind, current_only=current_only), {"value": text})


def fill_sql(table: str, column: str, kind: str, *, current_only: bool = False) -> str:
    """Render the statement that fills one column."""
    name = quoted(column)
    only = f" AND {quoted(CURRENT)}" if current_only else ""
    return f"UPDATE {table} SET {name} = CAST(:value AS {kind}) WHERE {name} IS NULL{only}"
