"""The position of a change in PostgreSQL's write-ahead log."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

POSITION_FIELDS = {"lsn": "int64"}


def position(source: "Mapping[str, pa.Array]") -> "pa.Array":
    """Take the change's own LSN.

    LSNs do not rise in commit order, so they never decide which change is the newest. They serve
    where the lock that a truncate takes makes them rise, and a redelivered change keeps its own.
    """
    return source["lsn"]
