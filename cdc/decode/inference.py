"""What a JSON value may be a column of, and what several values may be a column of together.

Types are guessed from values only where nothing better says them. A guess never calls a text a
date, rounds no number, and holds what fits nothing narrower as text.
"""

from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from cdc.decode.json_payloads import SPECIAL_NUMBERS, Number
from cdc.model import SourceType
from cdc.model.column_types import ColumnTypes

JSON_TEXT: Final = SourceType("string", "io.debezium.data.Json")
TEXT: Final = SourceType("string")
# A double holds every whole number up to here, and every decimal of so many digits.
EXACT_BITS: Final = 53
EXACT_DIGITS: Final = 17
LONG_BITS: Final = 63


class Kind(Enum):
    """What the values of a column have been so far."""

    NULL = "nothing"
    BOOLEAN = "true or false"
    INTEGER = "a whole number"
    LONG = "a whole number that a double cannot hold"
    NUMBER = "a number"
    SPECIAL = "a number that JSON has no word for"
    TEXT = "text"
    NESTED = "an object or an array"
    MIXED = "several things, or a number that no type holds"


_NUMBERS: Final = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.SPECIAL})
_TEXTS: Final = frozenset({Kind.TEXT, Kind.SPECIAL})
_TYPES: Final[Mapping[Kind, SourceType]] = {
    Kind.BOOLEAN: SourceType("boolean"),
    Kind.INTEGER: SourceType("int64"),
    Kind.LONG: SourceType("int64"),
    Kind.NUMBER: SourceType("double"),
    Kind.SPECIAL: TEXT,
    Kind.TEXT: TEXT,
    Kind.NESTED: JSON_TEXT,
    Kind.MIXED: TEXT,
}


def kind_of(value: Any) -> Kind:
    """Tell what a parsed JSON value is; a number with a fraction comes as `Number`."""
    if value is None:
        return Kind.NULL
    if isinstance(value, bool):
        return Kind.BOOLEAN
    if isinstance(value, int):
        return _kind_of_integer(value)
    if isinstance(value, Number):
        return _kind_of_number(value)
    if isinstance(value, str):
        return Kind.SPECIAL if value in SPECIAL_NUMBERS else Kind.TEXT
    return Kind.NUMBER if isinstance(value, float) else Kind.NESTED


def join(one: Kind, other: Kind) -> Kind:
    """Tell what values of two kinds are together."""
    if one is other or other is Kind.NULL:
        return one
    if one is Kind.NULL:
        return other
    pair = {one, other}
    if pair == {Kind.INTEGER, Kind.LONG}:
        return Kind.LONG
    if pair < _NUMBERS:
        return Kind.NUMBER
    return Kind.TEXT if pair == {Kind.SPECIAL, Kind.TEXT} else Kind.MIXED


def type_of(kind: Kind) -> SourceType | None:
    """Give the type of a column of such values, or None while there is no value."""
    return _TYPES.get(kind)


def fits(kind: Kind | None, column: SourceType) -> bool:
    """Say whether a column whose type was guessed before can hold such a value without loss.

    A column of text holds anything, as the JSON it is written in.
    """
    if kind in (None, Kind.NULL) or column.kind == "string":
        return True
    if column.kind in ("float", "double"):
        return kind in _NUMBERS
    if column.kind == "boolean":
        return kind is Kind.BOOLEAN
    return kind in (Kind.INTEGER, Kind.LONG)


def type_by_value(types: ColumnTypes, kind: Kind) -> SourceType | None:
    """Choose among the types that a column has had; null is a value of the table's own."""
    own = types.declared or types.inferred
    if own is None or not types.others or kind is Kind.NULL:
        return own
    return next((one for one in (own, *types.others) if is_written_as(kind, one)), own)


def is_written_as(kind: Kind, column: SourceType) -> bool:
    """Say whether a value looks like one of a type; whether the type holds it is another matter."""
    if column.kind in ("boolean", "string", "bytes"):
        return kind is Kind.BOOLEAN if column.kind == "boolean" else kind in _TEXTS
    if column.kind in ("float", "double"):
        return kind in _NUMBERS or kind is Kind.LONG
    if column.element is not None or column.kind in ("struct", "map"):
        return kind is Kind.NESTED
    return kind in (Kind.INTEGER, Kind.LONG)


def is_text(kind: Kind) -> bool:
    """Say whether such a value goes into a column of text as it is."""
    return kind is Kind.NULL or kind in _TEXTS


def _kind_of_integer(value: int) -> Kind:
    if not -(1 << LONG_BITS) <= value < 1 << LONG_BITS:
        return Kind.MIXED
    small = abs(value) <= 1 << EXACT_BITS or int(float(value)) == value
    return Kind.INTEGER if small else Kind.LONG


def _kind_of_number(text: str) -> Kind:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        return Kind.MIXED
    exact = Decimal(text)
    # Shorter ones are what a double was printed as, or may as well have been.
    long = len(exact.as_tuple().digits) > EXACT_DIGITS
    return Kind.MIXED if long and Decimal(repr(value)) != exact else Kind.NUMBER
