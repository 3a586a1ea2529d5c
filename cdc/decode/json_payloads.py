"""JSON objects to raw columns: a fast reader for whole arrays, an exact one for the odd rows.

Arrow's reader fails on a whole array if one value is odd: a number that JSON cannot write, such as
NaN, which Debezium sends as text, a map, a line that is no JSON. Only the rows at fault go to the
exact reader, which gives what the fast one would give, or says what is wrong with the row.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from cdc.decode.messages import BadMessage, RawColumns, Rows, raw_type
from cdc.decode.parts import in_parts
from cdc.model import SourceColumn, SourceType

# Fewer rows than this are read exactly sooner than parted again.
FEW = 16
NOT_A_NUMBER = r'"(NaN|-?Infinity)"'
SPECIAL_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})
BITS = {pa.int32(): 31, pa.int64(): 63}


class Number(str):
    """A number with a fraction or an exponent as it was written: a float would round it."""

    __slots__ = ()


def json_type(source: SourceType) -> pa.DataType:
    """Give the Arrow type of a raw JSON column; its bytes are base64 text."""
    return raw_type(source, pa.string())


def json_schema(fields: Sequence[SourceColumn]) -> pa.Schema:
    """Give the Arrow schema of raw JSON columns."""
    return pa.schema([(field.name, json_type(field.type)) for field in fields])


def read_payloads(payloads: pa.Array, schema: pa.Schema) -> RawColumns:
    """Read JSON objects into columns of the given raw types; a field that is absent is null."""
    simple = not any(has_map(field.type) for field in schema)
    table = read_fast(payloads, schema) if simple else None
    if table is not None:
        return RawColumns(np.arange(len(payloads)), table)
    odd = np.ones(len(payloads), bool)
    if simple:
        special = pc.match_substring_regex(payloads, NOT_A_NUMBER)
        odd = special.to_numpy(zero_copy_only=False).copy()
    usual = np.flatnonzero(~odd)
    rest = payloads.take(pa.array(usual))
    pieces: list[tuple[Rows, pa.Table]] = []
    for start, count, part in in_parts(
        len(rest), lambda start, count: read_fast(rest.slice(start, count), schema), smallest=FEW
    ):
        if part is not None:
            pieces.append((usual[start : start + count], part))
        else:
            odd[usual[start : start + count]] = True
    exact, bad_messages = _read_exactly(payloads, np.flatnonzero(odd), schema)
    indexes = np.concatenate([piece[0] for piece in (*pieces, exact)])
    order = np.argsort(indexes)
    whole = pa.concat_tables([piece[1] for piece in (*pieces, exact)]).combine_chunks()
    table = whole.take(pa.array(order)).combine_chunks()
    return RawColumns(indexes[order], table, tuple(bad_messages))


def has_map(kind: pa.DataType) -> bool:
    """Say whether a type has a map inside, which Arrow's reader does not take from an object."""
    if pa.types.is_struct(kind):
        return any(has_map(member.type) for member in kind)
    if pa.types.is_list(kind):
        return has_map(kind.value_type)
    return bool(pa.types.is_map(kind))


def read_fast(
    payloads: pa.Array, schema: pa.Schema, *, others: Literal["ignore", "error"] = "ignore"
) -> pa.Table | None:
    """Read JSON objects in one go, or give None if a single value is not as the schema says.

    Args:
        payloads: The objects.
        schema: The raw types of the fields to read; none of them has a map inside.
        others: Whether a field that the schema does not have counts as such a value.
    """
    # The reader takes one object per line: anything else would shift the rows, or crash it.
    objects = pc.and_(pc.starts_with(payloads, pattern=b"{"), pc.ends_with(payloads, pattern=b"}"))
    if not len(payloads):
        return schema.empty_table()
    if not pc.all(objects).as_py():
        return None
    whole = pa.ListArray.from_arrays(pa.array([0, len(payloads)], pa.int32()), payloads)
    data = pc.binary_join(whole, b"\n")[0].as_buffer()
    try:
        table = pj.read_json(
            pa.BufferReader(data),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others),
            read_options=pj.ReadOptions(use_threads=False, block_size=data.size + 1),
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != len(payloads):
        return None
    return table.combine_chunks()


def _read_exactly(
    payloads: pa.Array, indexes: Rows, schema: pa.Schema
) -> tuple[tuple[Rows, pa.Table], list[BadMessage]]:
    columns: list[list[Any]] = [[] for _ in schema]
    good, bad_messages = [], []
    texts = payloads.take(pa.array(indexes)).to_pylist()
    for index, text in zip(indexes.tolist(), texts, strict=True):
        try:
            row = _row(text, schema)
        except (ValueError, RecursionError) as error:
            bad_messages.append(BadMessage(index, str(error)))
            continue
        good.append(index)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return (np.array(good, np.int64), pa.Table.from_arrays(arrays, schema=schema)), bad_messages


def _row(text: bytes, schema: pa.Schema) -> list[Any]:
    try:
        parsed = json.loads(text, parse_float=Number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its payload is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ValueError("its payload is not a JSON object")
    row = []
    for field in schema:
        try:
            row.append(_exact(parsed.get(field.name), field.type))
        except (ValueError, pa.ArrowException) as error:
            reason = f"its field {field.name} is not of the type its schema names: {error}"
            raise ValueError(reason) from error
    return row


def _exact(value: Any, kind: pa.DataType) -> Any:
    """Give the value that Arrow takes for a parsed one, which must be of the right kind."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        _expect(value, dict, "an object")
        return {member.name: _exact(value.get(member.name), member.type) for member in kind}
    if pa.types.is_list(kind):
        _expect(value, list, "an array")
        return [_exact(item, kind.value_type) for item in value]
    if pa.types.is_map(kind):
        return _pairs(value, kind)
    if pa.types.is_floating(kind):
        return _float(value, kind)
    if pa.types.is_boolean(kind):
        return _expect(value, bool, "true or false")
    if pa.types.is_integer(kind):
        _expect(value, int, "a whole number")
        if not -(1 << BITS[kind]) <= value < 1 << BITS[kind]:
            raise ValueError(f"{value} does not fit {kind}")
        return value
    _expect(value, str, "a text")
    value.encode()  # half of a character fails here
    return value


def _expect(value: Any, kind: type, name: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{str(value)[:100]!r} instead of {name}")
    return value


def _float(value: Any, kind: pa.DataType) -> float:
    if (type(value) is str and value in SPECIAL_NUMBERS) or type(value) is float:
        return float(value)
    if type(value) not in (int, Number):
        raise ValueError(f"{str(value)[:100]!r} instead of a number")
    # From the text, as the fast reader does: by way of a double a float would be rounded twice.
    number: float = pa.scalar(str(value)).cast(kind).as_py()
    return number


def _pairs(value: Any, kind: pa.MapType) -> list[tuple[Any, Any]]:
    """Read a map: an object where the keys are texts, else an array of pairs."""
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list) or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{str(value)[:100]!r} instead of a map")
    exact = [(_exact(key, kind.key_type), _exact(item, kind.item_type)) for key, item in pairs]
    if any(key is None for key, _ in exact):
        raise ValueError("a map with a key that is null")
    return exact
