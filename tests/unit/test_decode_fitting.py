"""Columns in which some values do not fit."""

import time
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from cdc.config.type_choices import Otherwise
from cdc.decode.fitting import fitted
from cdc.decode.values import convert, surely_unfit
from cdc.model import SourceType, logical
from tests.unit.raw_columns import raw_column, table_type

DATE = SourceType("int32", logical.DATE)
MILLIS = SourceType("int64", logical.TIMESTAMP)
MICROS = SourceType("int64", logical.MICRO_TIMESTAMP)
NANOS = SourceType("int64", logical.NANO_TIMESTAMP)
ZONED = SourceType("string", logical.ZONED_TIMESTAMP)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999999)
ZONED_TEXTS = ["2024-01-01T00:00:00Z", "infinity", None, "no moment", "-infinity"]


def test_a_value_that_does_not_fit_is_given_with_its_reason() -> None:
    raw = raw_column(ZONED_TEXTS, ZONED, "json")

    column, bad = fitted(raw, ZONED, table_type(ZONED), "at")

    assert [message.row for message in bad] == [1, 3, 4]
    assert all("its at does not fit" in message.reason for message in bad)
    assert column.to_pylist() == [datetime(2024, 1, 1, tzinfo=UTC), None, None, None, None]


def test_what_has_no_nearest_value_is_still_given() -> None:
    raw = raw_column(ZONED_TEXTS, ZONED, "json")

    column, bad = fitted(raw, ZONED, table_type(ZONED), "at", Otherwise.NEAREST)

    assert [message.row for message in bad] == [3]
    assert column.to_pylist() == [
        datetime(2024, 1, 1, tzinfo=UTC),
        LAST.replace(tzinfo=UTC),
        None,
        None,
        datetime(1, 1, 1, tzinfo=UTC),
    ]


def test_a_double_goes_into_a_float_only_if_it_is_one() -> None:
    values = [0.5, 0.1, None, float("nan"), 1e300, float("-inf"), 1e-50]
    raw = raw_column(values, SourceType("double"), "json")

    column, bad = fitted(raw, SourceType("double"), pa.float32(), "ratio")

    assert [message.row for message in bad] == [1, 4, 6]
    assert str(column.to_pylist()) == "[0.5, None, None, nan, None, -inf, None]"


def test_null_stands_for_whatever_does_not_fit() -> None:
    raw = raw_column(ZONED_TEXTS, ZONED, "json")

    column, bad = fitted(raw, ZONED, table_type(ZONED), "at", Otherwise.NULL)

    assert bad == []
    assert column.null_count == 4


@pytest.mark.parametrize(
    ("source", "value"),
    [
        *((DATE, days) for days in (-2147472692, -2147472691, -622191234, -625821271)),
        *((MILLIS, millis) for millis in (9223372036825200, -9223372036832400)),
        *((MICROS, micros) for micros in (9223372036825200000, -9223372036832400000)),
        *((NANOS, nanos) for nanos in (2**63 - 1, -(2**63), 1, -999)),
        *((ZONED, text) for text in ("infinity", "-infinity", "2024-01-01T00:00:00.1234567Z")),
    ],
    ids=str,
)
def test_what_is_marked_as_unfit_is_so(source: SourceType, value: Any) -> None:
    raw, target = raw_column([None, value], source, "json"), table_type(source)

    assert surely_unfit(raw, source, target).to_pylist() == [False, True]
    with pytest.raises(pa.ArrowInvalid):
        convert(raw, source, target)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (DATE, 19_000),
        (MILLIS, 1_700_000_000_000),
        (MICROS, 2**63 // 1_000),
        (NANOS, 1_000),
        (ZONED, "2024-01-01T00:00:00.123456000Z"),
        (ZONED, "2024-01-01T00:00:00.123456+01:00"),
        (SourceType("int64"), 5),
    ],
    ids=str,
)
def test_what_fits_is_not_marked(source: SourceType, value: Any) -> None:
    raw, target = raw_column([value, None], source, "json"), table_type(source)

    assert surely_unfit(raw, source, target).to_pylist() == [False, False]
    assert convert(raw, source, target).null_count == 1


def test_a_column_full_of_infinities_is_replaced_in_one_go() -> None:
    count = 50_000
    raw = pa.array([9223372036825200000, 1] * (count // 2), pa.int64())
    started = time.process_time()

    column, bad = fitted(raw, MICROS, pa.timestamp("us"), "valid_to", Otherwise.NEAREST)

    assert time.process_time() - started < 2  # one by one it takes many times that
    assert bad == []
    assert column[0].as_py() == LAST
    assert column.null_count == 0
