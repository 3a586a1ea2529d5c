"""Whether a SQL Server answers and can be a source."""

from typing import Any

from cdc.errors import DriverMissingError, SourceUnreachableError
from connectors.database_url import read_database_url

ANSWER_SECONDS = 10
CAPTURE = (
    "SELECT CAST(SERVERPROPERTY('ProductVersion') AS varchar(128)), DB_NAME(),"
    " (SELECT is_cdc_enabled FROM sys.databases WHERE database_id = DB_ID())"
)


def probe(url: str) -> str:
    """Connect and tell what was found.

    Raises:
        DriverMissingError: The client library is not installed.
        SourceUnreachableError: It does not answer, refuses the login, or captures no changes.
    """
    try:
        import pymssql
    except ImportError as error:
        raise DriverMissingError("SQL Server", "pymssql", "sqlserver") from error

    address = read_database_url(url, "SQL Server", 1433)
    try:
        with (
            pymssql.connect(
                server=address.hostname,
                port=str(address.port),
                user=address.user,
                password=address.password,
                database=address.database or "master",
                login_timeout=ANSWER_SECONDS,
                timeout=ANSWER_SECONDS,
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(CAPTURE)
            row: Any = cursor.fetchone()
    except pymssql.Error as error:
        raise SourceUnreachableError("SQL Server", _reason(error)) from error
    version, database, captured = row
    if not captured:
        raise SourceUnreachableError(
            "SQL Server",
            f"change data capture is off in {database}; run sys.sp_cdc_enable_db there, and "
            "sys.sp_cdc_enable_table for every table to mirror",
        )
    return f"SQL Server {version}, change data capture on in {database}"


def _reason(error: Exception) -> str:
    """Find the line that says what happened between those of the driver's layers."""
    text: Any = error.args[0] if error.args else error
    if isinstance(text, tuple):
        text = text[-1]
    whole = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    lines = [line.partition("DB-Lib error")[0].strip() for line in whole.split("\n")]
    return next((line for line in lines if line), type(error).__name__).rstrip(".")
