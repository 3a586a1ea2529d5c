"""From a raw column to the table's column: which conversion a type takes."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.values import plain
from cdc.decode.values.bits import bits
from cdc.decode.values.decimals import decimals, variable_scale_decimals
from cdc.decode.values.json_texts import as_pairs, json_texts
from cdc.decode.values.moments import dates, timestamps
from cdc.decode.values.times_of_day import times_of_day
from cdc.model import SourceType, logical

Conversion = Callable[[pa.Array, SourceType, pa.DataType], pa.Array]

WHOLE: Final = ("int8", "int16", "int32", "int64")
BY_KIND: Final[dict[str, Conversion]] = {
    **dict.fromkeys(WHOLE, plain.whole_numbers),
    "float": plain.fractions,
    "double": plain.fractions,
    "boolean": plain.flags,
    "string": plain.texts,
    "bytes": plain.octets,
}
BY_MEANING: Final[dict[str, Conversion]] = {
    **dict.fromkeys((logical.DATE, logical.CONNECT_DATE, logical.ISO_DATE), dates),
    **dict.fromkeys((logical.TIMESTAMP, logical.CONNECT_TIMESTAMP), timestamps),
    **dict.fromkeys((logical.MICRO_TIMESTAMP, logical.NANO_TIMESTAMP), timestamps),
    **dict.fromkeys((logical.ZONED_TIMESTAMP, logical.ISO_TIMESTAMP), timestamps),
    **dict.fromkeys((logical.TIME, logical.CONNECT_TIME, logical.MICRO_TIME), times_of_day),
    **dict.fromkeys((logical.NANO_TIME, logical.ISO_TIME), times_of_day),
    logical.DECIMAL: decimals,
    logical.VARIABLE_SCALE_DECIMAL: variable_scale_decimals,
    logical.BITS: bits,
    logical.ESCAPED_ENUM: plain.escaped_enums,
}
GEOMETRIES: Final = (logical.POINT, logical.GEOMETRY, logical.GEOGRAPHY)


def convert(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Turn a raw column into the table's type, exactly.

    Args:
        raw: The values as the message holds them; bytes are binary, or base64 text.
        source: What the messages say of them.
        target: The type of the table's column, one that the mapping allows for `source`.

    Raises:
        pa.ArrowInvalid: A value does not fit the table's type.
    """
    name = logical.meaning(source)
    convert_ = BY_MEANING.get(name or "") or BY_KIND.get(source.kind, _nested)
    try:
        column = convert_(raw, source, target)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise pa.ArrowInvalid(f"{source} cannot be {target}") from error
    if column.type != target:
        raise pa.ArrowInvalid(f"{source} cannot be {target}")
    return column


def _nested(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    if pa.types.is_string(target):
        return json_texts(raw, source, convert)
    if pa.types.is_binary(target) and logical.meaning(source) in GEOMETRIES:
        return plain.octets(_member(raw, "wkb"), source, target)
    if source.element is not None and pa.types.is_list(target):
        return _lists(raw, source.element, target)
    if source.kind == "map" and pa.types.is_map(target):
        return _maps(raw, source, target)
    if source.kind != "struct" or not pa.types.is_struct(target):
        raise pa.ArrowInvalid(f"{source} cannot be {target}")
    # Either side may have members that the other lacks: the table never loses one, and where its
    # policy ignores new ones it gets none. A struct of which nothing would be left is another one.
    own = {field.name: field.type for field in source.fields}
    if own.keys().isdisjoint(member.name for member in target):
        raise pa.ArrowInvalid(f"{source} cannot be {target}")
    members = [
        convert(_member(raw, member.name), own[member.name], member.type)
        if member.name in own
        else pa.nulls(len(raw), member.type)
        for member in target
    ]
    return pa.StructArray.from_arrays(members, fields=list(target), mask=raw.is_null())


def _member(raw: pa.Array, name: str) -> pa.Array:
    # By its index: a name with a dot would be taken for a path.
    return pc.struct_field(raw, [raw.type.get_field_index(name)])


def _lists(raw: pa.Array, element: SourceType, target: pa.DataType) -> pa.Array:
    values = convert(raw.flatten(), element, target.value_type)
    return pa.ListArray.from_arrays(
        _offsets(raw), values, type=target, mask=raw.is_null() if raw.null_count else None
    )


def _maps(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert a map, which comes as one, or as a list of pairs where its keys are no texts."""
    key, value = (field.type for field in source.fields)
    pairs = as_pairs(raw)
    flat = pairs.flatten()
    keys = convert(pc.struct_field(flat, [0]), key, target.key_type)
    items = convert(pc.struct_field(flat, [1]), value, target.item_type)
    offsets = _offsets(pairs)
    if raw.null_count:
        # A null offset makes a null map; the last one has none.
        gone = np.append(raw.is_null().to_numpy(zero_copy_only=False), False)
        offsets = pa.array(offsets.to_numpy(), mask=gone)
    return pa.MapArray.from_arrays(offsets, keys, items, type=target)  # refuses a null key


def _offsets(raw: pa.Array) -> pa.Array:
    """Give where each list begins in its flattened values; a null one has none."""
    lengths = pc.fill_null(pc.list_value_length(raw), 0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))
