"""Compare a mirror with its source: every row, every value, whole columns at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cdc.errors import IncomparableColumnError
from cdc.model import RESERVED

SAMPLES: Final = 5  # of each kind of difference
# The widest: any two decimals that fit 38 digits fit it together.
WIDEST_DECIMAL: Final = 76
TIME_UNITS: Final = ("s", "ms", "us", "ns")
ABSENT: Final = "absent"

Mask = npt.NDArray[np.bool_]


class Kind(StrEnum):
    """How a key differs between the two sides; a key is of one kind only."""

    MISSING = "missing"  # at the source, not in the mirror
    EXTRA = "extra"  # in the mirror, not at the source
    DUPLICATED = "duplicated"  # on both sides, and more than once on one of them
    CHANGED = "changed"  # once on both sides, with another value in some column


@dataclass(frozen=True, slots=True)
class Sample:
    """One difference: which key, and in which columns; never the values."""

    kind: Kind
    key: tuple[Any, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a comparison found."""

    mirror_rows: int
    source_rows: int
    missing: int = 0
    extra: int = 0
    duplicated: int = 0
    changed: int = 0
    # In how many rows each column differs.
    changed_columns: Mapping[str, int] = field(default_factory=dict)
    only_in_mirror: tuple[str, ...] = ()
    only_at_source: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()

    @property
    def differences(self) -> int:
        """How many keys differ in any way."""
        return self.missing + self.extra + self.duplicated + self.changed

    def __str__(self) -> str:
        counts = [f"{kind} {getattr(self, kind)}" for kind in Kind if getattr(self, kind)]
        columns = [f"{name} in {count}" for name, count in self.changed_columns.items()]
        found = ", ".join(counts) if counts else "no difference"
        return f"{found} (columns: {', '.join(columns)})" if columns else found


def compare(mirror: pa.Table, source: pa.Table, key: Sequence[str]) -> Comparison:
    """Compare two tables row by row, matched by key, and value by value.

    Null equals null and NaN equals NaN; numbers are equal by value whatever their width, and
    timestamps by instant whatever their unit and zone. A column that only the source has stands for
    nulls in the mirror: that is what a reader gets. One that only the mirror has, such as one that
    the source dropped, is named and not compared; nor is any that the mirror adds of its own.

    Args:
        mirror: The mirrored rows.
        source: The source's rows.
        key: The columns that tell rows apart; never empty.

    Raises:
        IncomparableColumnError: The two sides have types that share no values, or no such key.
    """
    if not key:
        raise ValueError("a comparison needs at least one key column")
    for name in key:
        if name not in mirror.column_names or name not in source.column_names:
            raise IncomparableColumnError(name, _type_name(mirror, name), _type_name(source, name))
    keys = _matched(mirror, source, key)
    in_mirror, in_source = keys["in_mirror"].to_numpy(), keys["in_source"].to_numpy()
    masks: dict[Kind, Mask] = {
        Kind.MISSING: in_mirror == 0,
        Kind.EXTRA: in_source == 0,
        Kind.DUPLICATED: (in_mirror > 0) & (in_source > 0) & (in_mirror + in_source > 2),
    }
    pairs = np.flatnonzero((in_mirror == 1) & (in_source == 1))
    rows = pa.array(pairs)
    unequal = _unequal_columns(
        mirror.take(keys["mirror_row"].take(rows)),
        source.take(keys["source_row"].take(rows)),
        [name for name in source.column_names if name not in key],
    )
    changed = np.zeros(len(keys), dtype=np.bool_)
    for mask in unequal.values():
        changed[pairs[mask]] = True
    masks[Kind.CHANGED] = changed
    own = [name for name in mirror.column_names if not name.startswith(RESERVED)]
    return Comparison(
        mirror_rows=mirror.num_rows,
        source_rows=source.num_rows,
        **{kind.value: int(np.count_nonzero(mask)) for kind, mask in masks.items()},
        changed_columns={name: int(np.count_nonzero(mask)) for name, mask in unequal.items()},
        only_in_mirror=tuple(name for name in own if name not in source.column_names),
        only_at_source=tuple(n for n in source.column_names if n not in mirror.column_names),
        samples=_samples(keys.select(range(len(key))), masks, pairs, unequal),
    )


def _matched(mirror: pa.Table, source: pa.Table, key: Sequence[str]) -> pa.Table:
    """Give each key once, with its count and its row on either side.

    Not a join: grouping takes the keys of both sides at once, sees doubles, and matches nulls.
    """
    columns: dict[str, pa.ChunkedArray] = {}
    for index, name in enumerate(key):
        kind = _shared_type(mirror[name].type, source[name].type, name)
        both = [*mirror[name].cast(kind).chunks, *source[name].cast(kind).chunks]
        columns[f"key{index}"] = pa.chunked_array(both, kind)
    m, s = mirror.num_rows, source.num_rows
    columns["in_mirror"] = np.repeat(np.array([1, 0]), [m, s])
    columns["in_source"] = np.repeat(np.array([0, 1]), [m, s])
    columns["mirror_row"] = np.concatenate([np.arange(m), np.zeros(s, np.int64)])
    columns["source_row"] = np.concatenate([np.zeros(m, np.int64), np.arange(s)])
    names = [f"key{index}" for index in range(len(key))]
    # One thread, so that the keys keep the order of the rows and samples are the same every time.
    grouped = pa.table(columns).group_by(names, use_threads=False)
    counted = grouped.aggregate(
        [("in_mirror", "sum"), ("in_source", "sum"), ("mirror_row", "max"), ("source_row", "max")]
    )
    return counted.rename_columns(
        [name.removesuffix("_sum").removesuffix("_max") for name in counted.column_names]
    ).select([*names, "in_mirror", "in_source", "mirror_row", "source_row"])


