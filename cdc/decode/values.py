"""Raw JSON columns to the values they stand for, a whole column at a time.

Debezium writes what JSON has no word for as numbers and base64 text and names the meaning in the
schema. A conversion here goes from that raw column to the column's type in the table.
"""

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.base64_columns import decode_base64, decode_base64_decimals
from cdc.model import SourceType

DAY_MICROS = 86_400_000_000
VARIABLE_SCALE = "io.debezium.data.VariableScaleDecimal"
CONNECT_DECIMAL = "org.apache.kafka.connect.data.Decimal"
MILLIS = frozenset({"io.debezium.time.Timestamp", "org.apache.kafka.connect.data.Timestamp"})
TIME_UNITS = {
    "io.debezium.time.Time": 1_000,
    "org.apache.kafka.connect.data.Time": 1_000,
    "io.debezium.time.MicroTime": 1,
}
RAW = {
    "int8": pa.int32(),
    "int16": pa.int32(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "bytes": pa.string(),
}


def raw_type(source: SourceType) -> pa.DataType:
    """Give the Arrow type in which the JSON reader takes a column."""
    if source.element is not None:
        return pa.list_(raw_type(source.element))
    if source.kind == "struct":
        return pa.struct([(field.name, raw_type(field.type)) for field in source.fields])
    return RAW[source.kind]


def readable(source: SourceType) -> bool:
    """Say whether the JSON reader can take a column of this type as one."""
    if source.element is not None:
        return readable(source.element)
    return source.kind != "map" and all(readable(field.type) for field in source.fields)


def convert(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Turn a raw column into the table's type.

    Raises:
        pa.ArrowInvalid: A value does not fit the table's type.
    """
    if source.logical in SPECIAL:
        return SPECIAL[source.logical](raw, source, target)
    if source.element is not None:
        return _convert_list(raw, source.element, target)
    if source.kind == "struct":
        members = [
            convert(pc.struct_field(raw, field.name), field.type, target.field(field.name).type)
            for field in source.fields
        ]
        return pa.StructArray.from_arrays(members, fields=list(target), mask=raw.is_null())
    if source.kind == "bytes":
        return decode_base64(raw)
    return raw if raw.type == target else raw.cast(target)


def _convert_list(raw: pa.Array, element: SourceType, target: pa.DataType) -> pa.Array:
    values = convert(raw.flatten(), element, target.value_type)
    lengths = pc.fill_null(pc.list_value_length(raw), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(offsets), values, type=target, mask=raw.is_null() if raw.null_count else None
    )


def _decimals(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    if pa.types.is_decimal128(target):
        return decode_base64_decimals(raw, target)
    scale = int(source.parameter("scale") or 0)
    unscaled = decode_base64(raw).to_pylist()
    return pa.array([_decimal_text(value, scale) for value in unscaled], target)


def _variable_scale(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    scales = pc.struct_field(raw, "scale").to_pylist()
    unscaled = decode_base64(pc.struct_field(raw, "value")).to_pylist()
    texts = [_decimal_text(value, scale) for value, scale in zip(unscaled, scales, strict=True)]
    return pa.array(texts, target)


def _decimal_text(unscaled: bytes | None, scale: int | None) -> str | None:
    if unscaled is None or scale is None:
        return None
    sign, digits, _ = Decimal(int.from_bytes(unscaled, "big", signed=True)).as_tuple()
    return format(Decimal((sign, digits, -scale)), "f")


def _millis(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    return raw.cast(pa.timestamp("ms")).cast(target)


def _times(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Write a time of day as text; Spark knows no time type, and 24:00:00 fits none."""
    micros = pc.multiply_checked(raw.cast(pa.int64()), TIME_UNITS[source.logical or ""])
    inside = pc.and_(pc.greater_equal(micros, 0), pc.less(micros, DAY_MICROS))
    usual = pc.if_else(inside, micros, None).cast(pa.time64("us")).cast(pa.string())
    odd = pc.fill_null(pc.invert(inside), False)
    if not pc.any(odd).as_py():
        return usual
    beyond = [_time_text(value) for value in micros.filter(odd).to_pylist()]
    return pc.replace_with_mask(usual, odd, pa.array(beyond, pa.string()))


def _time_text(micros: int) -> str:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    sign = "-" if micros < 0 else ""
    return f"{sign}{hours:02}:{minutes:02}:{seconds:02}.{fraction:06}"


Conversion = Callable[[pa.Array, SourceType, pa.DataType], pa.Array]
SPECIAL: dict[str, Conversion] = {
    CONNECT_DECIMAL: _decimals,
    VARIABLE_SCALE: _variable_scale,
    **dict.fromkeys(MILLIS, _millis),
    **dict.fromkeys(TIME_UNITS, _times),
}
