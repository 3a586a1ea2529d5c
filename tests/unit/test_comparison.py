"""The comparison: it finds every kind of difference, and only those."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from cdc.errors import IncomparableColumnError
from cdc.observe.comparison import SAMPLES, Comparison, Kind, Sample, compare

NAN = float("nan")
BERLIN = ZoneInfo("Europe/Berlin")


def table(ids: list[Any], values: list[Any], kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "value": pa.array(values, kind)})


def compared(mirror: Any, source: Any, kind: pa.DataType, other: pa.DataType | None = None) -> int:
    """Count the differences between one value and another."""
    found = compare(
        table([1], [mirror], kind), table([1], [source], kind if other is None else other), ["id"]
    )
    return found.differences


def test_equal_tables_have_no_difference() -> None:
    rows = table([1, 2, 3], ["a", None, "ü"])

    assert compare(rows, rows, ["id"]) == Comparison(mirror_rows=3, source_rows=3)


def test_the_order_of_rows_and_columns_does_not_matter() -> None:
    mirror = pa.table({"value": ["c", "a", "b"], "id": [3, 1, 2]})

    assert compare(mirror, table([1, 2, 3], ["a", "b", "c"]), ["id"]).differences == 0


def test_chunks_do_not_matter() -> None:
    parts = [table([1, 2], ["a", "b"]), table([3], ["c"]), table([], [], pa.string())]

    assert compare(pa.concat_tables(parts), table([3, 2, 1], list("cba")), ["id"]).differences == 0


def test_empty_tables_are_equal() -> None:
    empty = table([], [], pa.list_(pa.string()))

    assert compare(empty, empty, ["id"]) == Comparison(mirror_rows=0, source_rows=0)


def test_every_kind_of_difference_is_counted_once() -> None:
    mirror = table([1, 2, 3, 3, 5], ["a", "B", "c", "c", "e"])
    source = table([1, 2, 3, 4], ["a", "b", "c", "d"])

    found = compare(mirror, source, ["id"])

    assert (found.missing, found.extra, found.duplicated, found.changed) == (1, 1, 1, 1)
    assert found.differences == 4
    assert (found.mirror_rows, found.source_rows) == (5, 4)
    assert set(found.samples) == {
        Sample(Kind.MISSING, (4,)),
        Sample(Kind.EXTRA, (5,)),
        Sample(Kind.DUPLICATED, (3,)),
        Sample(Kind.CHANGED, (2,), ("value",)),
    }


def test_a_row_that_the_mirror_has_twice_is_a_difference_though_both_are_right() -> None:
    found = compare(table([1, 1], ["a", "a"]), table([1], ["a"]), ["id"])

    assert (found.duplicated, found.differences) == (1, 1)


def test_a_key_that_the_source_holds_twice_cannot_be_matched() -> None:
    found = compare(table([1], ["a"]), table([1, 1], ["a", "b"]), ["id"])

    assert (found.duplicated, found.differences) == (1, 1)


def test_an_extra_row_counts_once_however_often_it_is_there() -> None:
    assert compare(table([1, 1, 1], ["a"] * 3), table([], [], pa.string()), ["id"]).extra == 1


def test_the_columns_that_differ_are_named_with_their_counts() -> None:
    source = pa.table({"id": [1, 2, 3], "a": [1, 2, 3], "b": ["x", "y", "z"], "c": [0, 0, 0]})
    mirror = pa.table({"id": [1, 2, 3], "a": [1, 0, 0], "b": ["x", "y", "-"], "c": [0, 0, 0]})

    found = compare(mirror, source, ["id"])

    assert found.changed == 2
    assert found.changed_columns == {"a": 2, "b": 1}
    assert found.samples == (
        Sample(Kind.CHANGED, (2,), ("a",)),
        Sample(Kind.CHANGED, (3,), ("a", "b")),
    )
    assert str(found) == "changed 2 (columns: a in 2, b in 1)"


def test_samples_are_few_and_hold_no_values() -> None:
    many = list(range(1000))
    found = compare(table(many, ["secret"] * 1000), table(many, ["hidden"] * 1000), ["id"])

    assert found.changed == 1000
    assert [sample.key for sample in found.samples] == [(place,) for place in range(SAMPLES)]
    assert not any(word in repr(found) + str(found) for word in ("secret", "hidden"))


def test_all_columns_of_a_composite_key_count() -> None:
    source = pa.table({"a": [1, 1, 2], "b": ["x", "y", "x"], "value": [1, 2, 3]})
    mirror = pa.table({"b": ["x", "x", "y"], "a": [2, 1, 2], "value": [3, 1, 2]})

    found = compare(mirror, source, ["a", "b"])

    assert (found.missing, found.extra, found.changed) == (1, 1, 0)
    assert {sample.key for sample in found.samples} == {(1, "y"), (2, "y")}


@pytest.mark.parametrize(
    "keys",
    [
        pa.array(["ä", "a", ""]),
        pa.array([b"\x00", b"\x01", b""]),
        pa.array([Decimal("1.10"), Decimal("1.11"), Decimal("-1.10")], pa.decimal128(12, 2)),
        pa.array([date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)]),
        pa.array([datetime(2024, 1, 1, tzinfo=UTC), None, datetime(1, 1, 1, tzinfo=UTC)]),
        pa.array([True, False, None]),
        pa.array([1.5, NAN, None]),
    ],
    ids=lambda keys: str(keys.type),
)
def test_keys_may_have_any_type_and_nulls_match(keys: pa.Array) -> None:
    rows = pa.table({"id": keys, "value": [1, 2, 3]})

    assert compare(rows.take([2, 0, 1]), rows, ["id"]).differences == 0
    assert compare(rows.slice(1), rows, ["id"]).missing == 1


@pytest.mark.parametrize(
    ("kind", "one", "another"),
    [
        (pa.int32(), 1, 2),
        (pa.bool_(), True, False),
        (pa.string(), "Zoë", "Zoe\u0308"),  # alike to the eye, but not the same text
        (pa.string(), "a", "a "),
        (pa.binary(), b"\x00", b""),
        (pa.float64(), 0.1, 0.1 + 2**-56),
        (pa.float64(), NAN, 0.0),
        (pa.float64(), float("inf"), float("-inf")),
        (pa.decimal128(38, 2), Decimal("9" * 34 + ".01"), Decimal("9" * 34 + ".02")),
        (pa.date32(), date(2024, 2, 28), date(2024, 2, 29)),
        (pa.time64("us"), time(1), time(1, 0, 0, 1)),
        (pa.timestamp("us"), datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1)),
        (pa.timestamp("us", "UTC"), datetime(9999, 1, 1), datetime(9999, 1, 1, 0, 0, 0, 1)),
        (pa.list_(pa.int32()), [1, 2], [2, 1]),
        (pa.list_(pa.int32()), [1], [1, 1]),
        (pa.list_(pa.int32()), [1], [None]),
        (pa.list_(pa.int32()), [], [None]),
        (pa.list_(pa.list_(pa.string())), [["a"], []], [["a"], [None]]),
        (pa.struct([("x", pa.int32()), ("y", pa.string())]), {"x": 1}, {"x": 1, "y": "a"}),
        (pa.list_(pa.struct([("x", pa.float64())])), [{"x": NAN}], [{"x": 1.0}]),
    ],
    ids=str,
)
def test_values_are_compared_exactly(kind: pa.DataType, one: Any, another: Any) -> None:
    assert compared(one, one, kind) == 0
    assert compared(one, another, kind) == 1
    assert compared(another, one, kind) == 1
    assert compared(None, None, kind) == 0
    assert compared(one, None, kind) == 1
    assert compared(None, one, kind) == 1


def test_an_empty_list_and_an_empty_struct_are_not_null() -> None:
    assert compared([], None, pa.list_(pa.int32())) == 1
    assert compared({"x": None}, None, pa.struct([("x", pa.int32())])) == 1


@pytest.mark.parametrize(
    ("mirror", "mirror_type", "source", "source_type"),
    [
        (7, pa.int32(), 7, pa.int64()),
        (0.5, pa.float32(), 0.5, pa.float64()),
        (Decimal("1.50"), pa.decimal128(12, 2), Decimal("1.5"), pa.decimal128(38, 20)),
        ("é", pa.string(), "é", pa.large_string()),
        ("é", pa.dictionary(pa.int32(), pa.string()), "é", pa.string()),
        (b"ab", pa.binary(), b"ab", pa.binary(2)),
        (datetime(2024, 1, 1), pa.timestamp("us"), datetime(2024, 1, 1), pa.timestamp("ms")),
        (
            datetime(2024, 7, 1, 12, tzinfo=UTC),
            pa.timestamp("us", "UTC"),
            datetime(2024, 7, 1, 14, tzinfo=BERLIN),
            pa.timestamp("ms", "Europe/Berlin"),
        ),
        ([1, None], pa.list_(pa.int32()), [1, None], pa.large_list(pa.int64())),
        ([1, 2], pa.list_(pa.field("element", pa.int32())), [1, 2], pa.list_(pa.int32(), 2)),
        (
            {"x": 1, "y": "a"},
            pa.struct([("x", pa.int32()), ("y", pa.string())]),
            {"x": 1, "y": "a"},
            pa.struct([("y", pa.large_string()), ("x", pa.int64())]),
        ),
        (None, pa.string(), None, pa.null()),
    ],
    ids=str,
)
def test_the_same_value_in_another_type_is_the_same(
    mirror: Any, mirror_type: pa.DataType, source: Any, source_type: pa.DataType
) -> None:
    assert compared(mirror, source, mirror_type, source_type) == 0


@pytest.mark.parametrize(
    ("mirror_type", "source_type"),
    [
        (pa.int32(), pa.string()),
        (pa.int64(), pa.float64()),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.list_(pa.int32()), pa.int32()),
        (pa.list_(pa.int32()), pa.list_(pa.string())),
        (pa.struct([("x", pa.int32())]), pa.struct([("z", pa.int32())])),
        (pa.bool_(), pa.int32()),
    ],
    ids=str,
)
def test_types_that_share_no_values_are_refused(
    mirror_type: pa.DataType, source_type: pa.DataType
) -> None:
    with pytest.raises(IncomparableColumnError) as raised:
        compared(None, None, mirror_type, source_type)

    assert raised.value.column.startswith("value")


def test_a_value_is_found_in_the_middle_of_sliced_nested_columns() -> None:
    kind = pa.struct([("list", pa.list_(pa.string()))])
    values = [None if n % 7 == 0 else {"list": [str(n)] * (n % 4)} for n in range(1000)]
    source = table(list(range(1000)), values, kind)
    values[501] = {"list": ["501", "501?"]} if 501 % 4 == 2 else {"list": ["other"]}
    mirror = table(list(range(1000)), values, kind)

    found = compare(mirror.slice(100), source.slice(100), ["id"])

    assert found.samples == (Sample(Kind.CHANGED, (501,), ("value",)),)


def test_a_column_that_the_mirror_lacks_counts_as_null() -> None:
    source = pa.table({"id": [1, 2, 3], "late": [None, "a", None]})

    found = compare(source.select(["id"]), source, ["id"])

    assert found.only_at_source == ("late",)
    assert found.samples == (Sample(Kind.CHANGED, (2,), ("late",)),)


def test_columns_of_the_mirror_alone_are_not_compared() -> None:
    source = pa.table({"id": [1]})
    mirror = pa.table({"id": [1], "dropped": ["old"], "_mirror_deleted": [False]})

    found = compare(mirror, source, ["id"])

    assert found.differences == 0
    assert found.only_in_mirror == ("dropped",)


def test_a_comparison_needs_a_key_that_both_have() -> None:
    with pytest.raises(ValueError, match="key"):
        compare(table([1], [1]), table([1], [1]), [])
    with pytest.raises(IncomparableColumnError) as raised:
        compare(table([1], [1]), pa.table({"id": [1], "part": [2]}), ["id", "part"])
    assert (raised.value.column, raised.value.mirror_type) == ("part", "absent")


def test_it_agrees_with_a_comparison_row_by_row() -> None:
    """Random tables, small key space, so that every kind of difference and of double occurs."""
    random = np.random.default_rng(7)
    for _ in range(50):
        sides = []
        for _ in range(2):
            count = int(random.integers(0, 30))
            sides.append(
                {
                    "id": random.integers(0, 20, count).tolist(),
                    "value": [[None, 1.0, NAN][n] for n in random.integers(0, 3, count)],
                }
            )
        mirror, source = sides

        mirrored = table(mirror["id"], mirror["value"], pa.float64())
        found = compare(mirrored, table(source["id"], source["value"], pa.float64()), ["id"])

        def rows(side: dict[str, list[Any]], key: int) -> list[str]:
            return [repr(v) for k, v in zip(side["id"], side["value"], strict=True) if k == key]

        expected = dict.fromkeys(Kind, 0)
        for key in {*mirror["id"], *source["id"]}:
            ours, theirs = rows(mirror, key), rows(source, key)
            if not ours:
                expected[Kind.MISSING] += 1
            elif not theirs:
                expected[Kind.EXTRA] += 1
            elif len(ours) > 1 or len(theirs) > 1:
                expected[Kind.DUPLICATED] += 1
            elif ours != theirs:
                expected[Kind.CHANGED] += 1
        assert {kind: getattr(found, kind) for kind in Kind} == expected
