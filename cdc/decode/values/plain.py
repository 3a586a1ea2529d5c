"""Numbers, flags, texts and bytes that mean no more than they are."""

import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.byte_columns import to_binary
from cdc.decode.values.decimals import numeric_texts
from cdc.model import SourceType
from cdc.model.logical import ALLOWED, is_unsigned_bigint


def whole_numbers(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert whole numbers; what does not fit the target type exactly is refused."""
    if is_unsigned_bigint(source):
        raw = raw.view(pa.uint64())
    if pa.types.is_boolean(target):
        flags = pc.is_in(raw, pa.array([0, 1, None], raw.type))
        if not pc.all(flags, min_count=0).as_py():
            raise pa.ArrowInvalid("a number that is neither 0 nor 1")
        return raw.cast(target)
    if pa.types.is_decimal(target):
        return raw.cast(pa.decimal256(76, 0)).cast(target)
    return raw.cast(target)


def fractions(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert floating point numbers; a double that a float would round is refused."""
    values = raw.cast(target)
    if source.kind == "double" and pa.types.is_float32(target):
        same = pc.or_(pc.equal(values.cast(raw.type), raw), pc.is_nan(raw))
        if not pc.all(same, min_count=0).as_py():
            raise pa.ArrowInvalid("a double that a float would round")
    return values


def flags(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Convert booleans."""
    return raw.cast(target)


def texts(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Keep texts, or read them as numbers."""
    return raw if pa.types.is_string(target) else numeric_texts(raw, source, target)


def octets(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    """Keep bytes, or read them as UTF-8, in which PostgreSQL's unknown types come."""
    return to_binary(raw).cast(target)


def escaped_enums(raw: pa.Array, source: SourceType, target: pa.DataType) -> pa.Array:
    r"""Read enum values in which a comma is written `\,`.

    MySQL's and MariaDB's changes hold the value so, their snapshots as it is. The list of allowed
    values tells which of the two it is.
    """
    options = _options(source.parameter(ALLOWED) or "")
    plain = {option: option.replace("\\,", ",") for option in options if "\\," in option}
    escaped = [option for option in plain if option not in plain.values()]
    found = pc.index_in(raw, pa.array(escaped, pa.string()))
    if found.null_count == len(raw):
        return raw
    return pc.if_else(found.is_valid(), pa.array([plain[e] for e in escaped]).take(found), raw)


def _options(allowed: str) -> list[str]:
    options = [""]
    for part in allowed.split(","):
        if options[-1].endswith("\\"):
            options[-1] += "," + part
        else:
            options.append(part)
    return options
