"""Which rows come from a snapshot with which PostgreSQL's connector began anew."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

SNAPSHOT_FIELDS = {"snapshot": "string", "sequence": "string"}
NO_SNAPSHOT = ("false", "incremental")


def fresh(source: "Mapping[str, pa.Array]") -> "pa.Array":
    """Look for rows of a snapshot before which no commit was seen.

    The first member of `sequence` is the last commit that the connector knows of. It has none when
    it starts without offsets, and has one when somebody asks it for a snapshot.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    marked = pc.invert(pc.is_in(source["snapshot"], pa.array(NO_SNAPSHOT)))
    return pc.and_(
        pc.and_(source["snapshot"].is_valid(), marked),
        pc.starts_with(source["sequence"], "[null,"),
    )
