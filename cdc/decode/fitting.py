"""Raw columns into the table's types; the rows whose value does not fit are found by themselves."""

import pyarrow as pa
import pyarrow.compute as pc

from cdc.config.type_choices import Otherwise
from cdc.decode.messages import BadMessage
from cdc.decode.parts import in_parts
from cdc.decode.values import convert, fallback, surely_unfit
from cdc.model import SourceType


def fitted(
    raw: pa.Array,
    source: SourceType,
    target: pa.DataType,
    column: str,
    otherwise: Otherwise = Otherwise.REJECT,
) -> tuple[pa.Array, list[BadMessage]]:
    """Convert a column.

    A value that does not fit gives way to what the config asks for; without that, or where nothing
    can stand in for it, it is null in the column, and its row and reason are given.
    """
    if otherwise is not Otherwise.REJECT:
        odd = surely_unfit(raw, source, target)
        if pc.any(odd).as_py():
            rest = pc.if_else(odd, pa.scalar(None, raw.type), raw)
            values, bad_messages = fitted(rest, source, target, column, otherwise)
            substitutes = fallback(raw.filter(odd), source, target, otherwise)
            return pc.replace_with_mask(values, odd, substitutes), bad_messages
    reasons: dict[int, str] = {}

    def attempt(start: int, count: int) -> pa.Array | None:
        try:
            values = convert(raw.slice(start, count), source, target)
            return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        except (pa.ArrowException, OverflowError) as error:
            reasons[start] = f"its {column} does not fit {target}: {error}"
            return None

    pieces, bad_messages = [pa.array([], target)], []
    for start, count, part in in_parts(len(raw), attempt):
        if part is None:
            part = _instead(raw.slice(start, count), source, target, otherwise)
        if part is None:
            part = pa.nulls(count, target)
            bad_messages.append(BadMessage(start, reasons[start]))
        pieces.append(part)
    if len(pieces) == 2:
        return pieces[1], bad_messages
    return pa.concat_arrays(pieces), bad_messages


def _instead(
    raw: pa.Array, source: SourceType, target: pa.DataType, otherwise: Otherwise
) -> pa.Array | None:
    try:
        return fallback(raw, source, target, otherwise)
    except (pa.ArrowException, OverflowError, ValueError):
        return None
