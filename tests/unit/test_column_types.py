"""Types that messages do not tell: what the source's catalog said before, and says now."""

import pytest

from cdc.model import SourceColumn, SourceType
from cdc.model.column_types import ColumnTypes
from cdc.state.column_types import (
    TypeMemory,
    catalog_types,
    distinguishable,
    joint_type,
    read_types,
    remembered,
    types_property,
    unclear_types,
)
from connectors import DIALECTS, debezium_types

POSTGRES, MYSQL = DIALECTS["postgres"], DIALECTS["mysql"]
INT16, INT, LONG = (SourceType(kind) for kind in ("int16", "int32", "int64"))
FLOAT, DOUBLE = SourceType("float"), SourceType("double")
TEXT, BYTES = SourceType("string"), SourceType("bytes")
DAY = SourceType("int32", "io.debezium.time.Date")
MILLIS = SourceType("int64", "io.debezium.time.Timestamp")
MICROS = SourceType("int64", "io.debezium.time.MicroTimestamp")
PRECISE = {debezium_types.DECIMAL_MODE: "precise"}


def number(precision: int, scale: int) -> SourceType:
    return debezium_types.decimal(PRECISE, precision, scale)


def words(*options: str) -> SourceType:
    return debezium_types.enum("io.debezium.data.Enum", ",".join(options))


def array(element: SourceType) -> SourceType:
    return SourceType("array", element=element)


@pytest.mark.parametrize(
    ("old", "new", "both"),
    [
        (INT, INT, INT),
        (INT, LONG, LONG),
        (LONG, INT, LONG),
        (INT16, INT, INT),
        (number(5, 2), number(12, 2), number(12, 2)),
        (number(12, 2), number(5, 2), number(12, 2)),
        (array(INT), array(LONG), array(LONG)),
        (words("a"), words("a", "b"), words("a", "b")),
        (words("a"), TEXT, TEXT),
        (INT, TEXT, None),
        (INT, DAY, None),
        (INT, DOUBLE, None),
        (FLOAT, DOUBLE, None),
        (number(5, 2), number(5, 3), None),
        (MILLIS, MICROS, None),
        (TEXT, BYTES, None),
    ],
)
def test_two_types_are_read_as_one_only_if_they_are_written_alike_and_mean_the_same(
    old: SourceType, new: SourceType, both: SourceType | None
) -> None:
    assert joint_type(old, new, POSTGRES) == both


def test_an_enum_whose_words_are_escaped_is_no_text() -> None:
    assert joint_type(words("a\\,b"), TEXT, MYSQL) is None


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (INT, TEXT, True),
        (INT, SourceType("boolean"), True),
        (TEXT, array(TEXT), True),
        (INT, DOUBLE, False),
        (DOUBLE, TEXT, False),  # a NaN is written as text
        (number(5, 2), TEXT, False),
        (MILLIS, MICROS, False),
    ],
)
def test_values_tell_types_apart_only_if_every_one_of_them_does(
    one: SourceType, other: SourceType, apart: bool
) -> None:
    assert distinguishable(one, other) is distinguishable(other, one) is apart


def known(memory: TypeMemory, table: str = "id v", **now: SourceType) -> tuple[dict[str, str], ...]:
    """Give the columns' types, their other types and those that are unclear."""
    catalog = [SourceColumn(name, kind) for name, kind in now.items()]
    found = catalog_types(memory, catalog, table.split(), (), POSTGRES)
    return (
        {name: str(types.declared) for name, types in found.items()},
        {n: " or ".join(map(str, types.others)) for n, types in found.items() if types.others},
        {text.split()[0]: text for text in unclear_types(found)},
    )


def test_a_column_that_the_catalog_lost_is_what_it_was() -> None:
    assert known({"id": (INT,), "v": (DAY,)}, id=INT) == ({"id": "int32", "v": str(DAY)}, {}, {})


def test_a_column_of_which_nobody_knew_is_what_the_catalog_says() -> None:
    assert known({}, id=INT, v=DAY) == ({"id": "int32", "v": str(DAY)}, {}, {})


def test_a_wider_type_holds_for_all_messages() -> None:
    assert known({"v": (INT,)}, v=LONG) == ({"v": "int64"}, {}, {})


def test_of_two_types_that_values_tell_apart_the_tables_own_comes_first() -> None:
    assert known({"v": (INT,)}, v=TEXT) == ({"v": "int32"}, {"v": "string"}, {})
    assert known({"v": (INT, TEXT)}, v=TEXT) == ({"v": "string"}, {"v": "int32"}, {})


def test_types_that_nobody_can_tell_apart_are_unclear() -> None:
    columns, others, unclear = known({"v": (number(5, 2),)}, v=number(5, 3))

    assert others == {}
    assert "scale 2" in unclear["v"]
    assert "scale 3" in unclear["v"]
    assert columns["v"] == str(number(5, 2))


def test_what_a_column_was_before_the_table_lost_it_does_not_matter() -> None:
    assert known({"v": (number(5, 2),)}, "id", v=number(5, 3))[2] == {}


def test_what_the_config_says_counts_more_than_what_the_catalog_said() -> None:
    catalog = [SourceColumn("v", MICROS)]

    found = catalog_types({"v": (MILLIS,)}, catalog, ["v"], ["v"], POSTGRES)

    assert found == {"v": ColumnTypes(MICROS)}
    assert found["v"].unclear is None


def test_a_table_keeps_all_types_that_a_column_has_had() -> None:
    memory: TypeMemory = {}
    for kind in (INT, LONG, TEXT, LONG):
        memory = remembered(memory, {"v": kind}, POSTGRES)

    assert memory == {"v": (TEXT, LONG)}


def test_types_come_back_from_the_tables_property() -> None:
    point = debezium_types.POINT
    memory = {"v": (INT, number(9, 3)), "w": (array(words("a", "b")), point)}

    assert read_types(types_property(memory)) == memory
    assert types_property({}) == {}
    assert read_types({}) == {}
