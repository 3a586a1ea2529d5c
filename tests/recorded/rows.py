"""Rows as JSON can hold them, so that those of a source and those of a mirror compare."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

Row = dict[str, Any]


def as_json(table: pa.Table) -> list[Row]:
    """Give the rows of a table, in an order that their values alone decide."""
    return sorted_rows([{n: _value(v) for n, v in row.items()} for row in table.to_pylist()])


def sorted_rows(rows: list[Row]) -> list[Row]:
    """Order rows by their values."""
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def _value(value: Any) -> Any:
    match value:
        case Decimal():
            return str(value)
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat()
        case date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case _:
            return value
