"""The tables of a MySQL or MariaDB server, as its own catalog has them."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from cdc.dialect import SourceTables
from connectors.mysql.catalog import connected
from connectors.mysql.position import FILE_STEP

if TYPE_CHECKING:
    from pymysql.cursors import Cursor

_TABLES = """
    SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES
    WHERE TABLE_TYPE = 'BASE TABLE'
      AND TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
"""
# In MySQL, and in MariaDB.
_NUMBERS = tuple(
    f"SELECT NAME, TABLE_ID FROM information_schema.{view}"
    for view in ("INNODB_TABLES", "INNODB_SYS_TABLES")
)
_SERVERS = ("SELECT @@server_uuid", "SELECT @@server_uid")
_LOG = ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS")
# InnoDB writes other characters in a code of its own.
_PLAIN = re.compile(r"(\w+)/(\w+)", re.ASCII)


def tables(url: str) -> SourceTables:
    """List the tables, with InnoDB's numbers where the user may see them (PROCESS).

    A number stays when its table is renamed and is never given again; TRUNCATE, OPTIMIZE and every
    ALTER that copies the table give it a new one.

    Raises:
        SourceUnreachableError: The URL is none.
        SourceDownError: The database does not answer.
        SourceCatalogError: It refuses the login or the query.
    """
    with connected(url, "the tables") as cursor:
        cursor.execute(_TABLES)
        before = cursor.fetchall()
        log = _first_answer(cursor, _LOG)
        cursor.execute("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)")
        ((time,),) = cursor.fetchall()
        numbers = _numbers(cursor)
        cursor.execute(_TABLES)
        after = cursor.fetchall()
        server = _first_answer(cursor, _SERVERS)
    names = [(str(schema), str(name)) for schema, name in (*before, *after)]
    return SourceTables(
        str(server[0][0]) if server else "",
        {name: numbers.get(name) for name in names},
        _position(log),
        int(time),
    )


def _numbers(cursor: "Cursor") -> dict[tuple[str, str], int]:
    found = {}
    for name, number in _first_answer(cursor, _NUMBERS):
        plain = _PLAIN.fullmatch(str(name))
        if plain is not None:
            found[plain[1], plain[2]] = int(str(number))
    return found


def _first_answer(cursor: "Cursor", queries: tuple[str, ...]) -> tuple[tuple[object, ...], ...]:
    """Ask in the words of one server, then of the other; nothing if the user may not."""
    import pymysql

    for query in queries:
        with suppress(pymysql.ProgrammingError, pymysql.InternalError, pymysql.OperationalError):
            cursor.execute(query)
            return cursor.fetchall()
    return ()


def _position(log: tuple[tuple[object, ...], ...]) -> int | None:
    """Give the end of the binary log as the number that changes have."""
    if not log:
        return None
    file, position = str(log[0][0]), int(str(log[0][1]))
    return int(file.rpartition(".")[2]) * FILE_STEP + position
