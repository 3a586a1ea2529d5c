"""Every version of a row with the time it was valid: slowly changing dimensions of type 2.

A version is valid from the time of its change, inclusive, to that of the next change of its key,
exclusive; the last version of a row that lives has no end and is the current one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse.collapse import CollapsedChanges
from cdc.collapse.keys import (
    ENDS,
    Mask,
    Numbers,
    by_key,
    first_and_last,
    in_offset_order,
    mask,
)
from cdc.collapse.sameness import same_values
from cdc.model import (
    CURRENT,
    MISSING,
    NO_POSITION,
    OFFSET,
    OP,
    POSITION,
    RESERVED,
    TIME,
    VALID_FROM,
    VALID_TO,
    Op,
    PartitionMark,
)

MOMENT = pa.timestamp("us", "UTC")


def versions(
    changes: pa.Table,
    key: Sequence[str],
    mark: PartitionMark | None,
    newest: pa.Table | None,
) -> CollapsedChanges:
    """Make versions of changes, and close the versions of the table that they end.

    The start of a key's versions never falls: clocks may go back, and then a version starts when
    the one before it did, which leaves that one an empty interval. A change that leaves the row as
    it was makes no version. Nor does one that was sent again: its position is not new, and its time
    is before the start of the version that is there. Neither alone is enough: after a failover
    positions may start again from a smaller number.

    Args:
        changes: The filled changes of one topic partition.
        key: The table's key columns; never empty.
        mark: How far this partition has been applied.
        newest: The last version of each key that has one, closed or not: the source's columns and
            those of its validity. Closed ones may be left out; a change of a deleted row that is
            sent again then makes its versions again.

    Returns:
        As rows the new versions and the closed ones of the table; as deleted keys those whose
        current version in the table is now among the closed ones. Changes that stand for a
        truncate are not among the applied ones.
    """
    changes = in_offset_order(changes)
    timeline = _timeline(changes, key, mark, newest)
    counts, starts = _settled(timeline)
    indices = np.flatnonzero(counts)  # what makes, ends or is a version, by key and then by time
    keys = timeline.keys[indices]
    followed = np.append(keys[1:] == keys[:-1], False) if len(keys) else np.zeros(0, bool)
    starts = starts[indices]
    ends = np.append(starts[1:], 0)[: len(indices)]
    in_table, alive = timeline.in_table[indices], ~timeline.gone[indices]
    rows = timeline.order[indices]
    out = np.flatnonzero(alive & (followed | ~in_table))
    validity = {
        VALID_FROM: pa.array(starts[out]).cast(MOMENT),
        VALID_TO: pa.array(ends[out], mask=~followed[out]).cast(MOMENT),
        CURRENT: pa.array(~followed[out]),
    }
    versions = timeline.rows.take(pa.array(rows[out]))
    for name, column in validity.items():
        versions = versions.append_column(pa.field(name, column.type), column)
    closed = pa.array(rows[alive & followed & in_table])
    counted = timeline.rows.select([OFFSET, OP]).take(pa.array(rows[~in_table]))
    records = counted.filter(pc.not_equal(counted[OP], Op.TRUNCATE))
    return CollapsedChanges(
        rows=versions,
        deleted_keys=timeline.rows.select(list(key)).take(closed),
        applied=records[OFFSET].to_numpy(),
    )


def last_versions(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """Keep the last version of each key: of those that start together, the current one."""
    order = [(VALID_FROM, "ascending"), (CURRENT, "ascending")]
    rows = rows.take(pc.sort_indices(rows, sort_keys=order, null_placement="at_start"))
    _, last = first_and_last(rows, key)
    return rows.take(last)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The table's last versions and the changes, by key; those of one key in their order."""

    rows: pa.Table  # versions of the table first, then the changes by offset
    order: Numbers  # of all arrays below: which of the rows each entry is
    keys: Numbers
    moments: Numbers  # all times that occur, in order
    ranks: Numbers  # which of them each entry has
    gone: Mask  # after it the row is gone
    in_table: Mask
    again: Mask  # may have been sent again: its position is not new


