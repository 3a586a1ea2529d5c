"""Records of a partition that cannot be applied, on their way into quarantine."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.model import BadRecord, TableName, WrittenFile
from cdc.runtime.task.tally import Offsets
from cdc.runtime.task.target_plan import QuarantinePlan


class BadRecords:
    """The bad records of one topic partition, kept whole."""

    def __init__(self) -> None:
        self._reasons: dict[int, str] = {}
        self._records: list[pa.RecordBatch] = []

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def take(self, bad: Sequence[BadRecord], chunk: pa.RecordBatch) -> None:
        """Keep those of a chunk of records."""
        if bad:
            self._reasons |= {record.offset: record.reason for record in bad}
            offsets = pa.array([record.offset for record in bad])
            self._records.append(chunk.filter(pc.is_in(chunk.column("offset"), offsets)))

    @property
    def first(self) -> BadRecord | None:
        """The one that was met first."""
        return next((BadRecord(*found) for found in self._reasons.items()), None)

    @property
    def offsets(self) -> Offsets:
        """Which records they are."""
        return np.array([*self._reasons], np.int64)

    def write(
        self, plan: QuarantinePlan | None, partition: int, table: TableName | None
    ) -> WrittenFile | None:
        """Write those that go into quarantine and are not there already."""
        if plan is None or not self:
            return None
        records = pa.Table.from_batches(self._records)
        offsets = records["offset"].combine_chunks()
        new = pc.greater_equal(offsets, plan.marks.get(partition, 0))
        reasons = [self._reasons[offset] for offset in offsets.to_pylist()]
        now = datetime.now(UTC)
        rows = pa.table(
            {
                "table": pa.array([str(table)] * len(records)),
                "topic": records["topic"],
                "partition": records["partition"],
                "offset": offsets,
                "key": records["key"],
                "value": records["value"],
                "reason": pa.array(reasons),
                "schema_id": _schema_ids(records["value"].combine_chunks()),
                "time": pa.array([now] * len(records), pa.timestamp("us", "UTC")),
            }
        ).filter(new)
        return plan.writer.write_quarantined(rows) if len(rows) else None


def _schema_ids(values: pa.Array) -> pa.Array:
    """Read the schema ids of Avro messages; JSON has none."""
    heads = (value[1:5] if value and value[0] == 0 else b"" for value in values.to_pylist())
    ids = [int.from_bytes(head, "big", signed=True) if len(head) == 4 else None for head in heads]
    return pa.array(ids, pa.int32())
