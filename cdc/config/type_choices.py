"""The types that a rule of the config may choose for columns: their grammar.

A choice is an Iceberg type such as `string`, `decimal(38,2)` or, for the elements of an array,
`list<string>`. It may end with `or null` or `or nearest`, which says what stands for a value that
does not fit. Where messages do not say what a column means, the choice may name that in the words
of Debezium and Kafka Connect, `io.debezium.time.MicroTimestamp` or
`org.apache.kafka.connect.data.Decimal(10,2)`, and with `as double` the Iceberg type too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cdc.model import SourceType
from cdc.model.logical import BITS, DECIMAL, ESCAPED_ENUM, KINDS, LENGTH, PRECISION, SCALE

PRIMITIVES: Final = (
    *("boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz"),
    *("string", "binary"),
)
MOST_DIGITS: Final = 38
MOMENTS: Final = ("date", "timestamp", "timestamptz")
NESTED_KINDS: Final = ("array", "struct", "map")
# What a column of a topic without schemas may be said to mean: its values are no structs.
SEMANTIC: Final = {
    name: kind for name, kind in KINDS.items() if kind not in NESTED_KINDS and name != ESCAPED_ENUM
}
# Kafka Connect's own kinds, for what has no meaning beyond them.
CONNECT_KINDS: Final = ("int8", "int16", "int32", "int64", "bytes")

_ARGUMENTS: Final = re.compile(r"([\w.]+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_LIST: Final = re.compile(r"list\s*<(.*)>")
_OR: Final = re.compile(r"(.*\S)\s+or\s+(\w+)")
_AS: Final = re.compile(r"(.*\S)\s+as\s+(\S.*)")


class Otherwise(StrEnum):
    """What becomes of a value that does not fit the type of its column."""

    REJECT = "reject"
    NULL = "null"
    NEAREST = "nearest"


@dataclass(frozen=True, slots=True)
class TypeChoice:
    """What a rule says of one column."""

    # As Iceberg writes the type, such as `decimal(10, 2)`; None leaves it to the mapping.
    iceberg: str | None = None
    # What the column means, where its messages do not say.
    semantic: SourceType | None = None
    otherwise: Otherwise = Otherwise.REJECT


def parse_type_choice(text: str) -> TypeChoice:
    """Read one value of `types`.

    Raises:
        ValueError: It is none; the text says why.
    """
    wanted, otherwise = text.strip(), Otherwise.REJECT
    found = _OR.fullmatch(wanted)
    if found:
        wanted = found[1]
        if found[2] not in (Otherwise.NULL, Otherwise.NEAREST):
            raise ValueError(f'ends with "or {found[2]}"; known are "or null" and "or nearest"')
        otherwise = Otherwise(found[2])
    semantic = None
    found = _AS.fullmatch(wanted)
    if found or _is_semantic(wanted):
        semantic = _semantic(found[1] if found else wanted)
    iceberg = _iceberg(found[2]) if found else None if semantic else _iceberg(wanted)
    if otherwise is Otherwise.NEAREST and iceberg is not None and iceberg not in MOMENTS:
        raise ValueError(f'ends with "or nearest", which only {", ".join(MOMENTS)} have')
    return TypeChoice(iceberg, semantic, otherwise)


def timed(types: Mapping[str, str]) -> list[str]:
    """Name the columns for which Iceberg's time is chosen."""
    return [
        column
        for column, text in types.items()
        if (parse_type_choice(text).iceberg or "").split("<")[-1].rstrip(">") == "time"
    ]


def _is_semantic(text: str) -> bool:
    found = _ARGUMENTS.fullmatch(text)
    return found is not None and ("." in found[1] or found[1] in CONNECT_KINDS)


def _semantic(text: str) -> SourceType:
    found = _ARGUMENTS.fullmatch(text)
    name = found[1] if found else text
    if name in CONNECT_KINDS and found and found[2] is None:
        return SourceType(name)
    if found is None or name not in SEMANTIC:
        raise ValueError(f'"{text}" is no type of Debezium or Kafka Connect')
    first, second = found[2], found[3]
    if name == DECIMAL and first is not None:
        pairs = {SCALE: second, PRECISION: first} if second is not None else {SCALE: first}
    elif name == BITS and first is not None and second is None:
        pairs = {LENGTH: first}
    elif first is not None or name in (DECIMAL, BITS):
        example = {DECIMAL: "(10,2)", BITS: "(8)"}.get(name, "")
        raise ValueError(f'is written "{name}{example}"')
    else:
        pairs = {}
    parameters = sorted((key, str(int(value))) for key, value in pairs.items())
    return SourceType(SEMANTIC[name], name, tuple(parameters))


def _iceberg(text: str) -> str:
    nested = _LIST.fullmatch(text)
    if nested:
        return f"list<{_iceberg(nested[1].strip())}>"
    found = _ARGUMENTS.fullmatch(text)
    name = found[1] if found else text
    if found and name == "decimal":
        if found[3] is None:
            raise ValueError('needs precision and scale, such as "decimal(38,2)"')
        precision, scale = int(found[2]), int(found[3])
        if not 1 <= precision <= MOST_DIGITS or scale > precision:
            raise ValueError(f'"{text}" is no decimal: precision 1 to 38, scale 0 to precision')
        return f"decimal({precision}, {scale})"
    if found is None or found[2] is not None or name not in PRIMITIVES:
        raise ValueError(f'"{text}" is no type')
    return name
