"""Step 2 on the executors: a task's records to files, without knowing of the other tasks."""

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import numpy as np
import pyarrow as pa

from cdc.decode import DecodePlan, Wire
from cdc.dialect import Dialect
from cdc.model import PartitionReport, TargetId
from cdc.runtime.task.finish import finish, finish_together
from cdc.runtime.task.partition import PartitionRecords, SharedDecoder
from cdc.runtime.task.target_plan import TargetPlan

REPORT_SCHEMA = "report binary"


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Decodes, collapses and writes what Spark hands to one task."""

    dialect: Dialect
    plans: Mapping[str, tuple[TargetPlan, ...]]
    parked: frozenset[str]
    wire: Wire = field(default_factory=Wire)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one pickled report for each topic partition of the task and each table."""
        together: dict[TargetId, list[PartitionRecords]] = {}
        runs = groupby(split_by_partition(batches), key=lambda run: run[:2])
        for (topic, partition), chunks in runs:
            tables = [PartitionRecords(topic, partition, plan) for plan in self._plans_of(topic)]
            for _, _, chunk in chunks:
                decoder = SharedDecoder(partition)
                for records in tables:
                    records.take(chunk, decoder)
            for records in (records for records in tables if records.tally.read):
                if records.plan.routing.keys_moving:
                    together.setdefault((topic, records.plan.name), []).append(records)
                else:
                    yield _pickled(finish(records))
        for parts in together.values():
            for report in finish_together(parts):
                yield _pickled(report)

    @property
    def in_one_task(self) -> frozenset[str]:
        """The topics of which all records must come to one task."""
        return frozenset(
            topic
            for topic, plans in self.plans.items()
            if any(plan.routing.keys_moving for plan in plans)
        )

    def _plans_of(self, topic: str) -> tuple[TargetPlan, ...]:
        if topic in self.parked:
            return ()  # the records stay in Kafka until the table is taken up again
        new = TargetPlan(DecodePlan(topic, self.dialect, self.wire))
        return self.plans.get(topic, (new,))


def _pickled(report: PartitionReport) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"report": [pickle.dumps(report)]})


def split_by_partition(
    batches: Iterable[pa.RecordBatch],
) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    """Cut record batches where the topic or the partition changes; a task may hold several."""
    for batch in batches:
        if not len(batch):
            continue
        topics = batch.column("topic").dictionary_encode().indices.to_numpy()
        partitions = batch.column("partition").to_numpy()
        changed = (np.diff(topics) != 0) | (np.diff(partitions) != 0)
        edges = [0, *(np.flatnonzero(changed) + 1).tolist(), len(batch)]
        for start, end in pairwise(edges):
            run = batch.slice(start, end - start)
            yield run.column("topic")[0].as_py(), int(partitions[start]), run
