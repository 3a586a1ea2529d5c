"""Which records that were put aside have been overtaken, as Kafka tells it.

A record is overtaken by a newer change of its row that has been applied, and by a newer truncate.
Both are found between the record and the ledger's mark: in its own partition behind its offset, and
in the others from where these were at its source position.
"""

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse import after_cutoff, has_newer
from cdc.decode import DecodePlan, decode_changes
from cdc.model import OFFSET, PARTITION, POSITION, TIME, Cutoff, PartitionMark
from cdc.runtime.tables.mirrored_table import MirroredTable, rewind
from cdc.runtime.task.write_task import REPORT_SCHEMA, split_by_partition
from cdc.source.topic_log import TopicLog
from cdc.source.topics import OffsetRange

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
ROW = "row"


@dataclass(frozen=True, slots=True)
class Overtaken:
    """What was found out about changes that wait; one mask entry for each of them."""

    newer: Mask  # a newer change or truncate has been applied
    unknown: Mask  # Kafka does not have all that could tell


@dataclass(frozen=True, slots=True)
class NewerTask:
    """Looks through records that were applied for the keys of changes that wait."""

    decode: DecodePlan  # for keys alone
    waiting: pa.Table
    aside: Mapping[int, pa.Array]  # offsets that were not applied, by partition

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield for each chunk, pickled, which changes it overtakes and which cutoffs it has."""
        for _, partition, chunk in split_by_partition(batches):
            if partition in self.aside:
                known = pc.is_in(chunk.column("offset"), self.aside[partition])
                chunk = chunk.filter(pc.invert(known))
            if not len(chunk):
                continue
            offsets, keys, values = (chunk.column(name) for name in ("offset", "key", "value"))
            decoded = decode_changes(partition, offsets, keys, values, self.decode)
            newer = np.zeros(len(self.waiting), bool)
            for changes in decoded.changes:
                newer |= has_newer(self.waiting, changes, self.decode.key, partition)
            # A snapshot may begin before the chunk does: only its position counts.
            begun = (replace(begin, partition=None) for begin in decoded.snapshots)
            found = (np.flatnonzero(newer), (*decoded.truncates, *begun))
            yield pa.RecordBatch.from_pydict({"report": [pickle.dumps(found)]})


def find_overtaken(
    mirrored: MirroredTable,
    decode: DecodePlan,
    waiting: pa.Table,
    aside: Mapping[int, pa.Array],
    log: TopicLog,
) -> Overtaken:
    """Find out which changes have been overtaken. Nothing is changed.

    Args:
        mirrored: Their table, whose ledger says what was applied.
        decode: How its records are read.
        waiting: The changes: key columns, partition, offset, position and time.
        aside: The offsets of all records of the table in quarantine: they were not applied.
        log: What Kafka has.
    """
    own, others = _own_starts(waiting, mirrored), _other_starts(waiting, mirrored)
    spans = {}
    for partition, held in log.ranges(mirrored.topic).items():
        if partition not in own and partition not in others:
            continue
        applied = mirrored.marks[partition].next_offset
        if held.next >= applied:  # else it is another topic of that name
            spans[partition] = OffsetRange(held.first, applied)
    unknown = _unknown(waiting, mirrored.marks, spans, others)
    first, next_ = {}, {}
    for partition, span in spans.items():
        starts = [found[partition] for found in (own, others) if partition in found]
        start = max(span.first, min(starts))
        if start < span.next:
            first[mirrored.topic, partition] = start
            next_[mirrored.topic, partition] = span.next
    newer = np.zeros(len(waiting), bool)
    cutoffs: set[Cutoff] = set()
    if first:
        needed = [*decode.key, PARTITION, OFFSET, POSITION]
        task = NewerTask(decode.of_keys(), waiting.select(needed), aside)
        for row in log.read(first, next_).mapInArrow(task, REPORT_SCHEMA).collect():
            places, found = pickle.loads(row.report)
            newer[places] = True
            cutoffs |= set(found)
    return Overtaken(newer | _wiped(waiting, cutoffs), unknown)


def _own_starts(waiting: pa.Table, mirrored: MirroredTable) -> dict[int, int]:
    """Give what comes behind the first waiting record of each partition."""
    partitions, offsets = waiting[PARTITION].to_numpy(), waiting[OFFSET].to_numpy()
    return {
        partition: int(offsets[partitions == partition].min()) + 1
        for partition in np.unique(partitions).tolist()
        if partition in mirrored.marks
    }


def _other_starts(waiting: pa.Table, mirrored: MirroredTable) -> dict[int, int]:
    """Give where partitions were when the source made the oldest waiting change of another one.

    Those that have not come so far hold nothing newer.
    """
    oldest = Cutoff(None, 0, int(pc.min(waiting[POSITION]).as_py()))
    mine = pc.unique(waiting[PARTITION]).to_pylist()
    rewinds = rewind(mirrored, (oldest,)) if len(mirrored.marks) > 1 else {}
    return {p: max(mark.next_offset, 0) for p, mark in rewinds.items() if mine != [p]}


def _unknown(
    waiting: pa.Table,
    marks: Mapping[int, PartitionMark],
    spans: Mapping[int, OffsetRange],
    others: Mapping[int, int],
) -> Mask:
    """Tell the changes behind which Kafka lacks something."""
    partitions, behind = waiting[PARTITION].to_numpy(), waiting[OFFSET].to_numpy() + 1
    unknown = np.zeros(len(waiting), bool)
    for partition, mark in marks.items():
        first = spans[partition].first if partition in spans else mark.next_offset
        here = partitions == partition
        unknown |= here & (behind < first)
        if others.get(partition, first) < first:
            unknown |= ~here
    return unknown


def _wiped(waiting: pa.Table, cutoffs: Iterable[Cutoff]) -> Mask:
    """Tell the changes that a cutoff has wiped out."""
    rows = waiting.select([OFFSET, POSITION, TIME])
    rows = rows.append_column(ROW, pa.array(np.arange(len(waiting))))
    partitions = waiting[PARTITION].to_numpy()
    wiped = np.zeros(len(waiting), bool)
    for partition in np.unique(partitions).tolist():
        mine = partitions == partition
        part = rows.filter(pa.array(mine))
        for cutoff in cutoffs:
            part = after_cutoff(part, partition, cutoff)
        wiped |= mine & ~np.isin(np.arange(len(waiting)), part[ROW].to_numpy())
    return wiped
