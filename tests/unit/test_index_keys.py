"""Codes of keys: equal where the keys are, and only there."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdc.errors import UnindexableKeyError
from cdc.index.key_codes import CHUNK, KeyCoder
from tests.unit.index_tables import KEYS, column, every_key, same, table_of

SECRET = b"0123456789abcdef"


def codes(fields: list[pa.Field], *keys: tuple[Any, ...], secret: bytes = SECRET) -> list[Any]:
    """Give the codes of keys as plain values."""
    found = KeyCoder(pa.schema(fields), secret).codes(table_of(keys, fields))
    if found.check is None:
        return list(found.primary.tolist())
    return list(zip(found.primary.tolist(), found.check.tolist(), strict=True))


@pytest.mark.parametrize("kind", KEYS)
def test_different_keys_have_different_codes(kind: str) -> None:
    fields, values = KEYS[kind]
    keys = every_key(values)

    assert len(set(codes(fields, *keys))) == len({same(key) for key in keys}) == len(keys)


def test_one_whole_number_is_its_own_code() -> None:
    keys = [(2**63 - 1,), (-(2**63),), (0,)]

    assert codes([column(1, pa.int64())], *keys) == [2**63 - 1, -(2**63), 0]


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize(
    ("narrow", "wide", "values"),
    [
        (pa.int32(), pa.int64(), [0, 1, -1, 2**31 - 1, -(2**31)]),
        (pa.float32(), pa.float64(), [0.0, -0.0, 1.5, math.nan, math.inf]),
        (pa.decimal128(4, 2), pa.decimal128(38, 2), [Decimal("1.20"), Decimal("-99.99")]),
    ],
    ids=str,
)
def test_a_wider_type_leaves_codes_and_signature(
    narrow: pa.DataType, wide: pa.DataType, values: list[Any], nullable: bool
) -> None:
    before, after = [column(1, narrow, nullable)], [column(1, wide, nullable)]
    keys = [(value,) for value in values]

    assert codes(before, *keys) == codes(after, *keys)
    assert (
        KeyCoder(pa.schema(before), SECRET).signature
        == KeyCoder(pa.schema(after), SECRET).signature
    )


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_zeros_are_one_key_and_so_are_all_nans(kind: pa.DataType) -> None:
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001], np.uint64)
    nans = [(value,) for value in bits.view(np.float64).tolist()]

    zero, negative, *others = codes([column(1, kind)], (0.0,), (-0.0,), *nans)

    assert zero == negative
    assert len(set(others)) == 1 and others[0] != zero


def test_keys_given_in_a_narrower_type_than_the_tables_are_found() -> None:
    schema = pa.schema([column(1, pa.int64()), column(2, pa.string())])
    coder = KeyCoder(schema, SECRET)
    narrow = pa.table({"k1": pa.array([7], pa.int8()), "k2": pa.array(["a"]).dictionary_encode()})

    assert coder.codes(narrow).primary == coder.codes(table_of([(7, "a")], schema)).primary


def test_another_secret_gives_other_codes_and_another_signature() -> None:
    fields = [column(1, pa.string())]
    other = SECRET[::-1]

    assert codes(fields, ("a",)) != codes(fields, ("a",), secret=other)
    assert (
        KeyCoder(pa.schema(fields), SECRET).signature
        != KeyCoder(pa.schema(fields), other).signature
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([column(1, pa.int64())], [column(2, pa.int64())]),
        ([column(1, pa.int64())], [column(1, pa.date32())]),
        ([column(1, pa.int64())], [column(1, pa.int64(), True)]),
        ([column(1, pa.decimal128(9, 2))], [column(1, pa.decimal128(9, 3))]),
        ([column(1, pa.timestamp("us"))], [column(1, pa.timestamp("ns"))]),
        ([column(1, pa.string())], [column(1, pa.string()), column(2, pa.string())]),
    ],
)
def test_what_changes_codes_changes_the_signature(
    one: list[pa.Field], other: list[pa.Field]
) -> None:
    first = KeyCoder(pa.schema(one), SECRET).signature

    assert first != KeyCoder(pa.schema(other), SECRET).signature


def test_null_where_the_table_has_none_is_no_key() -> None:
    schema = pa.schema([column(1, pa.int64())])

    found = KeyCoder(schema, SECRET).codes(pa.table({"k1": pa.array([0, None], pa.int64())}))

    assert found.valid is not None and found.valid.tolist() == [True, False]


def test_codes_do_not_depend_on_how_a_column_is_cut() -> None:
    schema = pa.schema([column(1, pa.string(), True), column(2, pa.decimal128(9, 2), True)])
    texts = pa.array([None if i % 7 == 0 else "x" * (i % 40) for i in range(CHUNK + 100)])
    money = pa.array([None if i % 5 == 0 else Decimal(i) / 100 for i in range(CHUNK + 100)])
    table = pa.table([texts, money], ["k1", "k2"])
    cut = pa.concat_tables([table.slice(0, 3), table.slice(3, 0), table.slice(3)])
    coder = KeyCoder(schema, SECRET)

    whole, part = coder.codes(cut), coder.codes(table.slice(CHUNK - 5, 17))

    assert whole.primary[CHUNK - 5 : CHUNK + 12].tolist() == part.primary.tolist()
    assert whole.check is not None and part.check is not None
    assert whole.check[CHUNK - 5 : CHUNK + 12].tolist() == part.check.tolist()


def test_bytes_under_a_null_do_not_count() -> None:
    schema = pa.schema([column(1, pa.string(), True)])
    hidden = pa.Array.from_buffers(
        pa.string(),
        2,
        [
            pa.py_buffer(b"\x02"),
            pa.array([0, 3, 4], pa.int32()).buffers()[1],
            pa.py_buffer(b"abcd"),
        ],
    )
    coder = KeyCoder(schema, SECRET)

    dirty = coder.codes(pa.table({"k1": hidden}))
    clean = coder.codes(pa.table({"k1": pa.array([None, "d"])}))

    assert dirty.primary.tolist() == clean.primary.tolist()


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(38, 2), pa.date32()])
def test_a_number_under_a_null_does_not_count(kind: pa.DataType) -> None:
    filled = (
        pa.array([1, 2], pa.int64()).cast(pa.decimal128(19, 0)) if kind.bit_width > 64 else None
    )
    data = (filled or pa.array([1, 2], {32: pa.int32(), 64: pa.int64()}[kind.bit_width])).buffers()
    hidden = pa.Array.from_buffers(kind, 2, [pa.py_buffer(b"\x02"), data[1]])
    coder = KeyCoder(pa.schema([column(1, kind, True)]), SECRET)

    dirty = coder.codes(pa.table({"k1": hidden}))
    clean = coder.codes(pa.table({"k1": pa.array([None, hidden[1].as_py()], kind)}))

    assert dirty.primary.tolist() == clean.primary.tolist()


def test_no_key_at_all_has_no_code() -> None:
    for fields, _ in KEYS.values():
        assert codes(fields) == []


def test_a_type_without_codes_is_refused() -> None:
    with pytest.raises(UnindexableKeyError) as caught:
        KeyCoder(pa.schema([column(1, pa.list_(pa.int64()))]), SECRET)

    assert (caught.value.column, caught.value.column_type) == ("k1", "list<item: int64>")


TEXT = st.none() | st.binary(max_size=9)


@settings(deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT, st.none() | st.integers(-2, 2)), min_size=2, max_size=30))
def test_codes_are_equal_just_where_keys_are(keys: list[tuple[Any, ...]]) -> None:
    fields = [column(1, pa.binary(), True), column(2, pa.binary(), True)]

    found = codes([*fields, column(3, pa.int32(), True)], *keys)

    for key, code in zip(keys, found, strict=True):
        assert [key == other for other in keys] == [code == other for other in found]


def test_all_bits_of_a_code_are_evenly_spread() -> None:
    fields = [column(1, pa.string())]
    coder = KeyCoder(pa.schema(fields), SECRET)

    found = coder.codes(pa.table({"k1": [f"{i}" for i in range(20_000)]}))

    assert found.check is not None
    for half in (found.primary, found.check):
        bits = np.unpackbits(half.view(np.uint8).reshape(-1, 8), axis=1)
        assert abs(bits.mean(axis=0) - 0.5).max() < 0.02
