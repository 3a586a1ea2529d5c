"""The position of a change in MySQL's binary log."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

POSITION_FIELDS = {"file": "string", "pos": "int64"}
# A binary log file is at most a few gigabytes: 2^40 leaves eight million files.
FILE_STEP = 1 << 40


def position(source: "Mapping[str, pa.Array]") -> "pa.Array":
    """Join the number in the log file's name with the offset in it.

    As text `mysql-bin.000010` is less than `mysql-bin.00009`, and "23" more than "123".
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    number = pc.struct_field(pc.extract_regex(source["file"], r"\.(?P<number>\d+)$"), "number")
    return pc.add(pc.multiply(number.cast(pa.int64()), FILE_STEP), source["pos"])