def _unequal_columns(mirror: pa.Table, source: pa.Table, names: Sequence[str]) -> dict[str, Mask]:
    """Say for each column that differs anywhere in which of the paired rows it does."""
    found = {}
    for name in names:
        theirs = _whole(source[name])
        ours = (
            _whole(mirror[name])
            if name in mirror.column_names
            else pa.nulls(len(theirs), theirs.type)
        )
        unequal = ~_equal(ours, theirs, name)
        if unequal.any():
            found[name] = unequal
    return found


def _equal(ours: pa.Array, theirs: pa.Array, column: str) -> Mask:
    """Compare two arrays value by value."""
    if pa.types.is_struct(ours.type) and pa.types.is_struct(theirs.type):
        return _equal_structs(ours, theirs, column)
    if _is_list(ours.type) and _is_list(theirs.type):
        return _equal_lists(ours, theirs, column)
    kind = _shared_type(ours.type, theirs.type, column)
    ours, theirs = ours.cast(kind), theirs.cast(kind)
    equal = pc.fill_null(pc.equal(ours, theirs), False)
    equal = pc.or_(equal, pc.and_(ours.is_null(), theirs.is_null()))
    if pa.types.is_floating(kind):
        both = pc.and_(pc.is_nan(ours), pc.is_nan(theirs))
        equal = pc.or_(equal, pc.fill_null(both, False))
    return _mask(equal)


def _equal_structs(ours: pa.StructArray, theirs: pa.StructArray, column: str) -> Mask:
    names = [member.name for member in ours.type]
    if sorted(names) != sorted(member.name for member in theirs.type):
        raise IncomparableColumnError(column, str(ours.type), str(theirs.type))
    equal: Mask = _mask(ours.is_null()) == _mask(theirs.is_null())
    # Flattening puts the nulls of the struct itself into its members.
    their_members = dict(zip((m.name for m in theirs.type), theirs.flatten(), strict=True))
    for name, member in zip(names, ours.flatten(), strict=True):
        equal &= _equal(member, their_members[name], f"{column}.{name}")
    return equal


def _equal_lists(ours: pa.Array, theirs: pa.Array, column: str) -> Mask:
    lengths = pc.list_value_length(ours)
    equal = _equal(lengths, pc.list_value_length(theirs), column)
    alike = np.flatnonzero(equal & _mask(lengths.is_valid()))
    rows = pa.array(alike)
    ours, theirs = ours.take(rows), theirs.take(rows)
    elements = _equal(ours.flatten(), theirs.flatten(), f"{column}[]")
    parents = pc.list_parent_indices(ours).to_numpy()
    equal[alike[parents[~elements]]] = False
    return equal


def _shared_type(ours: pa.DataType, theirs: pa.DataType, column: str) -> pa.DataType:
    """Find the type in which the values of both can be compared without loss."""
    types = pa.types
    pair = [k.value_type if types.is_dictionary(k) else k for k in (ours, theirs)]
    if any(types.is_null(kind) for kind in pair):
        return pair[1] if types.is_null(pair[0]) else pair[0]
    if all(types.is_integer(kind) for kind in pair):
        return pa.int64()
    if all(types.is_floating(kind) for kind in pair):
        return pa.float64()
    if all(types.is_decimal(kind) for kind in pair):
        return pa.decimal256(WIDEST_DECIMAL, max(kind.scale for kind in pair))
    if all(_is_text(kind) for kind in pair):
        return pa.large_string()
    if all(_is_bytes(kind) for kind in pair):
        return pa.large_binary()
    if all(types.is_date(kind) for kind in pair):
        return pa.date32()
    if all(types.is_time(kind) for kind in pair):
        return pa.time64("ns")
    if all(types.is_timestamp(kind) and kind.tz is not None for kind in pair):
        return pa.timestamp(_finer_unit(pair), "UTC")
    if all(types.is_timestamp(kind) and kind.tz is None for kind in pair):
        return pa.timestamp(_finer_unit(pair))
    if all(types.is_boolean(kind) for kind in pair):
        return pa.bool_()
    raise IncomparableColumnError(column, str(ours), str(theirs))


def _finer_unit(pair: Sequence[pa.DataType]) -> str:
    return max((str(kind.unit) for kind in pair), key=TIME_UNITS.index)


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _mask(values: pa.Array) -> Mask:
    mask: Mask = values.to_numpy(zero_copy_only=False).astype(np.bool_, copy=True)
    return mask


def _type_name(table: pa.Table, column: str) -> str:
    return str(table[column].type) if column in table.column_names else ABSENT


def _samples(
    keys: pa.Table, masks: Mapping[Kind, Mask], pairs: npt.NDArray[Any], unequal: Mapping[str, Mask]
) -> tuple[Sample, ...]:
    samples = []
    for kind, mask in masks.items():
        for row in np.flatnonzero(mask)[:SAMPLES]:
            key = tuple(column[int(row)].as_py() for column in keys.columns)
            # Only a changed key is among the pairs.
            pair = np.flatnonzero(pairs == row)
            columns = tuple(name for name, found in unequal.items() if found[pair].any())
            samples.append(Sample(kind, key, columns))
    return tuple(samples)
