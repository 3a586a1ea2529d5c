"""What a source schema asks of the table that mirrors it."""

from dataclasses import replace

import pytest
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from cdc.config import ApplyMode, ChangeKind, ResolvedRule
from cdc.decode import DecodePlan, decode_changes
from cdc.schema import difference, iceberg_schema, mirror_columns
from cdc.schema.difference import ColumnChange, SchemaDifference
from cdc.schema.mapping import MirrorColumn
from connectors import DIALECTS
from tests.unit.messages import arrays, read_recorded

ID = MirrorColumn("id", LongType(), True, required=True)
KEY = ("id",)
NOTHING = SchemaDifference((), KEY, KEY)


def list_of(element: IcebergType) -> ListType:
    return ListType(element_id=0, element=element, element_required=False)


def struct_of(**members: IcebergType) -> StructType:
    return StructType(*(NestedField(0, name, kind, False) for name, kind in members.items()))


def compared(old: IcebergType, new: IcebergType) -> SchemaDifference:
    table = iceberg_schema((ID, MirrorColumn("v", old, False)))
    return difference(table, (ID, MirrorColumn("v", new, False)), "t", KEY)


@pytest.mark.parametrize(
    "kind",
    [
        LongType(),
        StringType(),
        DecimalType(10, 2),
        list_of(IntegerType()),
        list_of(list_of(struct_of(x=DoubleType()))),
        struct_of(x=DoubleType(), y=list_of(StringType())),
    ],
    ids=str,
)
def test_the_same_type_is_no_difference(kind: IcebergType) -> None:
    assert compared(kind, kind) == NOTHING


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LongType(), IntegerType()),
        (DoubleType(), FloatType()),
        (DecimalType(10, 2), DecimalType(5, 2)),
        (list_of(LongType()), list_of(IntegerType())),
        (struct_of(x=LongType(), y=LongType()), struct_of(x=IntegerType())),
    ],
    ids=str,
)
def test_a_narrower_type_fits_the_column(old: IcebergType, new: IcebergType) -> None:
    assert compared(old, new) == NOTHING


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (IntegerType(), LongType(), ("v",)),
        (FloatType(), DoubleType(), ("v",)),
        (DecimalType(5, 2), DecimalType(10, 2), ("v",)),
        (list_of(IntegerType()), list_of(LongType()), ("v", "element")),
        (struct_of(x=FloatType()), struct_of(x=DoubleType()), ("v", "x")),
        (
            MapType(0, StringType(), 0, IntegerType(), False),
            MapType(0, StringType(), 0, LongType(), False),
            ("v", "value"),
        ),
    ],
    ids=str,
)
def test_a_type_with_more_room_is_widened(
    old: IcebergType, new: IcebergType, path: tuple[str, ...]
) -> None:
    (change,) = compared(old, new).changes

    assert (change.kind, change.path) == (ChangeKind.WIDEN_TYPE, path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (DoubleType(), LongType()),
        (DecimalType(10, 2), DecimalType(10, 3)),
        (DecimalType(10, 2), DecimalType(10, 1)),
        (LongType(), StringType()),
        (StringType(), LongType()),
        (StringType(), BinaryType()),
        (TimestampType(), TimestamptzType()),
        (TimestampType(), DateType()),
        (list_of(IntegerType()), IntegerType()),
        (struct_of(x=DoubleType(), y=LongType()), struct_of(x=StringType(), z=LongType())),
    ],
    ids=str,
)
def test_a_type_whose_values_may_not_fit_is_another_one(old: IcebergType, new: IcebergType) -> None:
    (change,) = compared(old, new).changes

    assert (change.kind, change.path) == (ChangeKind.CHANGE_TYPE, ("v",))
    assert type(change.old) is type(old)
    assert type(change.new) is type(new)


def test_a_member_that_a_struct_got_is_added() -> None:
    (change,) = compared(struct_of(x=DoubleType()), struct_of(x=DoubleType(), y=LongType())).changes

    assert change == ColumnChange(ChangeKind.ADD_COLUMN, ("v", "y"), new=LongType())


def test_new_columns_are_added_behind_the_ones_that_they_follow() -> None:
    b, a = MirrorColumn("b", StringType(), False), MirrorColumn("a", LongType(), False)

    found = difference(iceberg_schema((ID,)), (ID, b, a), "t", KEY)

    assert found.changes == (
        ColumnChange(ChangeKind.ADD_COLUMN, ("b",), new=StringType(), after="id"),
        ColumnChange(ChangeKind.ADD_COLUMN, ("a",), new=LongType(), after="b"),
    )


TWO = iceberg_schema((ID, MirrorColumn("v", StringType(), False)))


def test_a_column_that_the_newest_schema_lacks_is_gone() -> None:
    (change,) = difference(TWO, (ID,), "t", KEY, newest=True).changes

    assert (change.kind, change.path) == (ChangeKind.DROP_COLUMN, ("v",))


