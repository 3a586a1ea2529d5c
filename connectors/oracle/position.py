"""The position of a change in Oracle's redo log."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

POSITION_FIELDS = {"commit_scn": "string", "scn": "string"}
# A number, or one for each redo thread of a cluster, the first thread's first. More than 18 digits
# fit no 64-bit number, and take Oracle centuries.
SCN = r"^(?P<number>\d{1,18})(?:[:,]|$)"


def position(source: "Mapping[str, pa.Array]") -> "pa.Array":
    """Take the commit's system change number; a row of the snapshot has only its own.

    Changes are sent in the order of their commits, while their own numbers interleave. As text
    "9999" is more than "10000".
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    commit, own = (
        pc.struct_field(pc.extract_regex(source[name], SCN), "number").cast(pa.int64())
        for name in POSITION_FIELDS
    )
    return pc.coalesce(commit, own)
