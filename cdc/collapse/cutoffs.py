"""What a cutoff, such as a truncate, does to the changes of its batch."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse.keys import (
    ENDS,
    Mask,
    first_and_last,
    in_offset_order,
    key_numbers,
    mask,
    of_touched_keys,
)
from cdc.model import NO_POSITION, OFFSET, OP, POSITION, TIME, Cutoff, Op

BEFORE_ALL = -1  # an offset that no record has
# What tells whether a cutoff is newer than a change.
STANDING = (OFFSET, POSITION, TIME)


def after_cutoff(changes: pa.Table, partition: int, cutoff: Cutoff) -> pa.Table:
    """Drop the changes that a cutoff wiped out.

    Kafka orders a truncate against the changes of its own partition. For the other partitions of
    the topic the source position does, and the source's time must not speak against it: after a
    failover positions may start again from a smaller number, and what came after the truncate must
    not be lost for that.
    """
    return changes.filter(pa.array(~_wiped(changes, partition, cutoff)))


def survivors(changes: pa.Table, key: Sequence[str]) -> pa.Table:
    """Give where the last change of each key stands whose row then lives."""
    standing = [name for name in STANDING if name in changes.column_names]
    return _last_alive(changes, key).select([*key, *standing])


def _last_alive(changes: pa.Table, key: Sequence[str]) -> pa.Table:
    """Keep the last change of each key, without those after which the row is gone."""
    changes = in_offset_order(changes)
    _, last = first_and_last(changes, key)
    newest = changes.take(last)
    return newest.filter(pc.invert(pc.is_in(newest[OP], ENDS)))


def with_deletes_at(
    changes: pa.Table,
    key: Sequence[str],
    partition: int,
    cutoffs: Sequence[Cutoff],
    rows: pa.Table | None = None,
    reread: pa.Table | None = None,
) -> pa.Table:
    """Put a delete of every row that a cutoff wipes out between the changes, where it belongs.

    For tables that keep what was deleted: the changes before the cutoff still count there. Where a
    new snapshot is behind it, the rows that this has are not gone, but as it says.

    Args:
        changes: The changes of one topic partition, in any order.
        key: The table's key columns.
        partition: The number of that partition.
        cutoffs: Those of the batch, in their order.
        rows: Rows of the table whose keys have changes here: they too get a delete, if the batch
            itself and no statement on the table ends them.
        reread: The changes from which some of those rows come; a cutoff may be older than they
            are. All other rows are older than every cutoff.

    Returns:
        The changes in the order of their offsets. The deletes that were put in have the op of a
        truncate, the offset of the change that they follow, and are no records to count.
    """
    changes = in_offset_order(changes)
    known = None if rows is None else _as_changes(rows, key, changes.schema, reread)
    for cutoff in cutoffs:
        before = changes.filter(pa.array(_wiped(changes, partition, cutoff)))
        ended = [_last_alive(before, key)]
        if known is not None:
            wiped = known.filter(pa.array(_wiped(known, partition, cutoff)))
            ended.append(_without(wiped, before, key))
        if cutoff.is_reload:
            found = _snapshot_rows(changes, cutoff)
            ended = [_without(rows, found, key) for rows in ended]
        marks = [_deletes(rows, key, cutoff) for rows in ended]
        # The order of equal offsets stays: a delete comes after the change that it follows.
        changes = in_offset_order(pa.concat_tables([changes, *marks]))
    return changes


def _snapshot_rows(changes: pa.Table, cutoff: Cutoff) -> pa.Table:
    """Give the rows of a snapshot, which all have one place in the source's log."""
    here = pc.equal(changes[POSITION], cutoff.begin[0])
    return changes.filter(pc.and_(here, pc.equal(changes[OP], Op.READ)))


def _wiped(changes: pa.Table, partition: int, cutoff: Cutoff) -> Mask:
    if partition == cutoff.partition:
        return mask(pc.less_equal(changes[OFFSET], cutoff.offset))
    by_position = mask(pc.less_equal(changes[POSITION], cutoff.position))
    if cutoff.time is None or TIME not in changes.column_names:
        return by_position
    return by_position & ~mask(pc.greater(changes[TIME], _moment(cutoff.time)))


def _moment(micros: int) -> pa.Scalar:
    return pa.scalar(micros, pa.timestamp("us", "UTC"))


def _deletes(ended: pa.Table, key: Sequence[str], cutoff: Cutoff) -> pa.Table:
    """Make changes that end rows at a cutoff out of the last ones before it."""
    columns = []
    for field in ended.schema:
        column = pa.nulls(len(ended), field.type)
        if field.name in (*key, OFFSET, POSITION):
            column = ended[field.name]
        elif field.name == OP:
            column = pa.repeat(pa.scalar(Op.TRUNCATE.value, field.type), len(ended))
        elif field.name == TIME:
            time = cutoff.time
            column = ended[TIME] if time is None else pa.repeat(_moment(time), len(ended))
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=ended.schema)


def _as_changes(
    rows: pa.Table, key: Sequence[str], schema: pa.Schema, reread: pa.Table | None
) -> pa.Table:
    """Give for rows of the table the changes from which they come, by key and standing alone."""
    old = _as_keys(rows, key, schema)
    if reread is None:
        return old
    own = of_touched_keys(_as_keys(reread, key, schema), old, key)
    return pa.concat_tables([_without(old, own, key), own])


def _as_keys(rows: pa.Table, key: Sequence[str], schema: pa.Schema) -> pa.Table:
    """Give rows the columns of changes; those of an unknown offset came before all others."""
    fixed = {OFFSET: BEFORE_ALL, POSITION: NO_POSITION}
    known = {*key, *(name for name in STANDING if name in rows.column_names)}
    columns = [
        rows[field.name].cast(field.type)
        if field.name in known
        else pa.repeat(pa.scalar(fixed.get(field.name), field.type), len(rows))
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _without(rows: pa.Table, changes: pa.Table, key: Sequence[str]) -> pa.Table:
    """Leave out the rows whose key has a change."""
    names = list(key)
    numbers = key_numbers(pa.concat_tables([changes.select(names), rows.select(names)]), key)
    touched = pc.is_in(pa.array(numbers[len(changes) :]), pa.array(numbers[: len(changes)]))
    return rows.filter(pc.invert(touched))
