"""Rows that got another key: what their source left out is under the old one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse.fill import fill
from cdc.collapse.keys import ENDS, Mask, mask
from cdc.model import MISSING, OFFSET, OP, Op

Key = Mapping[str, Any]


def unsent_inserts(changes: pa.Table) -> tuple[int, ...]:
    """Name the inserts that leave out values, by their offsets: only a change of key does so."""
    if MISSING not in changes.column_names:
        return ()
    found = pc.and_(pc.equal(changes[OP], Op.CREATE), changes[MISSING].is_valid())
    return tuple(changes[OFFSET].filter(found).to_pylist())


def take_over(
    changes: pa.Table, key: Sequence[str], moves: Mapping[int, Key], rows: pa.Table | None
) -> pa.Table:
    """Give inserts that are rows with a new key the values that these had under the old one.

    There are few such rows, so they are gone through one by one, in the order of their offsets: a
    row may move twice.

    Args:
        changes: The changes of one topic partition.
        key: The table's key columns.
        moves: The old keys of rows, by the offsets of their inserts.
        rows: What the table has of the old keys, as for `fill`.
    """
    for offset in sorted(moves):
        inserts = np.flatnonzero(
            mask(pc.and_(pc.equal(changes[OFFSET], offset), pc.equal(changes[OP], Op.CREATE)))
        )
        if not len(inserts) or MISSING not in changes.column_names:
            continue
        names = changes[MISSING][int(inserts[0])].as_py() or []
        donor = _last_state(changes, key, moves[offset], offset, rows, names)
        if donor is None:
            continue
        here = pa.array(np.isin(np.arange(len(changes)), inserts))
        for name in names:
            column = pc.if_else(here, donor[name], changes[name])
            changes = changes.set_column(
                changes.column_names.index(name), changes.schema.field(name), column
            )
        none = pa.scalar(None, changes.schema.field(MISSING).type)
        missing = pc.if_else(here, none, changes[MISSING])
        changes = changes.set_column(changes.column_names.index(MISSING), MISSING, missing)
    return changes


def _last_state(
    changes: pa.Table,
    key: Sequence[str],
    old: Key,
    offset: int,
    rows: pa.Table | None,
    names: Sequence[str],
) -> dict[str, pa.Scalar] | None:
    """Find what a key had before an offset: in the batch, else in the table."""
    before = changes.filter(
        pa.array(
            _has_key(changes, key, old)
            & mask(pc.less(changes[OFFSET], offset))
            & ~mask(pc.is_in(changes[OP], ENDS))
        )
    )
    if len(before):
        filled = fill(before, key, rows)
        last = filled.slice(len(filled) - 1)
        if MISSING in last.column_names and set(last[MISSING][0].as_py() or ()) & set(names):
            return None
    elif rows is not None and set(names) <= set(rows.column_names):
        last = rows.filter(pa.array(_has_key(rows, key, old)))
        last = last.slice(max(0, len(last) - 1))
    else:
        return None
    if not len(last):
        return None
    return {name: last[name][0].cast(changes.schema.field(name).type) for name in names}


def _has_key(table: pa.Table, key: Sequence[str], values: Key) -> Mask:
    same = np.ones(len(table), bool)
    for name in key:
        column, value = table[name], values[name]
        if value is None:
            same &= mask(column.is_null())
        else:
            same &= mask(pc.equal(column, pa.scalar(value, column.type)))
    return same
