"""The position of a change in SQL Server's transaction log."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

POSITION_FIELDS = {"commit_lsn": "string"}
# The log file's number, the block in it and the record in that: 32, 32 and 16 bits.
LSN = r"^(?P<file>[0-9a-fA-F]{8}):(?P<block>[0-9a-fA-F]{8}):[0-9a-fA-F]{4}$"


def position(source: "Mapping[str, pa.Array]") -> "pa.Array":
    """Take as much of the commit's LSN as 63 bits hold: the file and the block, less its last bit.

    Changes are sent in the order of their commits, all of a transaction under the same LSN. The
    LSN of the change itself may fall within a transaction, so it is left out.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.extract_regex(source["commit_lsn"], LSN)
    digits = pc.binary_join_element_wise(
        "0x", pc.struct_field(parts, "file"), pc.struct_field(parts, "block"), ""
    )
    return pc.shift_right(digits.cast(pa.uint64()), pa.scalar(1, pa.uint64())).cast(pa.int64())
