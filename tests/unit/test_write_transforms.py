"""Partition transforms on whole columns, against pyiceberg's own on single values."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
)

from cdc.model import PartitionField
from cdc.schema.arrow_schema import arrow_type
from cdc.schema.partitioning import TAKEN
from cdc.write.transforms import transformed
from tests.unit.partition_columns import EDGES, WHOLE, scalar, typed_columns

CASES = [
    pytest.param(kind, PartitionField(transform, "x", argument), id=f"{kind}-{transform}{argument}")
    for kind in EDGES
    for transform in TAKEN[type(kind)]
    for argument in {"bucket": (1, 16, 2**31 - 1), "truncate": (1, 3, 1000)}.get(transform, (None,))
]


def apply(field: PartitionField, kind: PrimitiveType, values: list[Any]) -> list[Any]:
    return list(transformed(field, pa.array(values, arrow_type(kind, "t"))).to_pylist())


@pytest.mark.parametrize(("kind", "field"), CASES)
def test_a_transform_gives_what_pyiceberg_gives(kind: PrimitiveType, field: PartitionField) -> None:
    values = [None, *EDGES[kind], None]

    assert apply(field, kind, values) == [scalar(field, kind, value) for value in values]


@settings(deadline=None)  # a busy machine is no failure
@given(typed_columns(), st.data())
def test_a_transform_gives_what_pyiceberg_gives_for_any_value(
    column: tuple[PrimitiveType, list[Any]], data: st.DataObject
) -> None:
    kind, values = column
    transform = data.draw(st.sampled_from(TAKEN[type(kind)]))
    numbered = transform in ("bucket", "truncate")
    field = PartitionField(transform, "x", data.draw(st.integers(1, 50)) if numbered else None)

    assert apply(field, kind, values) == [scalar(field, kind, value) for value in values]


@pytest.mark.parametrize(
    ("kind", "value", "bucket"),
    [  # the hashes that Iceberg's specification gives as examples
        (IntegerType(), 34, 2017239379),
        (LongType(), 34, 2017239379),
        (DateType(), 17486, -653330422),  # 2017-11-16
        (TimestampType(), 1510871468000000, -2047944441),  # 2017-11-16T22:31:08
        (DecimalType(9, 2), Decimal("14.20"), -500754589),
        (StringType(), "iceberg", 1210000089),
        (BinaryType(), b"\x00\x01\x02\x03", -188683207),
    ],
)
def test_a_bucket_is_that_of_the_specification(
    kind: PrimitiveType, value: object, bucket: int
) -> None:
    field = PartitionField("bucket", "x", 2**31 - 1)

    assert apply(field, kind, [value]) == [(bucket & (2**31 - 1)) % (2**31 - 1)]


def test_text_is_cut_by_code_points() -> None:
    column = pa.array(["😀日é\u0301x", "ab", ""])

    cut = transformed(PartitionField("truncate", "x", 3), column)

    assert cut.to_pylist() == ["😀日é", "ab", ""]


def test_negative_numbers_are_cut_downwards() -> None:
    cut = transformed(PartitionField("truncate", "x", 10), pa.array([-1, -10, -11, 9, 10]))

    assert cut.to_pylist() == [-10, -10, -20, 0, 10]


@pytest.mark.parametrize(
    ("transform", "counts"),
    [
        ("year", [292277, -292278]),
        ("month", [292277 * 12, -292278 * 12 + 11]),
        ("day", [106751991, -106751992]),
    ],
)
def test_the_first_and_the_last_microsecond_have_their_places(
    transform: str, counts: list[int]
) -> None:
    column = pa.array([2**63 - 1, -(2**63)], pa.timestamp("us"))

    assert transformed(PartitionField(transform, "x"), column).to_pylist() == counts


def test_a_sliced_column_keeps_its_own_values() -> None:
    column = pa.array([0, None, -1, 86_400_000_000], pa.timestamp("us")).slice(1)

    for transform, counts in (("day", [None, -1, 1]), ("identity", [None, -1, 86_400_000_000])):
        assert transformed(PartitionField(transform, "x"), column).to_pylist() == counts


def test_every_type_with_a_transform_has_edges() -> None:
    assert {type(kind) for kind in EDGES} == set(TAKEN)
    assert {type(kind) for kind in WHOLE} == set(TAKEN)
