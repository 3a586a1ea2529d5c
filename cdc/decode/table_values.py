"""Raw values into the type that a column of the table has."""

import pyarrow as pa

from cdc.config.type_choices import Otherwise
from cdc.decode.decode_plan import DecodePlan
from cdc.decode.fitting import fitted
from cdc.decode.messages import BadMessage
from cdc.decode.values import digests
from cdc.model import SourceType


def table_values(
    raw: pa.Array, source: SourceType, column: pa.Field, plan: DecodePlan
) -> tuple[pa.Array, list[BadMessage]]:
    """Convert raw values into the table's type, or into their digests."""
    source = plan.dialect.understood(source)
    if column.name in plan.values.hashed:
        plain = source.kind == "bytes" and source.logical is None
        array, bad_messages = fitted(
            raw, source, pa.binary() if plain else pa.string(), column.name
        )
        return digests(array), bad_messages
    otherwise = plan.values.otherwise.get(column.name, Otherwise.REJECT)
    return fitted(raw, source, column.type, column.name, otherwise)
