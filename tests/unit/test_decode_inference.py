"""What a column may be when only its values tell."""

import itertools
import json
from typing import Any

import pytest

from cdc.decode.inference import Kind, fits, is_text, join, kind_of, type_of
from cdc.decode.json_payloads import Number
from cdc.model import SourceType


def parsed(text: str) -> Any:
    return json.loads(text, parse_float=Number)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("null", Kind.NULL),
        ("true", Kind.BOOLEAN),
        ("0", Kind.INTEGER),
        ("-9007199254740992", Kind.INTEGER),
        ("9007199254740993", Kind.LONG),
        ("9223372036854775807", Kind.LONG),
        ("-9223372036854775808", Kind.INTEGER),
        ("9223372036854775808", Kind.MIXED),
        ("18446744073709551615", Kind.MIXED),
        ("1.5", Kind.NUMBER),
        ("1e3", Kind.NUMBER),
        ("0.1", Kind.NUMBER),
        ("1.7976931348623157E308", Kind.NUMBER),
        ("4.9E-324", Kind.NUMBER),
        ("0.12345678901234567", Kind.NUMBER),
        ("0.12345678901234567890", Kind.MIXED),
        ("12345678901234567890.5", Kind.MIXED),
        ("100000000000000000000.0", Kind.NUMBER),
        ("1e400", Kind.MIXED),
        ('"NaN"', Kind.SPECIAL),
        ('"x"', Kind.TEXT),
        ('""', Kind.TEXT),
        ('"2024-01-01"', Kind.TEXT),
        ('"2024-01-01T00:00:00Z"', Kind.TEXT),
        ('"12"', Kind.TEXT),
        ("{}", Kind.NESTED),
        ('{"a":{"b":1}}', Kind.NESTED),
        ("[]", Kind.NESTED),
    ],
)
def test_a_value_is_of_a_kind(text: str, kind: Kind) -> None:
    assert kind_of(parsed(text)) is kind


@pytest.mark.parametrize(
    ("kinds", "name"),
    [
        ((Kind.NULL,), None),
        ((Kind.INTEGER, Kind.NULL), "int64"),
        ((Kind.INTEGER, Kind.LONG), "int64"),
        ((Kind.INTEGER, Kind.NUMBER), "double"),
        ((Kind.LONG, Kind.NUMBER), "string"),
        ((Kind.NUMBER, Kind.SPECIAL), "double"),
        ((Kind.SPECIAL,), "string"),
        ((Kind.SPECIAL, Kind.TEXT), "string"),
        ((Kind.BOOLEAN, Kind.INTEGER), "string"),
        ((Kind.TEXT, Kind.INTEGER), "string"),
        ((Kind.NESTED,), "string"),
        ((Kind.NESTED, Kind.TEXT), "string"),
        ((Kind.MIXED, Kind.INTEGER), "string"),
    ],
)
def test_values_together_get_the_narrowest_type_that_holds_them_all(
    kinds: tuple[Kind, ...], name: str | None
) -> None:
    kind = Kind.NULL
    for one in kinds:
        kind = join(kind, one)

    found = type_of(kind)

    assert (found.kind if found else None) == name


def test_the_order_of_values_decides_nothing() -> None:
    for one, two, three in itertools.product(Kind, repeat=3):
        wanted = type_of(join(join(one, two), three))
        assert wanted == type_of(join(one, join(two, three)))
        assert wanted == type_of(join(join(three, one), two))


@pytest.mark.parametrize("column", ["boolean", "int32", "int64", "double", "string"])
def test_a_value_that_fits_a_column_leaves_its_type_as_it_is(column: str) -> None:
    """What joins a column without loss is what the column's own kind takes in."""
    own = {
        "boolean": Kind.BOOLEAN,
        "int32": Kind.LONG,
        "int64": Kind.LONG,
        "double": Kind.NUMBER,
        "string": Kind.MIXED,
    }[column]

    for kind in Kind:
        together = type_of(join(own, kind))
        assert together is not None
        wanted = "int64" if column == "int32" else column
        assert fits(kind, SourceType(column)) == (together.kind == wanted)


def test_only_text_goes_into_text_without_quotes() -> None:
    assert [kind for kind in Kind if is_text(kind)] == [Kind.NULL, Kind.SPECIAL, Kind.TEXT]
