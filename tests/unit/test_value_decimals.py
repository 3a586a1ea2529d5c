"""Decimals in all their forms, held to Python's own."""

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cdc.model import SourceType
from cdc.model.logical import DECIMAL, VARIABLE_SCALE_DECIMAL
from tests.unit.raw_columns import converted, every_wire, refusal, struct_of, typed

WIDEST = 10**38 - 1
VARIABLE = struct_of(VARIABLE_SCALE_DECIMAL, scale=SourceType("int32"), value=SourceType("bytes"))
TEXT = SourceType("string")


def numeric(precision: int, scale: int) -> SourceType:
    return typed("bytes", DECIMAL, precision=precision, scale=scale)


def octets(number: int, width: int = 0) -> bytes:
    needed = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(max(needed, width), "big", signed=True)


def numbers_of(random_: random.Random, digits: int, count: int = 200) -> list[int | None]:
    limit = 10**digits
    edges: list[int | None] = [0, 1, -1, limit - 1, 1 - limit, None]
    return edges + [
        None if random_.random() < 0.1 else random_.randrange(1 - limit, limit)
        for _ in range(count)
    ]


def scaled(number: int | None, scale: int) -> Decimal | None:
    if number is None:
        return None
    digits = tuple(int(digit) for digit in str(abs(number)))
    return Decimal((number < 0, digits, -scale))


def bytes_of(numbers: list[int | None]) -> list[bytes | None]:
    return [None if number is None else octets(number) for number in numbers]


@every_wire
@pytest.mark.parametrize("precision", [1, 5, 9, 18, 19, 20, 35, 36, 37, 38])
def test_a_decimal_of_up_to_38_digits_stays_a_decimal(wire: str, precision: int) -> None:
    scale = precision // 2
    numbers = numbers_of(random.Random(precision), precision)

    column = converted(bytes_of(numbers), numeric(precision, scale), wire)

    assert column.type == pa.decimal128(precision, scale)
    assert column.to_pylist() == [scaled(number, scale) for number in numbers]


@every_wire
@pytest.mark.parametrize(
    ("precision", "scale"), [(39, 0), (65, 30), (72, 72), (76, 1), (80, 40), (1000, 200), (5, -2)]
)
def test_a_decimal_that_iceberg_has_not_becomes_plain_text(
    wire: str, precision: int, scale: int
) -> None:
    numbers = numbers_of(random.Random(precision), precision)

    column = converted(bytes_of(numbers), numeric(precision, scale), wire)

    texts = column.to_pylist()
    wanted = [scaled(number, scale) for number in numbers]
    assert texts == [None if number is None else format(number, "f") for number in wanted]


@every_wire
@pytest.mark.parametrize("digits", [3, 17, 30, 37])
@pytest.mark.parametrize("scale", [0, 2, 12])
def test_decimals_may_become_texts_doubles_and_wider_decimals(
    wire: str, digits: int, scale: int
) -> None:
    source = numeric(38, scale)
    numbers = numbers_of(random.Random(digits), digits)
    exact = [scaled(number, scale) for number in numbers]
    values = bytes_of(numbers)

    texts = converted(values, source, wire, "string").to_pylist()
    doubles = converted(values, source, wire, "double").to_pylist()

    assert texts == [None if n is None else format(n, "f") for n in exact]
    assert doubles == [None if n is None else float(n) for n in exact]
    assert converted(values, source, wire, f"decimal(38,{scale})").to_pylist() == exact


@every_wire
def test_a_decimal_may_become_one_of_another_scale_if_nothing_is_lost(wire: str) -> None:
    source = numeric(38, 4)
    values = bytes_of([12300, -4500, 0, None])

    assert converted(values, source, wire, "decimal(4,2)").to_pylist() == [
        Decimal("1.23"),
        Decimal("-0.45"),
        Decimal(0),
        None,
    ]
    assert refusal(octets(12301), source, wire, "decimal(4,2)")
    assert refusal(octets(1_000_000), source, wire, "decimal(4,2)")


@every_wire
def test_a_whole_decimal_may_become_a_whole_number(wire: str) -> None:
    source = numeric(20, 2)
    values = bytes_of([100, -(2**63) * 100, (2**63 - 1) * 100, None])

    column = converted(values, source, wire, "long")

    assert column.to_pylist() == [1, -(2**63), 2**63 - 1, None]
    assert refusal(octets(150), source, wire, "long")
    assert refusal(octets(2**63 * 100), source, wire, "long")
    assert refusal(octets(2**31 * 100), source, wire, "int")


@every_wire
@pytest.mark.parametrize("number", [0, 1, -1, 127, 128, -128, -129, 2**63, -(2**63), WIDEST])
@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 40])
def test_a_number_may_be_written_wider_than_it_needs(wire: str, number: int, width: int) -> None:
    column = converted([octets(number, width)], numeric(38, 0), wire)

    assert column.to_pylist() == [Decimal(number)]


@every_wire
@pytest.mark.parametrize(
    ("unscaled", "precision"),
    [
        *((100_000, 5), (-100_000, 5), (10, 1), (10**18, 18), (10**37, 37), (10**38, 38)),
        *((-(10**38), 38), (2**127 - 1, 38), (-(2**127), 38), (2**127, 38), (10**40, 38)),
        *((2**128 + 1, 38), (2**200, 38), (2**255, 38), (2**400, 38)),
    ],
)
def test_a_number_of_too_many_digits_is_refused(wire: str, unscaled: int, precision: int) -> None:
    assert refusal(octets(unscaled), numeric(precision, 0), wire)


@every_wire
def test_a_decimal_without_bytes_is_refused(wire: str) -> None:
    assert refusal(b"", numeric(10, 2), wire)
    assert refusal(b"", numeric(65, 2), wire)


