"""Which columns are a table's key, and which columns the mirror adds of its own."""

import pickle

import pytest
from pyiceberg.schema import Schema

from cdc.config import ApplyMode, OnDelete, ResolvedRule
from cdc.decode import DecodePlan, Wire, decode_changes
from cdc.errors import NoKeyError, UnknownKeyError, UnmirrorableColumnError
from cdc.model import RESERVED, SourceColumn, SourceSchema, SourceType
from cdc.schema import arrow_schema, iceberg_schema, mirror_columns, own_columns, source_schema
from cdc.state.key import TableKey
from cdc.state.names import KEY_PROPERTY, TOPIC_PROPERTY
from cdc.state.table_state import TableState
from connectors import DIALECTS
from tests.unit.avro_messages import AvroTopic
from tests.unit.messages import Table, arrays, column, insert, without_schemas
from tests.unit.registry_server import served

POSTGRES = DIALECTS["postgres"]
INT, TEXT, DOUBLE = SourceType("int32"), SourceType("string"), SourceType("double")
COLUMNS = (
    SourceColumn("note", TEXT, optional=True),
    SourceColumn("code", TEXT, optional=False),
    SourceColumn("region", TEXT, optional=True),
    SourceColumn("id", INT),
)
APPEND = ResolvedRule(mode=ApplyMode.APPEND)
HISTORY = ResolvedRule(mode=ApplyMode.HISTORY)
SOFT = ResolvedRule(on_delete=OnDelete.SOFT)


def table_of(key: tuple[str, ...], rule: ResolvedRule) -> Schema:
    columns = mirror_columns(SourceSchema(COLUMNS, key), "t", POSTGRES, rule)
    return iceberg_schema(columns, rule)


def keys_of(key: tuple[str, ...], rule: ResolvedRule) -> list[tuple[str, bool]]:
    columns = mirror_columns(SourceSchema(COLUMNS, key), "t", POSTGRES, rule)
    return [(c.name, c.required) for c in columns if c.key]


@pytest.mark.parametrize(
    ("key", "rule", "expected"),
    [
        (("id",), ResolvedRule(), [("id", True)]),
        (("region", "code"), ResolvedRule(), [("region", False), ("code", True)]),
        ((), ResolvedRule(key=("code",)), [("code", True)]),
        ((), ResolvedRule(key=("region", "code")), [("region", False), ("code", True)]),
        # Of a column that nobody speaks of it is not known; the key of the messages is whole.
        ((), ResolvedRule(key=("id",)), [("id", False)]),
        (("id",), ResolvedRule(key=("code",)), [("code", True)]),
        (("id",), APPEND, []),
        ((), APPEND, []),
        (("id",), HISTORY, [("id", True)]),
    ],
)
def test_the_configs_key_wins_and_only_what_is_never_null_is_required(
    key: tuple[str, ...], rule: ResolvedRule, expected: list[tuple[str, bool]]
) -> None:
    assert keys_of(key, rule) == expected


def test_the_keys_columns_come_first_also_where_they_are_no_key() -> None:
    names = [column.name for column in table_of(("id",), APPEND).fields]

    assert [name for name in names if not name.startswith(RESERVED)] == [
        "id",
        "note",
        "code",
        "region",
    ]


def test_a_table_of_changes_requires_and_identifies_nothing() -> None:
    schema = table_of(("id",), APPEND)

    assert not any(column.required for column in schema.fields)
    assert schema.identifier_field_ids == []


@pytest.mark.parametrize(
    ("key", "rule", "identified"),
    [
        (("id",), ResolvedRule(), True),
        (("id",), SOFT, True),
        (("id",), HISTORY, False),
        (("code", "region"), ResolvedRule(), False),
    ],
)
def test_identifier_fields_are_a_key_that_is_whole_and_unique(
    key: tuple[str, ...], rule: ResolvedRule, identified: bool
) -> None:
    schema = table_of(key, rule)

    names = [schema.find_column_name(place) for place in schema.identifier_field_ids]
    assert names == (list(key) if identified else [])


def test_a_floating_point_number_identifies_nothing() -> None:
    columns = (SourceColumn("id", DOUBLE, optional=False), SourceColumn("code", TEXT, False))
    source = SourceSchema(columns, ("id", "code"))

    schema = iceberg_schema(mirror_columns(source, "t", POSTGRES))

    assert [column.required for column in schema.fields] == [True, True]
    assert schema.identifier_field_ids == []


