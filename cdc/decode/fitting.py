"""Raw columns into the table's types; the rows whose value does not fit are found by themselves."""

import pyarrow as pa

from cdc.decode.messages import BadMessage
from cdc.decode.parts import in_parts
from cdc.decode.values import convert
from cdc.model import SourceType


def fitted(
    raw: pa.Array, source: SourceType, target: pa.DataType, column: str
) -> tuple[pa.Array, list[BadMessage]]:
    """Convert a column; a value that does not fit is null in it, and its row and reason given."""
    reasons: dict[int, str] = {}

    def attempt(start: int, count: int) -> pa.Array | None:
        try:
            values = convert(raw.slice(start, count), source, target)
            return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        except (pa.ArrowException, OverflowError) as error:
            reasons[start] = f"its {column} does not fit {target}: {error}"
            return None

    pieces, bad = [pa.array([], target)], []
    for start, count, part in in_parts(len(raw), attempt):
        pieces.append(part if part is not None else pa.nulls(count, target))
        if part is None:
            bad.append(BadMessage(start, reasons[start]))
    if len(pieces) == 2:
        return pieces[1], bad
    return pa.concat_arrays(pieces), bad
