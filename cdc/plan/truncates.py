"""What a truncate does to the changes of its batch."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from cdc.model import NO_POSITION, OFFSET, OP, POSITION, TIME, Op, Truncate
from cdc.plan.keys import ENDS, Mask, first_and_last, in_offset_order, key_numbers, mask

BEFORE_ALL = -1  # an offset that no record has


def after_truncate(changes: pa.Table, partition: int, truncate: Truncate) -> pa.Table:
    """Drop the changes that a truncate wiped out.

    Kafka orders a truncate against the changes of its own partition. For the other partitions of
    the topic the source position does, and the source's time must not speak against it: after a
    failover positions may start again from a smaller number, and what came after the truncate must
    not be lost for that.
    """
    return changes.filter(pa.array(~_wiped(changes, partition, truncate)))


def with_deletes_at(
    changes: pa.Table,
    key: Sequence[str],
    partition: int,
    truncate: Truncate,
    rows: pa.Table | None = None,
) -> pa.Table:
    """Put a delete of every row that a truncate wipes out between the changes, where it belongs.

    For tables that keep what was deleted: the changes before the truncate still count there.

    Args:
        changes: The changes of one topic partition, in any order.
        key: The table's key columns.
        partition: The number of that partition.
        truncate: The last truncate of the batch.
        rows: Rows of the table whose keys have changes here: they too get a delete, if the batch
            itself and no statement on the table ends them.

    Returns:
        The changes in the order of their offsets. The deletes that were put in have the op of a
        truncate, the offset of the change that they follow, and are no records to count.
    """
    changes = in_offset_order(changes)
    before = changes.filter(pa.array(_wiped(changes, partition, truncate)))
    _, last = first_and_last(before, key)
    ended = before.take(last)
    ended = ended.filter(pc.invert(pc.is_in(ended[OP], ENDS)))
    marks = [_deletes(ended, key, truncate)]
    if rows is not None:
        untouched = _without(_as_keys(rows, key, changes.schema), before, key)
        marks.append(_deletes(untouched, key, truncate))
    # The order of equal offsets stays: a delete comes after the change that it follows.
    return in_offset_order(pa.concat_tables([changes, *marks]))


def _wiped(changes: pa.Table, partition: int, truncate: Truncate) -> Mask:
    if partition == truncate.partition:
        return mask(pc.less_equal(changes[OFFSET], truncate.offset))
    by_position = mask(pc.less_equal(changes[POSITION], truncate.position))
    if truncate.time is None or TIME not in changes.column_names:
        return by_position
    return by_position & ~mask(pc.greater(changes[TIME], _moment(truncate.time)))


def _moment(micros: int) -> pa.Scalar:
    return pa.scalar(micros, pa.timestamp("us", "UTC"))


def _deletes(ended: pa.Table, key: Sequence[str], truncate: Truncate) -> pa.Table:
    """Make changes that end rows at a truncate out of the last ones before it."""
    columns = []
    for field in ended.schema:
        column = pa.nulls(len(ended), field.type)
        if field.name in (*key, OFFSET, POSITION):
            column = ended[field.name]
        elif field.name == OP:
            column = pa.repeat(pa.scalar(Op.TRUNCATE.value, field.type), len(ended))
        elif field.name == TIME:
            time = truncate.time
            column = ended[TIME] if time is None else pa.repeat(_moment(time), len(ended))
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=ended.schema)


def _as_keys(rows: pa.Table, key: Sequence[str], schema: pa.Schema) -> pa.Table:
    """Give rows of the table the columns of changes that came before all others."""
    fixed = {OFFSET: BEFORE_ALL, POSITION: NO_POSITION}
    columns = [
        rows[field.name].cast(field.type)
        if field.name in key
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