def test_a_key_that_the_table_does_not_have_is_refused() -> None:
    rule = ResolvedRule(key=("code", "cod", "nr"))

    with pytest.raises(UnknownKeyError) as found:
        keys_of(("id",), rule)

    assert found.value.missing == ("cod", "nr")
    assert "cod, nr. It has note, code, region, id. Change key" in str(found.value)
    assert str(pickle.loads(pickle.dumps(found.value))) == str(found.value)


def test_a_table_without_any_key_is_refused_with_all_that_helps() -> None:
    with pytest.raises(NoKeyError, match=r"as key in its rule .* or mirror its changes with mode"):
        keys_of((), ResolvedRule())


def test_what_is_no_key_in_a_table_of_changes_may_be_left_out() -> None:
    rule = ResolvedRule(mode=ApplyMode.APPEND, exclude=("id",))

    assert "id" not in table_of(("id",), rule).column_names
    with pytest.raises(UnmirrorableColumnError):
        table_of(("id",), ResolvedRule(exclude=("id",)))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (ResolvedRule(), []),
        (SOFT, [("_mirror_deleted", "boolean")]),
        (ResolvedRule(mode=ApplyMode.APPEND, on_delete=OnDelete.SOFT), 5),
        (
            HISTORY,
            [
                ("_mirror_valid_from", "timestamptz"),
                ("_mirror_valid_to", "timestamptz"),
                ("_mirror_current", "boolean"),
            ],
        ),
        (
            APPEND,
            [
                ("_mirror_op", "string"),
                ("_mirror_partition", "int"),
                ("_mirror_offset", "long"),
                ("_mirror_position", "long"),
                ("_mirror_time", "timestamptz"),
            ],
        ),
    ],
)
def test_the_mirrors_own_columns_are_behind_the_sources(
    rule: ResolvedRule, expected: list[tuple[str, str]] | int
) -> None:
    found = [(c.name, str(c.type)) for c in own_columns(rule)]

    assert (len(found) if isinstance(expected, int) else found) == expected
    fields = table_of(("id",), rule).fields
    assert [(f.name, str(f.field_type)) for f in fields[4:]] == found
    assert not any(f.required for f in fields[4:])


def test_the_decoder_is_told_of_the_sources_columns_alone() -> None:
    whole = arrow_schema(table_of(("id",), HISTORY), "t")

    found = source_schema(whole)

    assert found.names == ["id", "note", "code", "region"]
    assert found.field("id").equals(whole.field("id"), check_metadata=True)


def test_a_table_keeps_its_key_in_its_properties() -> None:
    columns = mirror_columns(SourceSchema(COLUMNS, ("region", "id")), "t", POSTGRES)
    schema = iceberg_schema(columns)

    key = TableKey(tuple(column.name for column in columns if column.key))

    assert dict(key.properties) == {KEY_PROPERTY: '["region", "id"]'}
    assert TableKey.read(dict(key.properties)).columns == ("region", "id")
    assert TableKey.read({KEY_PROPERTY: "[]"}).columns == ()
    assert TableState.read({TOPIC_PROPERTY: "t"}, schema, "t").key.columns == ("id",)


@pytest.mark.parametrize("form", ["json", "schemaless", "avro"])
def test_messages_say_which_columns_of_their_key_may_be_null(form: str) -> None:
    columns = (column("a", "int32", optional=False), column("b", "string"), column("c", "string"))
    message = insert({"a": 1, "b": None, "c": "x"}, table=Table(columns, key=("a", "b")))
    topic = AvroTopic()
    if form != "json":
        message = without_schemas(message) if form == "schemaless" else topic.write(message)
    with served(topic.schemas) as url:
        plan = DecodePlan(message.topic, POSTGRES, Wire(registry={"url": url}))
        (schema,) = decode_changes(0, *arrays([message]), plan).new_schemas

    told = {column.name: column.optional for column in schema.columns}
    expected = {"a": False, "b": True, "c": True}
    assert told == {name: expected[name] if form != "schemaless" else None for name in told}
    # Without a schema, and without any value so far, there is no telling what b is.
    assert schema.key == (("a", "b") if form != "schemaless" else ("a",))
