"""Base64 columns to bytes and decimals."""

import base64
import random
from decimal import Decimal

import pyarrow as pa
import pytest

from cdc.decode.base64_columns import LONGEST_GATHERED, decode_base64, decode_base64_decimals
from tests.unit.messages import base64_of, decimal

WIDEST = 10**38 - 1
WRONG = [
    *("A", "AA", "AAA", "AAAAA", "====", "A===", "=AAA", "A=AA", "AA=A", "AAA=AAAA", "AA==AAAA"),
    *("AA A", "AAA\n", "A-A_", "AAA.", "ÄAA", "AAAé", "\x00AAA", "AAA\x7f", "AAAAAAA="[:7] + "\t"),
]


def texts_of(values: list[bytes | None]) -> pa.Array:
    return pa.array([None if v is None else base64_of(v) for v in values], pa.string())


def random_values(seed: int, count: int, longest: int) -> list[bytes | None]:
    random_ = random.Random(seed)
    return [
        None if random_.random() < 0.1 else random_.randbytes(random_.randrange(longest))
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_bytes_of_any_length_come_back_and_nulls_stay(seed: int) -> None:
    values = random_values(seed, 300, 60)

    decoded = decode_base64(texts_of(values))

    decoded.validate(full=True)
    assert decoded.to_pylist() == values


def test_every_byte_comes_back_at_every_place() -> None:
    values: list[bytes | None] = [
        bytes([first, 255 - first, first ^ 0x5A])[:width]
        for first in range(256)
        for width in (1, 2, 3)
    ]

    assert decode_base64(texts_of(values)).to_pylist() == values


@pytest.mark.parametrize(
    "length",
    [
        LONGEST_GATHERED // 4 * 3 - 1,
        LONGEST_GATHERED // 4 * 3,
        LONGEST_GATHERED // 4 * 3 + 1,
        100_000,
    ],
)
def test_long_values_come_back_beside_short_ones(length: int) -> None:
    random_ = random.Random(length)
    values: list[bytes | None] = [b"x", random_.randbytes(length), None, random_.randbytes(length)]

    decoded = decode_base64(texts_of(values))

    assert decoded.to_pylist() == values


@pytest.mark.parametrize(
    "values",
    [[], [None], [b""], [b"", b""], [None, b"", None], [b"", b"abc", b""], [None] * 9 + [b"a"]],
    ids=str,
)
def test_empty_and_missing_values_stay_apart(values: list[bytes | None]) -> None:
    decoded = decode_base64(texts_of(values))

    decoded.validate(full=True)
    assert decoded.to_pylist() == values


@pytest.mark.parametrize(("start", "length"), [(0, 10), (1, 10), (7, 8), (8, 9), (95, 5), (100, 0)])
def test_a_slice_gives_its_own_rows(start: int, length: int) -> None:
    values = random_values(3, 100, 20)
    texts = texts_of(values).slice(start, length)

    decoded = decode_base64(texts)

    decoded.validate(full=True)
    assert decoded.to_pylist() == values[start : start + length]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_not_base64_is_refused(text: str) -> None:
    with pytest.raises(pa.ArrowInvalid):
        decode_base64(pa.array(["AAAA", None, text, "AA=="]))


@pytest.mark.parametrize("end", ["A===", "AA=A", "AAA\n", "A-_A", "AAé=", "\n\n\n\n", "----"])
def test_a_long_text_that_is_not_base64_is_refused(end: str) -> None:
    text = "A" * LONGEST_GATHERED + end

    with pytest.raises(pa.ArrowInvalid):
        decode_base64(pa.array([text]))


@pytest.mark.parametrize("seed", range(3))
def test_decimals_of_any_size_come_back(seed: int) -> None:
    random_ = random.Random(seed)
    numbers = [
        None if random_.random() < 0.1 else random_.randrange(-(10**digits), 10**digits)
        for digits in range(1, 39)
        for _ in range(8)
    ]
    texts = pa.array([None if n is None else decimal(n) for n in numbers])

    decoded = decode_base64_decimals(texts, pa.decimal128(38, 0))

    decoded.validate(full=True)
    assert [None if d is None else int(d) for d in decoded.to_pylist()] == numbers


@pytest.mark.parametrize(
    "number", [0, 1, -1, 127, 128, -128, -129, 2**63, -(2**63), WIDEST, -WIDEST]
)
@pytest.mark.parametrize("width", range(1, 18))
def test_a_number_may_be_written_wider_than_it_needs(number: int, width: int) -> None:
    needed = len(base64.b64decode(decimal(number)))
    text = base64_of(number.to_bytes(max(width, needed), "big", signed=True))

    decoded = decode_base64_decimals(pa.array([text]), pa.decimal128(38, 0))

    assert decoded.to_pylist() == [Decimal(number)]


@pytest.mark.parametrize(
    ("unscaled", "precision", "scale", "value"),
    [
        (150, 10, 2, "1.50"),
        (-1, 38, 10, "-0.0000000001"),
        (WIDEST, 38, 38, "0." + "9" * 38),
        (-WIDEST, 38, 0, "-" + "9" * 38),
        (99999, 5, 0, "99999"),
        (-99999, 5, 5, "-0.99999"),
    ],
)
def test_the_scale_moves_the_point(unscaled: int, precision: int, scale: int, value: str) -> None:
    target = pa.decimal128(precision, scale)

    decoded = decode_base64_decimals(pa.array([decimal(unscaled)]), target)

    assert decoded.type == target
    assert decoded.to_pylist() == [Decimal(value)]


@pytest.mark.parametrize(
    ("unscaled", "precision"),
    [
        (100_000, 5),
        (-100_000, 5),
        (10, 1),
        (10**37, 37),
        (2**127, 38),
        (-(2**127) - 1, 38),
        (10**40, 38),
        (-(10**40), 38),
        (2**128 + 1, 38),
        (2**200, 38),
    ],
)
def test_a_number_too_big_for_its_type_is_refused(unscaled: int, precision: int) -> None:
    texts = pa.array([decimal(1), None, decimal(unscaled)])

    with pytest.raises(pa.ArrowInvalid):
        decode_base64_decimals(texts, pa.decimal128(precision, 0))


@pytest.mark.parametrize("text", [*WRONG, ""])
def test_a_decimal_that_is_not_base64_is_refused(text: str) -> None:
    with pytest.raises(pa.ArrowInvalid):
        decode_base64_decimals(pa.array(["AQ==", text]), pa.decimal128(10, 0))


def test_a_slice_of_decimals_gives_its_own_rows() -> None:
    numbers = [n if n % 3 else None for n in range(-20, 20)]
    texts = pa.array([None if n is None else decimal(n) for n in numbers]).slice(5, 11)

    decoded = decode_base64_decimals(texts, pa.decimal128(10, 1))

    assert decoded.to_pylist() == [None if n is None else Decimal(n) / 10 for n in numbers[5:16]]


@pytest.mark.parametrize("numbers", [[], [None], [None, None]])
def test_a_column_without_decimals_is_all_null(numbers: list[None]) -> None:
    decoded = decode_base64_decimals(pa.array(numbers, pa.string()), pa.decimal128(10, 2))

    assert decoded.to_pylist() == numbers
