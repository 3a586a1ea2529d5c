"""The types of Debezium and Kafka Connect: what each becomes, and what else it may become.

The rows are read by the mapping and printed on the types page, so that the two cannot differ. Every
choice of every row has its exact conversion in the decoder; a test holds the two together.
"""

from dataclasses import dataclass
from typing import Final

from cdc.model import logical

# Stands for any decimal(p, s) among choices.
ANY_DECIMAL: Final = "decimal"
NUMBERS: Final = ("int", "long", ANY_DECIMAL, "double", "string")


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One type, or several that are treated alike."""

    names: tuple[str, ...]  # logical names, or physical kinds
    iceberg: str
    choices: tuple[str, ...]
    edges: str


KINDS: Final = (
    TypeRow(
        ("int8", "int16", "int32"),
        "int",
        ("long", ANY_DECIMAL, "double", "boolean", "string"),
        "`boolean` takes 0 and 1.",
    ),
    TypeRow(
        ("int64",),
        "long",
        ("int", ANY_DECIMAL, "double", "boolean", "string"),
        "`int` and `double` take what they hold exactly.",
    ),
    TypeRow(("float",), "float", ("double", "string"), "NaN and ±infinity are kept."),
    TypeRow(("double",), "double", ("string",), "NaN and ±infinity are kept."),
    TypeRow(("boolean",), "boolean", ("int", "string"), ""),
    TypeRow(
        ("string",),
        "string",
        ("int", "long", ANY_DECIMAL, "double"),
        "Numbers as text may become numbers; of those, `NAN` and `POSITIVE_INFINITY` fit `double`.",
    ),
    TypeRow(("bytes",), "binary", ("string",), "`string` reads UTF-8."),
    TypeRow(("array",), "list", ("string",), "`list<…>` is for the elements, `string` is JSON."),
    TypeRow(("struct",), "struct", ("string",), "`string` is JSON."),
    TypeRow(
        ("map",), "map", ("string",), "`string` is JSON: an object, or pairs if keys are no texts."
    ),
)

_INFINITE: Final = "±infinity and years as for dates."
LOGICAL: Final = (
    TypeRow(
        (logical.DECIMAL,),
        "decimal(p, s)",
        NUMBERS,
        "More than 38 digits, or a scale below 0 or above the precision: `string`. Without a "
        "precision: decimal(38, s). `double` rounds to the nearest.",
    ),
    TypeRow(
        (logical.VARIABLE_SCALE_DECIMAL,),
        "string",
        NUMBERS,
        "Each number has a scale of its own. `double` rounds to the nearest.",
    ),
    TypeRow(
        (logical.DATE, logical.CONNECT_DATE, logical.ISO_DATE),
        "date",
        ("string", "int"),
        "±infinity, and days that no database has, are refused; `string` keeps them, `or nearest` "
        "and `or null` replace them. Years before 1 and after 9999 are kept.",
    ),
    TypeRow(
        (
            logical.TIMESTAMP,
            logical.CONNECT_TIMESTAMP,
            logical.MICRO_TIMESTAMP,
            logical.ISO_TIMESTAMP,
        ),
        "timestamp",
        ("timestamptz", "string", "long"),
        f"{_INFINITE} `timestamptz` takes it for UTC; `long` counts microseconds.",
    ),
    TypeRow(
        (logical.NANO_TIMESTAMP,),
        "timestamp",
        ("timestamptz", "string", "long"),
        "Whole microseconds only, others are refused: `string` has nine digits, `long` counts "
        "nanoseconds, `or nearest` rounds.",
    ),
    TypeRow(
        (logical.ZONED_TIMESTAMP,),
        "timestamptz",
        ("string", "long"),
        f"The moment is kept, its offset is not. {_INFINITE}",
    ),
    TypeRow(
        (logical.TIME, logical.CONNECT_TIME, logical.MICRO_TIME),
        "string",
        ("time", "long"),
        "`HH:MM:SS.ffffff`, also 24:00:00 and beyond, also negative. Spark reads no `time`; `long` "
        "counts microseconds.",
    ),
    TypeRow(
        (logical.NANO_TIME,),
        "string",
        ("time", "long"),
        "As above with nine digits; `long` counts nanoseconds.",
    ),
    TypeRow(
        (logical.ISO_TIME,),
        "string",
        ("time", "long"),
        "As above, with nine digits where six would cut. Debezium itself sends 24:00 as 00:00.",
    ),
    TypeRow((logical.ZONED_TIME,), "string", (), "As sent, with its offset."),
    TypeRow(
        (logical.MICRO_DURATION, logical.NANO_DURATION),
        "long",
        ("string",),
        "Microseconds or nanoseconds; Debezium counts months as 30.4375 days.",
    ),
    TypeRow((logical.INTERVAL,), "string", (), "As sent: `P1Y2M3DT4H5M6.78S`."),
    TypeRow((logical.YEAR,), "int", ("long", "string"), "As sent."),
    TypeRow(
        (logical.BITS,),
        "binary",
        ("string", "long", ANY_DECIMAL),
        "Most significant byte first, as many bytes as the declared length needs. `string` is 0s "
        "and 1s. Debezium drops the leading zeros of a bit varying: its length is not known.",
    ),
    TypeRow(
        (
            logical.JSON,
            logical.XML,
            logical.UUID,
            logical.LTREE,
            logical.TSVECTOR,
            logical.ENUM,
            logical.ENUM_SET,
            logical.ESCAPED_ENUM,
        ),
        "string",
        (),
        "As sent.",
    ),
    TypeRow(
        (logical.POINT, logical.GEOMETRY, logical.GEOGRAPHY),
        "struct",
        ("binary", "string"),
        "`binary` is the WKB alone, `string` is JSON.",
    ),
    TypeRow((logical.DOUBLE_VECTOR, logical.FLOAT_VECTOR), "list", ("string",), ""),
    TypeRow((logical.SPARSE_VECTOR,), "struct", ("string",), "`dimensions` and a map."),
)
ROWS: Final = {name: row for row in (*KINDS, *LOGICAL) for name in row.names}
