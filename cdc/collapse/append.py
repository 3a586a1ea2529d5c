"""Every change a row: the table is the log of its source."""

import pyarrow as pa

from cdc.collapse.collapse import CollapsedChanges
from cdc.model import OFFSET, PARTITION


def log_rows(changes: pa.Table, partition: int) -> CollapsedChanges:
    """Make a row of every change, which names its partition; nothing in the table is replaced.

    Changes keep their columns of op, offset, position and time, and say what they still lack.
    """
    number = pa.repeat(pa.scalar(partition, pa.int32()), len(changes))
    return CollapsedChanges(
        rows=changes.append_column(pa.field(PARTITION, pa.int32()), number),
        deleted_keys=changes.slice(0, 0),
        applied=changes[OFFSET].to_numpy(),
    )
