"""Columns of bytes, binary or base64 text."""

import random
from base64 import b64encode

import numpy as np
import pyarrow as pa
import pytest

from cdc.decode.byte_columns import byte_rows, to_binary

WRONG = [
    *("A", "AA", "AAA", "AAAAA", "====", "A===", "=AAA", "A=AA", "AA=A", "AAA=AAAA", "AA==AAAA"),
    *("AA A", "AAA\n", "A-A_", "AAA.", "ÄAA", "AAAé", "\x00AAA", "AAA\x7f", "AAAAAAA="[:7] + "\t"),
]


def as_text(values: list[bytes | None]) -> pa.Array:
    return pa.array([None if v is None else b64encode(v).decode() for v in values], pa.string())


def as_binary(values: list[bytes | None]) -> pa.Array:
    return pa.array(values, pa.binary())


either_form = pytest.mark.parametrize("form", [as_text, as_binary])


def random_values(seed: int, count: int, longest: int) -> list[bytes | None]:
    random_ = random.Random(seed)
    return [
        None if random_.random() < 0.1 else random_.randbytes(random_.randrange(longest))
        for _ in range(count)
    ]


@either_form
@pytest.mark.parametrize("seed", range(4))
def test_bytes_of_any_length_come_back_and_nulls_stay(seed: int, form: type) -> None:
    values = random_values(seed, 300, 60)

    decoded = to_binary(form(values))

    decoded.validate(full=True)
    assert decoded.to_pylist() == values


def test_every_byte_comes_back_at_every_place() -> None:
    values: list[bytes | None] = [
        bytes([first, 255 - first, first ^ 0x5A])[:width]
        for first in range(256)
        for width in (1, 2, 3)
    ]

    assert to_binary(as_text(values)).to_pylist() == values


@pytest.mark.parametrize("length", [3071, 3072, 3073, 100_000])
def test_long_values_come_back_beside_short_ones(length: int) -> None:
    random_ = random.Random(length)
    values: list[bytes | None] = [b"x", random_.randbytes(length), None, random_.randbytes(length)]

    assert to_binary(as_text(values)).to_pylist() == values


@either_form
@pytest.mark.parametrize(
    "values",
    [[], [None], [b""], [b"", b""], [None, b"", None], [b"", b"abc", b""], [None] * 9 + [b"a"]],
    ids=str,
)
def test_empty_and_missing_values_stay_apart(values: list[bytes | None], form: type) -> None:
    decoded = to_binary(form(values))

    decoded.validate(full=True)
    assert decoded.to_pylist() == values


@either_form
@pytest.mark.parametrize(("start", "length"), [(0, 10), (1, 10), (7, 8), (8, 9), (95, 5), (100, 0)])
def test_a_slice_gives_its_own_rows(start: int, length: int, form: type) -> None:
    values = random_values(3, 100, 20)

    decoded = to_binary(form(values).slice(start, length))

    decoded.validate(full=True)
    assert decoded.to_pylist() == values[start : start + length]


@either_form
def test_a_null_that_lies_over_bytes_has_none(form: type) -> None:
    whole = form([b"abc", b"defg", b"hi"])
    validity = pa.py_buffer(bytes([0b101]))
    column = pa.Array.from_buffers(whole.type, 3, [validity, *whole.buffers()[1:]])

    assert to_binary(column).to_pylist() == [b"abc", None, b"hi"]
    assert byte_rows(column).sizes.tolist() == [3, 0, 2]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_not_base64_is_refused(text: str) -> None:
    with pytest.raises(pa.ArrowInvalid):
        to_binary(pa.array(["AAAA", None, text, "AA=="]))


@pytest.mark.parametrize("end", ["A===", "AA=A", "AAA\n", "A-_A", "AAé=", "\n\n\n\n", "----"])
def test_a_long_text_that_is_not_base64_is_refused(end: str) -> None:
    with pytest.raises(pa.ArrowInvalid):
        to_binary(pa.array(["A" * 4096 + end]))


@either_form
@pytest.mark.parametrize("seed", range(4))
def test_words_are_the_numbers_that_bytes_write(seed: int, form: type) -> None:
    values = random_values(seed, 400, 33)

    words = byte_rows(form(values)).words(4).astype(np.uint64)

    numbers = [sum(int(word) << 64 * place for place, word in enumerate(line)) for line in words]
    wanted = [int.from_bytes(value or b"", "big", signed=True) % 2**256 for value in values]
    assert numbers == wanted


@either_form
def test_lines_lay_values_side_by_side(form: type) -> None:
    values: list[bytes | None] = [b"\x01\x02\x03", None, b"", b"\xff", b"\x09" * 4]

    lines = byte_rows(form(values)).lines(5)

    assert [line.tobytes() for line in lines] == [
        (value or b"").ljust(5, b"\0") for value in values
    ]
