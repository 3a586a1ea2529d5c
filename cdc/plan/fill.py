"""Values that a change leaves out, since the source did not log what did not change."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.model import MISSING, OFFSET, OP, Op

ROW = "row"
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


def fill(changes: pa.Table, key: Sequence[str], rows: pa.Table | None = None) -> pa.Table:
    """Give every change the values that it leaves out, as an earlier change of its key has them.

    Args:
        changes: Decoded changes of one topic partition, in any order.
        key: The table's key columns.
        rows: What the table has of some keys: the key columns and those that changes leave out.

    Returns:
        The changes in the order of their offsets. What no earlier change has stays named in the
        column of what is missing; without any, that column is gone.
    """
    if MISSING not in changes.column_names:
        return changes
    names = pc.unique(changes[MISSING].combine_chunks().flatten()).to_pylist()
    if rows is not None:
        changes = pa.concat_tables([_as_changes(rows, changes.schema), changes])
    changes = changes.take(pa.array(np.argsort(changes[OFFSET].to_numpy(), kind="stable")))
    changes = changes.combine_chunks()
    keys = _key_numbers(changes, key)
    missing = changes[MISSING].combine_chunks()
    # A row that was deleted has no value that a later one could take over.
    deleted = pc.equal(changes[OP], Op.DELETE).to_numpy(zero_copy_only=False)
    remaining: list[set[str]] = [set(value or ()) for value in missing.to_pylist()]
    for name in names:
        unsent = np.array([name in left for left in remaining])
        source = _last_known(keys, known=~unsent)
        fillable = unsent & (source >= 0) & ~deleted[source]
        filled = (
            changes[name]
            .combine_chunks()
            .take(pa.array(np.where(fillable, source, np.arange(len(keys)))))
        )
        changes = changes.set_column(
            changes.column_names.index(name), changes.schema.field(name), filled
        )
        for row in np.flatnonzero(fillable).tolist():
            remaining[row].discard(name)
    left = [sorted(value) or None for value in remaining]
    place = changes.column_names.index(MISSING)
    if rows is not None:
        changes, left = changes.slice(len(rows)), left[len(rows) :]
    if not any(left):
        return changes.remove_column(place)
    return changes.set_column(place, MISSING, pa.array(left, pa.list_(pa.string())))


def _as_changes(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Make rows of the table changes that came before all others; what they lack is unknown."""
    lacking = [field.name for field in schema if field.name not in rows.column_names]
    known = {
        OFFSET: pa.array([-1] * len(rows), pa.int64()),
        OP: pa.array([Op.READ] * len(rows), pa.string()),
        MISSING: pa.array([lacking] * len(rows), pa.list_(pa.string())),
    }
    columns = [
        known[field.name]
        if field.name in known
        else rows[field.name].cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _key_numbers(changes: pa.Table, key: Sequence[str]) -> Numbers:
    """Number the rows so that those of one key have the same number."""
    rows = changes.select(list(key)).append_column(ROW, pa.array(np.arange(len(changes))))
    groups = rows.group_by(list(key), use_threads=False).aggregate([(ROW, "list")])
    lists = groups[f"{ROW}_list"].combine_chunks()
    numbers = np.empty(len(changes), np.int64)
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    numbers[lists.flatten().to_numpy()] = np.repeat(np.arange(len(lists)), lengths)
    return numbers


def _last_known(
    keys: Numbers,
    known: Mask,
) -> Numbers:
    """Give for each row the last one of its key, at or before it, of which something is known."""
    order = np.argsort(keys, kind="stable")
    candidates = np.where(known[order], np.arange(len(order)), -1)
    newest = np.maximum.accumulate(candidates)
    sorted_keys = keys[order]
    same = (newest >= 0) & (sorted_keys[newest] == sorted_keys)
    found = np.full(len(keys), -1, np.int64)
    found[order] = np.where(same, order[newest], -1)
    return found