def test_an_older_schema_may_lack_what_came_later() -> None:
    assert difference(TWO, (ID,), "t", KEY, newest=False) == NOTHING


W = MirrorColumn("w", StringType(), False)


def test_a_column_that_is_gone_while_another_is_new_may_have_been_renamed_and_stays() -> None:
    kinds = [change.kind for change in difference(TWO, (ID, W), "t", KEY, newest=True).changes]

    assert kinds == [ChangeKind.ADD_COLUMN]


def test_one_that_is_surely_gone_is_gone() -> None:
    found = difference(TWO, (ID, W), "t", KEY, newest=True, told_apart=True)

    assert [c.kind for c in found.changes] == [ChangeKind.ADD_COLUMN, ChangeKind.DROP_COLUMN]


def test_a_column_that_is_said_to_be_renamed_is_renamed() -> None:
    found = difference(TWO, (ID, W), "t", KEY, newest=True, renames={"v": "w", "x": "y"})

    assert found.changes == (ColumnChange(ChangeKind.RENAME_COLUMN, ("v",), to="w"),)


@pytest.mark.parametrize(
    ("columns", "newest"),
    [
        ((ID, W, MirrorColumn("v", StringType(), False)), True),  # both are there
        ((ID, W), False),  # an old schema says nothing of names
    ],
)
def test_a_rename_that_is_said_but_not_seen_is_none(
    columns: tuple[MirrorColumn, ...], newest: bool
) -> None:
    found = difference(TWO, columns, "t", KEY, newest=newest, renames={"v": "w"})

    assert found.of(ChangeKind.RENAME_COLUMN) == ()


def test_a_key_column_with_another_name_is_the_same_key() -> None:
    number = replace(ID, name="number")

    found = difference(
        iceberg_schema((ID,)), (number,), "t", KEY, newest=True, renames={"id": "number"}
    )

    assert found.old_key == found.new_key == ("number",)


def test_a_key_that_may_be_null_now_is_told() -> None:
    found = difference(iceberg_schema((ID,)), (replace(ID, required=False),), "t", KEY)

    assert found.changes == (ColumnChange(ChangeKind.NULLABILITY, ("id",)),)


def test_names_that_differ_in_case_are_two_columns() -> None:
    upper = MirrorColumn("V", StringType(), False)

    (change,) = difference(TWO, (ID, upper), "t", KEY).changes

    assert (change.kind, change.path) == (ChangeKind.ADD_COLUMN, ("V",))


@pytest.mark.parametrize(
    "new",
    [
        (MirrorColumn("v", LongType(), True), MirrorColumn("id", LongType(), False)),
        (ID, MirrorColumn("v", LongType(), True)),
        (MirrorColumn("v", LongType(), True), ID),
    ],
)
def test_another_key_is_told(new: tuple[MirrorColumn, ...]) -> None:
    table = iceberg_schema((ID, MirrorColumn("v", LongType(), False)))

    found = difference(table, new, "t", KEY)

    assert found.old_key == ("id",)
    assert found.new_key == tuple(column.name for column in new if column.key)
    assert found.old_key != found.new_key
    assert found.changes == ()


def test_only_the_newest_schema_changes_the_key() -> None:
    table = iceberg_schema((ID, MirrorColumn("v", LongType(), False)))
    new = (MirrorColumn("v", LongType(), True), MirrorColumn("id", LongType(), False))

    found = difference(table, new, "t", KEY, newest=True)

    # That `id` may be null now goes with it.
    assert found.changes == (ColumnChange(ChangeKind.CHANGE_KEY, ("v",), old_key=("id",)),)


def test_a_recorded_table_tells_what_each_alter_did() -> None:
    messages = read_recorded("pg_json.jsonl")["pgj.app.evolve"]
    dialect = DIALECTS["postgres"]
    plan = DecodePlan(messages[0].topic, dialect)
    versions = [
        mirror_columns(schema, "evolve", dialect)
        for schema in decode_changes(0, *arrays(messages), plan).new_schemas
    ]
    table = iceberg_schema(versions[0])

    found = [difference(table, version, "evolve", KEY) for version in versions]

    assert found[0] == NOTHING
    changes = {(c.kind, c.column, str(c.new)) for one in found for c in one.changes}
    assert (ChangeKind.WIDEN_TYPE, "a", "long") in changes
    assert (ChangeKind.CHANGE_TYPE, "a", "string") in changes
    assert {name for kind, name, _ in changes if kind is ChangeKind.ADD_COLUMN} >= {
        "d_renamed",
        "e",
    }


def test_the_mirrors_own_columns_are_no_difference() -> None:
    table = iceberg_schema((ID,), ResolvedRule(mode=ApplyMode.HISTORY))

    assert difference(table, (ID,), "t", KEY, newest=True) == NOTHING


def test_a_key_that_may_be_null_is_the_same_key() -> None:
    nullable = replace(ID, required=False)

    assert difference(iceberg_schema((nullable,)), (nullable,), "t", KEY) == NOTHING
