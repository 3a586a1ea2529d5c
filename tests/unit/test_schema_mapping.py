"""Source types to Iceberg types."""

import pytest
from pyiceberg.schema import Schema, index_by_id
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
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

from cdc.config import ResolvedRule
from cdc.dialect import Dialect
from cdc.errors import ForeignTableError, NoKeyError, UnmappableTypeError, UnmirrorableColumnError
from cdc.model import SourceColumn, SourceSchema, SourceType
from cdc.schema import arrow_schema, iceberg_schema, mirror_columns
from cdc.schema.arrow_schema import FIELD_ID
from connectors import DIALECTS
from tests.unit.messages import CONNECT_DECIMAL, PRECISION

POSTGRES, MYSQL = DIALECTS["postgres"], DIALECTS["mysql"]
INT = SourceType("int32")
CONNECT = "org.apache.kafka.connect.data."
TIME = "io.debezium.time."


VARIABLE_SCALE = SourceType(
    "struct",
    "io.debezium.data.VariableScaleDecimal",
    fields=(SourceColumn("scale", INT), SourceColumn("value", SourceType("bytes"))),
)


def numeric(**parameters: str) -> SourceType:
    return SourceType("bytes", CONNECT_DECIMAL, tuple(sorted(parameters.items())))


def mapped(kind: SourceType, dialect: Dialect = MYSQL) -> IcebergType:
    schema = SourceSchema((SourceColumn("id", INT), SourceColumn("v", kind)), ("id",))
    return mirror_columns(schema, "public.t", dialect)[1].type


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (SourceType("int8"), IntegerType()),
        (SourceType("int16"), IntegerType()),
        (SourceType("int32"), IntegerType()),
        (SourceType("int64"), LongType()),
        (SourceType("float"), FloatType()),
        (SourceType("double"), DoubleType()),
        (SourceType("boolean"), BooleanType()),
        (SourceType("string"), StringType()),
        (SourceType("bytes"), BinaryType()),
        (SourceType("int32", TIME + "Date"), DateType()),
        (SourceType("int32", CONNECT + "Date"), DateType()),
        (SourceType("int64", TIME + "Timestamp"), TimestampType()),
        (SourceType("int64", CONNECT + "Timestamp"), TimestampType()),
        (SourceType("int64", TIME + "MicroTimestamp"), TimestampType()),
        (SourceType("string", TIME + "ZonedTimestamp"), TimestamptzType()),
        (SourceType("int32", TIME + "Time"), StringType()),
        (SourceType("int32", CONNECT + "Time"), StringType()),
        (SourceType("int64", TIME + "MicroTime"), StringType()),
        (SourceType("string", TIME + "ZonedTime"), StringType()),
        (SourceType("int32", TIME + "Year"), IntegerType()),
        (SourceType("int64", TIME + "MicroDuration"), LongType()),
        (SourceType("string", "io.debezium.data.Json"), StringType()),
        (SourceType("string", "io.debezium.data.Uuid"), StringType()),
        (SourceType("string", "io.debezium.data.Enum"), StringType()),
        (SourceType("bytes", "io.debezium.data.Bits"), BinaryType()),
        (SourceType("string", "of.somebody.Else"), StringType()),
        (VARIABLE_SCALE, StringType()),
        (SourceType("int64", TIME + "NanoTimestamp"), TimestampType()),
        (SourceType("int64", TIME + "NanoTime"), StringType()),
        (SourceType("string", TIME + "IsoDate"), DateType()),
        (SourceType("string", TIME + "IsoTime"), StringType()),
        (SourceType("string", TIME + "IsoTimestamp"), TimestampType()),
        # A name on another kind than its own means nothing.
        (SourceType("string", TIME + "Date"), StringType()),
        (SourceType("int32", TIME + "ZonedTimestamp"), IntegerType()),
        (numeric(scale="2", **{PRECISION: "10"}), DecimalType(10, 2)),
        (numeric(scale="38", **{PRECISION: "38"}), DecimalType(38, 38)),
        (numeric(scale="2"), DecimalType(38, 2)),
        (numeric(scale="30", **{PRECISION: "65"}), StringType()),
        (numeric(scale="-2", **{PRECISION: "5"}), StringType()),
        (numeric(scale="9", **{PRECISION: "5"}), StringType()),
    ],
    ids=str,
)
def test_a_source_type_has_its_iceberg_type(source: SourceType, wanted: IcebergType) -> None:
    assert mapped(source) == wanted


def test_postgres_money_has_its_nineteen_digits() -> None:
    assert mapped(numeric(scale="2"), POSTGRES) == DecimalType(19, 2)


@pytest.mark.parametrize("name", ["data.VariableScaleDecimal", "data.geometry.Point"])
def test_a_struct_with_other_fields_than_its_names_is_a_plain_one(name: str) -> None:
    fields = (SourceColumn("scale", INT), SourceColumn("value", SourceType("string")))

    found = mapped(SourceType("struct", "io.debezium." + name, fields=fields))

    assert isinstance(found, StructType)
    assert [field.name for field in found.fields] == ["scale", "value"]


def test_arrays_and_structs_map_their_parts() -> None:
    point = SourceType(
        "struct",
        fields=(SourceColumn("x", SourceType("double")), SourceColumn("wkb", SourceType("bytes"))),
    )

    found = mapped(SourceType("array", element=point))

    assert isinstance(found, ListType)
    assert isinstance(found.element_type, StructType)
    members = [(f.name, f.field_type, f.required) for f in found.element_type.fields]
    assert members == [("x", DoubleType(), False), ("wkb", BinaryType(), False)]


