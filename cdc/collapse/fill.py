"""Values that a change leaves out, since the source did not log what did not change."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse.keys import ENDS, Mask, Numbers, by_key, in_offset_order, mask
from cdc.model import DELETED, MISSING, OFFSET, OP, Op

NAMES = pa.list_(pa.string())
# Changes that start a row: they take over nothing from one that was deleted before.
STARTS = pa.array([Op.CREATE, Op.READ], pa.string())


def fill(changes: pa.Table, key: Sequence[str], rows: pa.Table | None = None) -> pa.Table:
    """Give every change the values that it leaves out, as an earlier change of its key has them.

    A delete that leaves out everything but its key, as `mark_deletes` makes it, gets the last
    values of its row. Without a key nothing can be filled.

    Args:
        changes: Decoded changes of one topic partition, in any order.
        key: The table's key columns.
        rows: What the table has of some keys: the key columns and those that changes leave out;
            where rows that are marked as deleted stay, also the column that says so.

    Returns:
        The changes in the order of their offsets. What no earlier change has stays named in the
        column of what is missing; without any, that column is gone.
    """
    if MISSING not in changes.column_names or not key:
        return changes
    asked = 0 if rows is None else len(rows)
    ghosts = np.zeros(asked + len(changes), bool)
    changes = in_offset_order(changes)
    if rows is not None:
        if DELETED in rows.column_names:
            ghosts[:asked] = mask(rows[DELETED])
        changes = pa.concat_tables([_as_changes(rows, changes.schema), changes])
    changes = changes.combine_chunks()
    order, keys = by_key(changes, key)
    deleted = mask(pc.is_in(changes[OP], ENDS))
    starts = mask(pc.is_in(changes[OP], STARTS))
    names, unsent = _unsent(changes[MISSING].combine_chunks())
    # A start finds no value beyond the last delete of its row, marked or not.
    end = _last(order, keys, deleted)
    for number, name in enumerate(names):
        source = _last(order, keys, ~unsent[number])
        dead = deleted[source] | (starts & (ghosts[source] | (source < end)))
        fillable = unsent[number] & (source >= 0) & ~dead
        taken = np.where(fillable, source, np.arange(len(order)))
        filled = changes[name].combine_chunks().take(pa.array(taken))
        changes = changes.set_column(
            changes.column_names.index(name), changes.schema.field(name), filled
        )
        unsent[number] &= ~fillable
    changes = changes.slice(asked)
    column = changes.column_names.index(MISSING)
    if not unsent[:, asked:].any():
        return changes.remove_column(column)
    return changes.set_column(column, MISSING, _named(names, unsent[:, asked:]))


def unsent_values(changes: pa.Table, key: Sequence[str]) -> pa.Table | None:
    """Give the keys of changes that still leave out a value, and the names of those, if any."""
    if MISSING not in changes.column_names:
        return None
    found = changes.filter(changes[MISSING].is_valid())
    return found.select([*key, MISSING]) if len(found) else None


def _unsent(names_left_out: pa.ListArray) -> tuple[list[str], Mask]:
    """Give the names that occur, and for each of them which rows leave it out."""
    flat = names_left_out.flatten()
    names: list[str] = pc.unique(flat).to_pylist()
    unsent = np.zeros((len(names), len(names_left_out)), bool)
    if names:
        codes = pc.index_in(flat, pa.array(names, flat.type)).to_numpy()
        unsent[codes, pc.list_parent_indices(names_left_out).to_numpy()] = True
    return names, unsent


def _named(names: Sequence[str], unsent: Mask) -> pa.ListArray:
    """Write down which names each row leaves out; null where it leaves out none."""
    by_name = np.argsort(np.array(names, object))
    rows, numbers = np.nonzero(unsent[by_name].T)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=unsent.shape[1]))])
    values = pa.array(names, pa.string()).take(pa.array(by_name[numbers]))
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)
    return pc.if_else(pa.array(unsent.any(axis=0)), lists, pa.scalar(None, NAMES))


def _as_changes(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Make rows of the table changes that came before all others; what they lack is unknown."""
    unknown = [field.name for field in schema if field.name not in rows.column_names]
    known = {
        OFFSET: pa.array([-1] * len(rows), pa.int64()),
        OP: pa.array([Op.READ] * len(rows), pa.string()),
        MISSING: pa.array([unknown] * len(rows), NAMES),
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


def _last(order: Numbers, keys: Numbers, known: Mask) -> Numbers:
    """Give for each row the last one of its key, at or before it, that is known; -1 for none."""
    newest = np.maximum.accumulate(np.where(known[order], np.arange(len(order)), -1))
    same = (newest >= 0) & (keys[newest] == keys)
    found = np.full(len(order), -1, np.int64)
    found[order] = np.where(same, order[newest], -1)
    return found
