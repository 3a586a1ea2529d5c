"""Records in quarantine as changes of their table, as far as they can be read now."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode import DecodedChanges, DecodePlan, decode_changes
from cdc.errors import RestlessTopicError, SchemaChangeError
from cdc.model import MISSING, OFFSET, PARTITION, SourceTable, TargetId, Unplanned, cutoffs_in_order
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.follow.follower import TableFollower
from cdc.runtime.replay.newer_changes import Mask
from cdc.runtime.stream.plans import Plans
from cdc.runtime.tables.mirrored_table import MirroredTable

# Schemas may come one after the other, as in a batch.
MOST_PASSES = 6
NO_TABLE = "neither it nor any other record here says which table of the source it is of"

Place = tuple[int, int]  # partition and offset


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of the records of one table when they were read again."""

    records: pa.Table
    changes: pa.Table | None = None  # what can be read, without values that are of no use here
    unreadable: dict[Place, str] = field(default_factory=dict)
    truncates: tuple[Place, ...] = ()

    def places(self) -> list[Place]:
        """Name all records."""
        return _places(self.records["partition"], self.records["offset"])

    def mask_of(self, places: Collection[Place]) -> Mask:
        """Tell which records are among the given ones."""
        among = set(places)
        return np.array([place in among for place in self.places()], bool)

    def offsets(self) -> dict[int, pa.Array]:
        """Give the offsets of all records, by partition."""
        partitions = self.records["partition"]
        return {
            number: self.records["offset"].filter(pc.equal(partitions, number)).combine_chunks()
            for number in pc.unique(partitions).to_pylist()
        }


def places_of(changes: pa.Table) -> set[Place]:
    """Name the records of some changes."""
    return set(_places(changes[PARTITION], changes[OFFSET]))


def source_of(context: MirrorContext, topic: str, records: pa.Table) -> SourceTable | None:
    """Read from records which table of the source they are of; None where none of them tells.

    Raises:
        MirrorError: The topic as a whole cannot be read.
    """
    parts = _decoded(records, _tableless(context, topic))
    return next((part.table for _, part in parts if part.table is not None), None)


def read_tableless(context: MirrorContext, topic: str, records: pa.Table) -> Reading:
    """Say why no record tells its table."""
    reading = Reading(records, unreadable=dict.fromkeys(_all_places(records), NO_TABLE))
    for partition, part in _decoded(records, _tableless(context, topic)):
        reading.unreadable.update({(partition, bad.offset): bad.reason for bad in part.bad_records})
    return reading


def read_changes(
    plans: Plans, target: TargetId, records: pa.Table, follower: TableFollower | None
) -> Reading:
    """Read records with their table and the settings as they are now.

    Args:
        plans: The plans of the mirror's tables.
        target: The records' table, which is open.
        records: The records, in the order of their places.
        follower: Lets the table follow schemas that it has not met. Without that, of records that
            have such a schema only the key is read.

    Raises:
        MirrorError: The topic as a whole cannot be read, or the table cannot follow.
    """
    for _ in range(MOST_PASSES):
        plan = plans.decode_plan(target)
        parts = list(_decoded(records, plan))
        schemas = dict.fromkeys(s for _, part in parts for s in part.new_schemas)
        if schemas and follower is None:
            parts = list(_decoded(records, plan.of_keys() if plan.key else plan))
        elif schemas and follower is not None:
            source = next(part.table for _, part in parts if part.table is not None)
            follower.follow(target, Unplanned(source, tuple(schemas)), _refuse_key)
            continue
        return _reading(records, parts)
    raise RestlessTopicError(target[0])


def _refuse_key(mirrored: MirroredTable, key: tuple[str, ...]) -> tuple[str, ...]:
    """Leave a change of the key to the mirror: what else is waiting comes before it."""
    raise SchemaChangeError(str(mirrored.view.source), (f"its key to ({', '.join(key)})",))


def _reading(records: pa.Table, parts: list[tuple[int, DecodedChanges]]) -> Reading:
    changes = [_placed(table, partition) for partition, part in parts for table in part.changes]
    return Reading(
        records,
        pa.concat_tables(changes, promote_options="default") if changes else None,
        {
            (partition, bad.offset): bad.reason
            for partition, part in parts
            for bad in part.bad_records
        },
        tuple((p, t.offset) for p, part in parts for t in cutoffs_in_order(part.truncates)),
    )


def _placed(changes: pa.Table, partition: int) -> pa.Table:
    """Add the partition to changes, and leave out what only rows are concerned with."""
    names = [name for name in changes.column_names if name != MISSING]
    number = pa.repeat(pa.scalar(partition, pa.int32()), len(changes))
    return changes.select(names).append_column(PARTITION, number)


def _decoded(records: pa.Table, plan: DecodePlan) -> Iterator[tuple[int, DecodedChanges]]:
    for partition in pc.unique(records["partition"]).to_pylist():
        part = records.filter(pc.equal(records["partition"], partition)).combine_chunks()
        offsets, keys, values = (part[name].combine_chunks() for name in ("offset", "key", "value"))
        yield partition, decode_changes(partition, offsets, keys, values, plan)


def _tableless(context: MirrorContext, topic: str) -> DecodePlan:
    columns = context.declarations.of(topic)
    return DecodePlan(topic, context.dialect, context.wire, columns=columns)


def _all_places(records: pa.Table) -> list[Place]:
    return _places(records["partition"], records["offset"])


def _places(partitions: pa.ChunkedArray, offsets: pa.ChunkedArray) -> list[Place]:
    return list(zip(partitions.to_pylist(), offsets.to_pylist(), strict=True))
