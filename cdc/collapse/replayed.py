"""Changes that were put aside when they came, and are applied later than others behind them."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.collapse.history import as_rows, micros
from cdc.collapse.keys import (
    ENDS,
    Mask,
    Numbers,
    first_and_last,
    in_offset_order,
    key_numbers,
    mask,
)
from cdc.collapse.sameness import same_values
from cdc.model import (
    CURRENT,
    MISSING,
    NO_POSITION,
    OFFSET,
    OP,
    PARTITION,
    POSITION,
    RESERVED,
    TIME,
    VALID_FROM,
    VALID_TO,
)

NONE = -1  # less than any offset, and than any position but that of a change without one


def has_newer(waiting: pa.Table, changes: pa.Table, key: Sequence[str], partition: int) -> Mask:
    """Tell which changes that wait have a newer change of their key among others.

    Within a partition Kafka's offset tells which is newer. A key that goes through two partitions
    has moved, since its topic got more of them, and then the source position tells.

    Args:
        waiting: The changes that were put aside, with their partitions.
        changes: Changes of one partition that were applied.
        key: The table's key columns.
        partition: The number of that partition.
    """
    if not len(waiting) or not len(changes):
        return np.zeros(len(waiting), bool)
    names = list(key)
    keys = pa.concat_tables([waiting.select(names), changes.select(names)])
    numbers = key_numbers(keys, key)
    own, others = numbers[: len(waiting)], numbers[len(waiting) :]
    by_offset = _greatest(others, changes[OFFSET], own) > waiting[OFFSET].to_numpy()
    positions = waiting[POSITION].to_numpy()
    by_position = _greatest(others, changes[POSITION], own) > positions
    here = waiting[PARTITION].to_numpy() == partition
    newer: Mask = np.where(here, by_offset, by_position & (positions != NO_POSITION))
    return newer


def without_applied(changes: pa.Table, key: Sequence[str], newest: pa.Table) -> pa.Table:
    """Leave out the changes of keys whose last one a history has already.

    Applied once more, the changes before the last one would be versions again. The table has the
    last one if it is as that left it, and not since before: then all of the key are there, since
    they came in one commit.

    Args:
        changes: The filled changes of one topic partition.
        key: The table's key columns; never empty.
        newest: The last version of each key that has one, closed or not.
    """
    changes = in_offset_order(changes)
    names = list(key)
    _, last = first_and_last(changes, key)
    final = changes.take(last).combine_chunks()
    known = as_rows(newest, changes.schema)
    numbers = key_numbers(pa.concat_tables([final.select(names), known.select(names)]), key)
    versions = np.full(int(numbers.max()) + 1, NONE)
    versions[numbers[len(final) :]] = np.arange(len(newest))
    index = versions[numbers[: len(final)]]
    found = np.flatnonzero(index != NONE)
    gone = mask(pc.is_in(final[OP], ENDS))[found]
    current = mask(newest[CURRENT])[index[found]]
    moments = micros(final[TIME])[found]
    since, until = (micros(newest[name])[index[found]] for name in (VALID_FROM, VALID_TO))
    ended = gone & ~current & (until >= moments)
    stands = ~gone & current & (since >= moments)
    stands &= _same(final, known, found, index[found])
    applied = np.zeros(len(final), bool)
    applied[found] = ended | stands
    of_keys = key_numbers(changes, key)
    return changes.filter(pa.array(~np.isin(of_keys, of_keys[last.to_numpy()[applied]])))


def _same(final: pa.Table, known: pa.Table, left: Numbers, right: Numbers) -> Mask:
    """Tell which changes leave the values that a version has; what is left out may be anything."""
    names = [name for name in final.column_names if not name.startswith(RESERVED)]
    rows = pa.concat_tables([final.select(names), known.select(names)]).combine_chunks()
    same = same_values(rows, left, right + len(final))
    if MISSING in final.column_names:
        same &= mask(final[MISSING].is_null())[left]
    return same


def _greatest(numbers: Numbers, values: pa.ChunkedArray, wanted: Numbers) -> Numbers:
    """Give the greatest value of each wanted key."""
    size = int(max(numbers.max(), wanted.max())) + 1
    greatest = np.full(size, NONE)
    np.maximum.at(greatest, numbers, values.to_numpy())
    found: Numbers = greatest[wanted]
    return found
