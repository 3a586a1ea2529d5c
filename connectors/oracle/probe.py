"""Whether an Oracle database answers and can be a source."""

from cdc.errors import DriverMissingError, SourceUnreachableError
from connectors.database_url import read_database_url

ANSWER_SECONDS = 10
LOGGING = "SELECT log_mode, supplemental_log_data_min FROM v$database"


def probe(url: str) -> str:
    """Connect and tell what was found.

    Raises:
        DriverMissingError: The client library is not installed.
        SourceUnreachableError: It does not answer, refuses the login, or logs too little.
    """
    try:
        import oracledb
    except ImportError as error:
        raise DriverMissingError("Oracle", "oracledb", "oracle") from error

    address = read_database_url(url, "Oracle", 1521)
    try:
        with (
            oracledb.connect(
                host=address.hostname,
                port=address.port,
                user=address.user,
                password=address.password,
                service_name=address.database,
                tcp_connect_timeout=ANSWER_SECONDS,
            ) as connection,
            connection.cursor() as cursor,
        ):
            version = connection.version
            cursor.execute(LOGGING)
            mode, supplemental = cursor.fetchone() or ("", "")
    # A host that nobody knows is told by the operating system, not by the driver.
    except (oracledb.Error, OSError) as error:
        # The last line is the cause; those before it name the driver's layers.
        raise SourceUnreachableError("Oracle", str(error).strip().split("\n")[-1]) from error
    if mode != "ARCHIVELOG" or supplemental == "NO":
        raise SourceUnreachableError(
            "Oracle",
            f"log_mode is {mode} and supplemental_log_data_min {supplemental}; Debezium needs "
            "ARCHIVELOG and supplemental logging, of all columns for every table to mirror",
        )
    return f"Oracle {version}, archived redo log with supplemental logging"
