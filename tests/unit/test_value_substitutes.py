"""What stands for values that do not fit, where the config asks for it."""

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from cdc.config.type_choices import Otherwise
from cdc.decode.values import fallback
from cdc.model import SourceType, logical
from tests.unit.raw_columns import raw_column, table_type

DATE = SourceType("int32", logical.DATE)
ISO_DATE = SourceType("string", logical.ISO_DATE)
MILLIS = SourceType("int64", logical.TIMESTAMP)
MICROS = SourceType("int64", logical.MICRO_TIMESTAMP)
NANOS = SourceType("int64", logical.NANO_TIMESTAMP)
ISO = SourceType("string", logical.ISO_TIMESTAMP)
ZONED = SourceType("string", logical.ZONED_TIMESTAMP)
FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)


@pytest.mark.parametrize(
    ("source", "value", "nearest"),
    [
        (DATE, -2147472692, date(9999, 12, 31)),
        (DATE, -2147472691, date(1, 1, 1)),
        (DATE, -622191233, date(9999, 12, 31)),
        (DATE, -625821271, date(1, 1, 1)),
        (DATE, -(2**31), date(1, 1, 1)),
        (ISO_DATE, "+292278994-08-17Z", date(9999, 12, 31)),
        (ISO_DATE, "+292269055-12-02Z", date(1, 1, 1)),
        (ISO_DATE, "+999999999-01-01Z", date(9999, 12, 31)),
        (MILLIS, 9223372036825200, LAST),
        (MILLIS, -9223372036832400, FIRST),
        (MILLIS, 2**63 - 1, LAST),
        (MICROS, 9223372036825200000, LAST),
        (MICROS, -9223372036832400000, FIRST),
        (NANOS, 2**63 - 1, LAST),
        (NANOS, -(2**63), FIRST),
        (NANOS, 1_499, datetime(1970, 1, 1, 0, 0, 0, 1)),
        (NANOS, 1_500, datetime(1970, 1, 1, 0, 0, 0, 2)),
        (ISO, "2024-02-29T12:34:56.1234567Z", datetime(2024, 2, 29, 12, 34, 56, 123457)),
        (ISO, "+294247-01-10T04:00:25.2Z", LAST),
        (ZONED, "infinity", LAST.replace(tzinfo=UTC)),
        (ZONED, "-infinity", FIRST.replace(tzinfo=UTC)),
        (ZONED, "+999999999-01-01T00:00:00Z", LAST.replace(tzinfo=UTC)),
    ],
    ids=str,
)
def test_the_nearest_value_lies_in_the_years_1_to_9999(
    source: SourceType, value: Any, nearest: Any
) -> None:
    raw, target = raw_column([value, None], source, "json"), table_type(source)

    column = fallback(raw, source, target, Otherwise.NEAREST)

    assert column.type == target
    assert column.to_pylist() == [nearest, None]


@pytest.mark.parametrize("value", ["", "now", "2024-02-30T00:00:00Z"])
def test_what_is_no_timestamp_has_no_nearest_one(value: str) -> None:
    with pytest.raises(pa.ArrowInvalid):
        fallback(raw_column([value], ZONED, "json"), ZONED, table_type(ZONED), Otherwise.NEAREST)


def test_a_type_without_an_order_of_time_has_no_nearest_value() -> None:
    source = SourceType("int64")

    with pytest.raises(pa.ArrowInvalid):
        fallback(raw_column([2**40], source, "json"), source, pa.int32(), Otherwise.NEAREST)


@pytest.mark.parametrize("value", ["x", "1.5"])
def test_null_stands_for_anything(value: str) -> None:
    source = SourceType("string")
    target = table_type(source, "decimal(3,0) or null")

    column = fallback(raw_column([value, value], source, "json"), source, target, Otherwise.NULL)

    assert column.type == target
    assert column.to_pylist() == [None, None]


def test_nothing_stands_for_a_value_unless_it_is_asked_for() -> None:
    with pytest.raises(pa.ArrowInvalid):
        fallback(raw_column([0], DATE, "json"), DATE, pa.date32(), Otherwise.REJECT)
