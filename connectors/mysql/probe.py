"""Whether a MySQL or MariaDB server answers and can be a source."""

from typing import TYPE_CHECKING

from cdc.errors import SourceUnreachableError
from connectors.database_url import read_database_url

if TYPE_CHECKING:
    from pymysql import Connection
    from pymysql.cursors import Cursor

ANSWER_SECONDS = 10


def probe(url: str) -> str:
    """Connect and tell what was found.

    Raises:
        SourceUnreachableError: It does not answer, refuses the login, or keeps no row log.
    """
    import pymysql

    try:
        with connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@version, @@log_bin, @@binlog_format, @@binlog_row_image")
            version, on, form, image = cursor.fetchone() or ("", 0, "", "")
    except pymysql.MySQLError as error:
        reason = str(error.args[-1] if error.args else error)
        raise SourceUnreachableError("The database", reason) from error
    if not on or form != "ROW" or image != "FULL":
        raise SourceUnreachableError(
            "The database",
            f"log_bin is {on}, binlog_format {form}, binlog_row_image {image}; "
            "Debezium needs 1, ROW and FULL",
        )
    return f"{version}, row-based binary log"


def connect(url: str) -> "Connection[Cursor]":
    """Open the server at a URL.

    Raises:
        SourceUnreachableError: The URL is none.
        pymysql.MySQLError: The server does not answer, or refuses the login.
    """
    import pymysql

    address = read_database_url(url, "The database", 3306)
    return pymysql.connect(
        host=address.hostname,
        port=address.port,
        user=address.user,
        password=address.password,
        connect_timeout=ANSWER_SECONDS,
        charset="utf8mb4",
        autocommit=True,
    )