@every_wire
@pytest.mark.parametrize(
    ("number", "text"),
    [(12300, "12300"), (-99900, "-99900"), (0, "0"), (9_999_900, "9999900")],
)
def test_a_negative_scale_that_debezium_read_without_its_sign_gives_the_number(
    wire: str, number: int, text: str
) -> None:
    """PostgreSQL's numeric(5,-2) comes with scale 2046, and with as many zeros."""
    source = numeric(5, 2046)
    value = octets(number * 10**2046)

    assert converted([value, None], source, wire).to_pylist() == [text, None]
    assert converted([value], source, wire, "decimal(7,0)").to_pylist() == [Decimal(number)]
    assert converted([value], source, wire, "double").to_pylist() == [float(number)]
    assert converted([value], source, wire, "long").to_pylist() == [number]


@every_wire
@pytest.mark.parametrize("seed", range(3))
def test_a_decimal_with_a_scale_of_its_own_becomes_plain_text(wire: str, seed: int) -> None:
    random_ = random.Random(seed)
    values: list[dict[str, Any] | None] = []
    wanted: list[Decimal | None] = []
    for _ in range(150):
        if random_.random() < 0.1:
            values.append(None)
            wanted.append(None)
            continue
        digits = random_.choice([1, 3, 18, 19, 30, 50, 75, 76, 77, 200])
        number = random_.randrange(-(10**digits), 10**digits)
        scale = random_.choice([0, 1, 2, 9, 38, 76, 77, 300, -1, -3, -38, -39])
        values.append({"scale": scale, "value": octets(number)})
        wanted.append(scaled(number, scale))

    texts = converted(values, VARIABLE, wire).to_pylist()

    assert texts == [None if number is None else format(number, "f") for number in wanted]


@every_wire
def test_a_decimal_with_a_scale_of_its_own_may_become_a_number(wire: str) -> None:
    values = [{"scale": 1, "value": octets(15)}, None, {"scale": 0, "value": octets(-7)}]

    assert converted(values, VARIABLE, wire, "decimal(5,2)").to_pylist() == [
        Decimal("1.50"),
        None,
        Decimal("-7.00"),
    ]
    assert converted(values, VARIABLE, wire, "double").to_pylist() == [1.5, None, -7.0]
    assert converted(values[2:], VARIABLE, wire, "int").to_pylist() == [-7]
    assert refusal({"scale": 3, "value": octets(1)}, VARIABLE, wire, "decimal(5,2)")
    assert refusal({"scale": 1, "value": octets(15)}, VARIABLE, wire, "int")


@every_wire
@pytest.mark.parametrize(
    "value",
    [
        {"scale": 1, "value": None},
        {"scale": None, "value": b"\1"},
        {"scale": 1, "value": b""},
        {"scale": 2**31 - 1, "value": b"\1"},
        {"scale": -(2**31), "value": b"\1"},
    ],
)
def test_a_decimal_that_lacks_a_part_or_has_an_absurd_one_is_refused(
    wire: str, value: dict[str, Any]
) -> None:
    assert refusal(value, VARIABLE, wire)


@pytest.mark.parametrize(
    ("text", "choice", "number"),
    [
        ("123.45", "decimal(5,2)", Decimal("123.45")),
        ("-0.10", "decimal(5,2)", Decimal("-0.10")),
        ("1." + "0" * 50, "decimal(5,2)", Decimal("1.00")),
        ("0" * 60 + "7", "decimal(5,2)", Decimal("7.00")),
        ("1E+2", "decimal(5,2)", Decimal("100.00")),
        ("9" * 38, "decimal(38,0)", Decimal("9" * 38)),
        ("0.1", "double", 0.1),
        ("123456789012345678901234567890", "double", 1.2345678901234568e29),
        ("POSITIVE_INFINITY", "double", float("inf")),
        ("NEGATIVE_INFINITY", "double", float("-inf")),
        ("9223372036854775807", "long", 2**63 - 1),
        ("-2147483648", "int", -(2**31)),
        ("7.000", "long", 7),
    ],
)
def test_a_number_written_as_text_may_become_a_number(
    text: str, choice: str, number: object
) -> None:
    column = converted([text, None, text], TEXT, "json", choice)

    assert column.to_pylist() == [number, None, number]


def test_not_a_number_written_as_text_may_become_a_double() -> None:
    [number] = converted(["NAN"], TEXT, "json", "double").to_pylist()

    assert number != number


@pytest.mark.parametrize("choice", ["decimal(10,2)", "long", "int", "double"])
@pytest.mark.parametrize("text", ["", " 1", "1 ", "x", "1_0", "0x1F", "٣", "1e999999999", "--1"])
def test_a_text_that_is_no_number_never_becomes_one(text: str, choice: str) -> None:
    assert refusal(text, TEXT, choice=choice)


@pytest.mark.parametrize("text", ["NAN", "POSITIVE_INFINITY", "NEGATIVE_INFINITY"])
@pytest.mark.parametrize("choice", ["decimal(10,2)", "long"])
def test_a_special_number_names_the_choice_that_keeps_it(text: str, choice: str) -> None:
    reason = refusal(text, TEXT, choice=choice)

    assert text in reason
    assert "types" in reason


@pytest.mark.parametrize(
    ("text", "choice"),
    [("1.234", "decimal(5,2)"), ("1000", "decimal(5,2)"), ("1.5", "long"), (str(2**63), "long")],
)
def test_a_number_written_as_text_that_does_not_fit_is_refused(text: str, choice: str) -> None:
    assert refusal(text, TEXT, choice=choice)


@every_wire
def test_a_number_beyond_the_doubles_is_refused(wire: str) -> None:
    assert refusal("1e400", TEXT, choice="double")
    assert refusal(octets(10**400), numeric(500, 0), wire, "double")
