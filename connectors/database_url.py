"""The parts of a source database's address."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from cdc.errors import SourceUnreachableError

# What is wrong is never quoted: where a slash of the password is not escaped, a piece of the
# password seems to be the port.
NO_ADDRESS = (
    "its address does not look like scheme://user:password@host:port/name; write the special "
    "characters of a password as %2F and the like"
)


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """Where a database is, and who asks it."""

    hostname: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str


def read_database_url(url: str, database: str, default_port: int) -> DatabaseUrl:
    """Take an address such as `scheme://user:password@host:port/name` apart.

    Raises:
        SourceUnreachableError: It is no address.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or default_port
    except ValueError:
        raise SourceUnreachableError(database, NO_ADDRESS) from None
    return DatabaseUrl(
        hostname=parts.hostname or "localhost",
        port=port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=unquote(parts.path.lstrip("/")),
    )