def test_a_map_maps_its_parts() -> None:
    pair = (SourceColumn("key", INT), SourceColumn("value", SourceType("bytes")))

    found = mapped(SourceType("map", fields=pair))

    assert isinstance(found, MapType)
    assert (found.key_type, found.value_type) == (IntegerType(), BinaryType())
    assert not found.value_required


@pytest.mark.parametrize(
    "kind",
    [
        numeric(),
        numeric(scale="x"),
        SourceType("string", CONNECT_DECIMAL, (("scale", "2"),)),
        SourceType("struct"),
    ],
    ids=str,
)
@pytest.mark.parametrize("depth", range(3))
def test_a_type_without_an_exact_form_is_refused_at_any_depth(kind: SourceType, depth: int) -> None:
    for _ in range(depth):
        kind = SourceType("struct", fields=(SourceColumn("x", SourceType("array", element=kind)),))

    with pytest.raises(UnmappableTypeError) as raised:
        mapped(kind)

    assert (raised.value.table, raised.value.column) == ("public.t", "v")


def test_key_columns_come_first_and_in_the_keys_order() -> None:
    columns = tuple(SourceColumn(name, INT) for name in "abcd")

    found = mirror_columns(SourceSchema(columns, ("d", "b")), "t", MYSQL)

    assert [(c.name, c.key) for c in found] == [
        ("d", True),
        ("b", True),
        ("a", False),
        ("c", False),
    ]


@pytest.mark.parametrize(("key", "missing"), [((), ()), (("id", "x", "y"), ("x", "y"))])
def test_a_key_that_the_rows_do_not_have_is_refused(
    key: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    with pytest.raises(NoKeyError) as raised:
        mirror_columns(SourceSchema((SourceColumn("id", INT),), key), "t", MYSQL)

    assert raised.value.missing == missing


def schema_of(*columns: tuple[str, SourceType], key: tuple[str, ...]) -> Schema:
    source = SourceSchema(tuple(SourceColumn(*column) for column in columns), key)
    return iceberg_schema(mirror_columns(source, "t", MYSQL))


def test_the_key_is_required_and_the_identifier_and_the_rest_optional() -> None:
    schema = schema_of(("v", INT), ("b", INT), ("a", SourceType("string")), key=("a", "b"))

    assert [(f.field_id, f.name, f.required) for f in schema.fields] == [
        (1, "a", True),
        (2, "b", True),
        (3, "v", False),
    ]
    assert schema.identifier_field_ids == [1, 2]


@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_floating_point_key_is_required_but_no_identifier(kind: str) -> None:
    schema = schema_of(("id", SourceType(kind)), ("n", INT), key=("id", "n"))

    assert schema.identifier_field_ids == []
    assert [field.required for field in schema.fields] == [True, True]


def test_ids_are_unique_at_every_depth() -> None:
    member = SourceType("struct", fields=(SourceColumn("x", INT), SourceColumn("y", INT)))
    lists = SourceType("array", element=SourceType("array", element=member))

    schema = schema_of(("id", INT), ("l", lists), ("s", member), ("z", INT), key=("id",))

    found = sorted(index_by_id(schema))
    assert found == list(range(1, 11))


def test_the_arrow_schema_carries_ids_and_required_flags() -> None:
    lists = SourceType("array", element=SourceType("string"))
    schema = schema_of(("v", lists), ("id", SourceType("int64")), key=("id",))

    arrow = arrow_schema(schema, "t")

    found = [(f.name, f.nullable, f.metadata[FIELD_ID.encode()]) for f in arrow]
    assert found == [("id", False, b"1"), ("v", True, b"2")]
    assert arrow.field("v").type.value_field.metadata == {FIELD_ID.encode(): b"3"}


def test_a_type_that_the_mirror_never_writes_is_foreign() -> None:
    schema = Schema(NestedField(1, "id", FixedType(4), True))

    with pytest.raises(ForeignTableError) as raised:
        arrow_schema(schema, "shop.t")

    assert raised.value.table == "shop.t"


def test_an_excluded_column_is_none_of_the_table() -> None:
    columns = (SourceColumn("id", INT), SourceColumn("note", INT), SourceColumn("name", INT))

    found = mirror_columns(
        SourceSchema(columns, ("id",)), "t", MYSQL, ResolvedRule(exclude=("note", "gone"))
    )

    assert [column.name for column in found] == ["id", "name"]


def test_an_excluded_column_of_a_reserved_name_is_no_obstacle() -> None:
    columns = (SourceColumn("id", INT), SourceColumn("_mirror_x", INT))

    found = mirror_columns(
        SourceSchema(columns, ("id",)), "t", MYSQL, ResolvedRule(exclude=("_mirror_x",))
    )

    assert [column.name for column in found] == ["id"]


def test_a_key_cannot_be_excluded() -> None:
    schema = SourceSchema((SourceColumn("id", INT),), ("id",))

    with pytest.raises(UnmirrorableColumnError) as raised:
        mirror_columns(schema, "t", MYSQL, ResolvedRule(exclude=("id",)))

    assert raised.value.column == "id"


@pytest.mark.parametrize("name", ["id", "price"])
def test_a_hashed_column_is_text(name: str) -> None:
    columns = (SourceColumn("id", INT), SourceColumn("price", INT))

    found = mirror_columns(SourceSchema(columns, ("id",)), "t", MYSQL, ResolvedRule(hash=(name,)))

    assert {column.name: str(column.type) for column in found}[name] == "string"
