"""Columns of every type that makes partitions, and what pyiceberg makes of their values."""

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from pyiceberg.transforms import Transform, parse_transform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from cdc.model import PartitionField

HOUR = 3_600_000_000
DAY = 24 * HOUR
FIRST_MOMENT, LAST_MOMENT = -62135596800000000, 253402300799999999  # the years 1 to 9999
FIRST_DAY, LAST_DAY = -719162, 2932896
MOMENTS = [
    *(
        sign * span + step
        for span in (0, HOUR, DAY, 365 * DAY)
        for sign in (1, -1)
        for step in (-1, 0, 1)
    ),
    FIRST_MOMENT,
    LAST_MOMENT,
    951782400000000,  # 2000-02-29
    1510871468000000,
]
# As Iceberg keeps them: whole numbers for dates and times.
EDGES: dict[PrimitiveType, list[Any]] = {
    BooleanType(): [True, False],
    IntegerType(): [0, 1, -1, 34, -7, 2**31 - 1, 1000 - 2**31],
    LongType(): [0, 1, -1, 34, -7, 2**63 - 1, 1000 - 2**63],
    DecimalType(9, 2): [Decimal(t) for t in ("0.00", "14.20", "-0.01", "1.28", "-1.28", "-1.29")],
    DecimalType(38, 0): [Decimal(s * (10**37 + d)) for s in (1, -1) for d in (0, 7)],
    DecimalType(38, 38): [Decimal(f"{s}0.{'9' * 37}0") for s in ("", "-")],
    StringType(): [
        "",
        "a",
        "iceberg",
        "日本語テキスト",
        "😀😀😀😀",
        "e\u0301a",
        "\0\0",
        "x" * 2000,
    ],
    BinaryType(): [b"", b"\0\xff\0", b"\x80", b"abcdefg", bytes(2000)],
    DateType(): [0, 1, -1, 30, 31, -31, 365, -365, -366, FIRST_DAY, LAST_DAY, 11016],
    TimeType(): [0, 1, DAY - 1],
    TimestampType(): MOMENTS,
    TimestamptzType(): MOMENTS,
}


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    # Away from the ends, beyond which there would be no room to cut downwards.
    most = 10 ** (precision - 1)
    return st.integers(-most, most).map(lambda n: Decimal(f"{n}e-{scale}"))


WHOLE: dict[PrimitiveType, st.SearchStrategy[Any]] = {
    BooleanType(): st.booleans(),
    IntegerType(): st.integers(100 - 2**31, 2**31 - 1),
    LongType(): st.integers(100 - 2**63, 2**63 - 1),
    DecimalType(9, 2): _decimals(9, 2),
    DecimalType(18, 5): _decimals(18, 5),
    DecimalType(38, 10): _decimals(38, 10),
    StringType(): st.text(),
    BinaryType(): st.binary(),
    DateType(): st.integers(FIRST_DAY, LAST_DAY),
    TimeType(): st.integers(0, DAY - 1),
    TimestampType(): st.integers(FIRST_MOMENT, LAST_MOMENT),
    TimestamptzType(): st.integers(FIRST_MOMENT, LAST_MOMENT),
}


def typed_columns(max_size: int = 20) -> st.SearchStrategy[tuple[PrimitiveType, list[Any]]]:
    """Draw a type and a column of it, nulls among the values."""
    return st.sampled_from(list(WHOLE)).flatmap(
        lambda kind: st.tuples(st.just(kind), st.lists(st.none() | WHOLE[kind], max_size=max_size))
    )


def scalar(field: PartitionField, kind: PrimitiveType, value: Any) -> Any:
    """Transform one value, given as Iceberg keeps it, with pyiceberg."""
    name = field.transform if field.argument is None else f"{field.transform}[{field.argument}]"
    transform: Transform[Any, Any] = parse_transform(name)
    return transform.transform(kind)(value)
