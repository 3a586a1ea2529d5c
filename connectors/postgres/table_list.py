"""The tables of a PostgreSQL database, as its own catalog has them."""

from cdc.dialect import SourceTables
from connectors.postgres.catalog import connected

_TABLES = """
    SELECT n.nspname, c.relname, c.oid::bigint
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""
# A standby has no LSN to write at; the one that it has replayed is as good.
_SERVER = """
    SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
               - '0/0'::pg_lsn,
           extract(epoch FROM clock_timestamp()) * 1000000,
           current_database(),
           (SELECT system_identifier FROM pg_control_system()) || '/' ||
           (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
"""


def tables(url: str) -> SourceTables:
    """List the tables; the number of one stays when its name or schema changes.

    Numbers are the cluster's own: those of a restored copy say nothing of the original.

    Raises:
        SourceUnreachableError: The URL is none.
        SourceDownError: The database does not answer, or lets nobody in.
        SourceCatalogError: It refuses the query.
    """
    with connected(url, "the tables") as connection:
        connection.autocommit = True  # each query sees what is there then
        before = connection.execute(_TABLES).fetchall()
        (answer,) = connection.execute(_SERVER).fetchall()
        after = connection.execute(_TABLES).fetchall()
    position, time, database, server = answer
    return SourceTables(
        server,
        {(schema, name): oid for schema, name, oid in (*before, *after)},
        None if position is None else int(position),
        int(time),
        database,
    )
