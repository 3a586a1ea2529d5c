"""Whether a PostgreSQL server answers and can be a source."""

from cdc.errors import SourceUnreachableError
from connectors.database_url import NO_ADDRESS

ANSWER_SECONDS = 10


def probe(url: str) -> str:
    """Connect and tell what was found.

    Raises:
        SourceUnreachableError: It does not answer, refuses the login, or keeps no logical log.
    """
    import psycopg

    check_address(url)
    try:
        with psycopg.connect(url, connect_timeout=ANSWER_SECONDS) as connection:
            version = connection.info.parameter_status("server_version")
            row = connection.execute("SHOW wal_level").fetchone()
    except psycopg.Error as error:
        reason = str(error).strip().split("\n")[0]
        raise SourceUnreachableError("PostgreSQL", reason) from error
    level = row[0] if row else ""
    if level != "logical":
        raise SourceUnreachableError(
            "PostgreSQL", f"wal_level is {level}; set it to logical and restart the server"
        )
    return f"PostgreSQL {version}, wal_level logical"


def check_address(url: str) -> None:
    """Refuse what is no address, before an error of the client quotes a piece of the password.

    Raises:
        SourceUnreachableError: It is none.
    """
    import psycopg
    import psycopg.conninfo

    try:
        ports = str(psycopg.conninfo.conninfo_to_dict(url).get("port") or "5432")
    except psycopg.ProgrammingError:
        raise SourceUnreachableError("PostgreSQL", NO_ADDRESS) from None
    if not ports.replace(",", "").isdecimal():
        raise SourceUnreachableError("PostgreSQL", NO_ADDRESS)