def _timeline(
    changes: pa.Table, key: Sequence[str], mark: PartitionMark | None, newest: pa.Table | None
) -> Timeline:
    gone = mask(pc.is_in(changes[OP], ENDS))
    again = _not_new(changes, mark) & mask(pc.is_valid(changes[TIME]))
    times = micros(changes[TIME])
    known = 0 if newest is None else len(newest)
    if newest is not None:
        closed = ~_current(newest)
        ends = newest[VALID_TO] if VALID_TO in newest.column_names else newest[VALID_FROM]
        gone = np.concatenate([closed, gone])
        again = np.concatenate([np.zeros(known, bool), again])
        since = np.where(closed, micros(ends), micros(newest[VALID_FROM]))
        times = np.concatenate([since, times])
        changes = pa.concat_tables([as_rows(newest, changes.schema), changes])
    changes = changes.combine_chunks()
    order, keys = by_key(changes, key)
    moments, ranks = _ranked(times)
    return Timeline(
        rows=changes,
        order=order,
        keys=keys,
        moments=moments,
        ranks=ranks[order],
        gone=gone[order],
        in_table=order < known,
        again=again[order],
    )


def _ranked(times: Numbers) -> tuple[Numbers, Numbers]:
    """Give the times that occur, in order, and for each time its rank among them."""
    order = np.argsort(times, kind="stable")  # quick where they are nearly in order, as mostly
    ascending = times[order]
    new = np.append(True, ascending[1:] != ascending[:-1])[: len(times)]
    ranks = np.empty(len(times), np.int64)
    ranks[order] = np.cumsum(new) - 1
    return ascending[new], ranks


def _settled(timeline: Timeline) -> tuple[Mask, Numbers]:
    """Tell what counts, and since when the last that counts is valid.

    What was sent again does not count, nor what leaves the row as it is; each depends on the other,
    but only on earlier changes of the key. So the rounds end, and with what going through the
    changes one by one has: each round settles one more change of every key, and mostly all.
    """
    size = len(timeline.keys)
    ranks, moments = timeline.ranks, timeline.moments
    # Within a key the greatest time so far, by one running maximum over all keys.
    base = timeline.keys * (len(moments) + 1)
    first = np.append(True, timeline.keys[1:] != timeline.keys[:-1])[:size]
    skipped = np.zeros(size, bool)
    while True:
        before = _before(timeline.keys, ~skipped)
        counts = ~skipped & (timeline.in_table | ~_idle(timeline, before))
        reached = np.maximum.accumulate(base + np.where(counts, ranks + 1, 0)) - base
        earlier = np.where(first, 0, np.append(0, reached[:-1])[:size])
        again = timeline.again & (ranks + 1 < earlier)
        if np.array_equal(again, skipped):
            return counts, moments[np.maximum(reached, 1) - 1]
        skipped = again


def _before(keys: Numbers, taken: Mask) -> Numbers:
    """Give for each entry the last one of its key before it that is taken; -1 for none."""
    size = len(keys)
    last = np.maximum.accumulate(np.where(taken, np.arange(size), -1))
    before = np.append(-1, last[:-1])[:size]
    same = (before >= 0) & (keys[before] == keys)
    return np.where(same, before, -1)


def _idle(timeline: Timeline, before: Numbers) -> Mask:
    """Tell which changes leave their row as it is: gone already, or with the same values."""
    gone = timeline.gone
    was_gone = (before < 0) | gone[before]
    idle = gone & was_gone
    indices = np.flatnonzero(~gone & ~was_gone & ~timeline.in_table)
    if len(indices):
        rows = timeline.rows
        names = [name for name in rows.column_names if not name.startswith(RESERVED)]
        left, right = timeline.order[indices], timeline.order[before[indices]]
        same = same_values(rows.select(names), left, right)
        if MISSING in rows.column_names:  # what is not known may be anything
            whole = mask(rows[MISSING].is_null())
            same &= whole[left] & whole[right]
        idle[indices] = same
    return idle


def _not_new(changes: pa.Table, mark: PartitionMark | None) -> Mask:
    """Tell the changes whose position is not beyond all before it; those without one are new."""
    positions = changes[POSITION].to_numpy()
    known = NO_POSITION if mark is None else mark.position
    greatest = np.maximum.accumulate(np.append(known, positions))[:-1]
    truncated = mask(pc.equal(changes[OP], Op.TRUNCATE))
    not_new: Mask = (positions <= greatest) & (positions != NO_POSITION) & ~truncated
    return not_new


def _current(newest: pa.Table) -> Mask:
    if CURRENT in newest.column_names:
        return mask(newest[CURRENT])
    return np.ones(len(newest), bool)


def micros(times: pa.ChunkedArray) -> Numbers:
    """Give microseconds since 1970; no time is that moment, so that any version before it rules."""
    micros: Numbers = pc.fill_null(times.cast(MOMENT).cast(pa.int64()), 0).to_numpy()
    return micros


def as_rows(newest: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give versions of the table the columns of changes."""
    columns = [
        newest[field.name].cast(field.type)
        if field.name in newest.column_names and not field.name.startswith(RESERVED)
        else pa.nulls(len(newest), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
