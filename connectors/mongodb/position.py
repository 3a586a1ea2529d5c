"""When a MongoDB change happened."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

POSITION_FIELDS = {"ts_ms": "int64"}


def position(source: "Mapping[str, pa.Array]") -> "pa.Array":
    """Take the time of the change.

    `ord` counts the changes within a second of the cluster's time. Newer connectors give the
    server's own clock as the change's time, so that the two do not belong together.
    """
    return source["ts_ms"]
