"""What every database's connector promises, one test for all of them."""

import copy
import itertools
import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from cdc.decode.connect_schema import PRIMITIVES
from cdc.dialect import ConnectorRequest, Dialect
from cdc.errors import SourceUnreachableError
from cdc.model import SourceColumn, SourceType
from connectors import DIALECTS
from tests.unit.messages import CONNECT_DECIMAL, PRECISION

every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
REQUEST = ConnectorRequest(
    name="shop-east",
    topic_prefix="shop",
    hostname="db.example",
    port=4321,
    user="repl",
    password='se"cret\\',
    database="shop",
    tables=("public.orders", "public.items"),
    bootstrap_servers="kafka:9092",
)
# Ascending places in each database's log, as its messages write them.
BINARY_LOG = [
    {"file": "binlog.000001", "pos": 4},
    {"file": "binlog.000001", "pos": 23},
    {"file": "binlog.000001", "pos": 123},
    {"file": "binlog.000009", "pos": 2**32},
    {"file": "binlog.000010", "pos": 4},
    {"file": "binlog.000099", "pos": 4},
    {"file": "binlog.000100", "pos": 3},
    {"file": "binlog.999999", "pos": 2**33},
    {"file": "binlog.1000000", "pos": 4},
]
ASCENDING: dict[str, list[dict[str, Any]]] = {
    "postgres": [{"lsn": n} for n in (0, 9, 10, 99, 100, 2**32, 2**62)],
    "mysql": BINARY_LOG,
    "mariadb": BINARY_LOG,
}
TYPES = {"int64": pa.int64(), "string": pa.string()}


def positions(dialect: Dialect, places: Sequence[Mapping[str, Any]]) -> list[int | None]:
    fields = {
        name: pa.array([place.get(name) for place in places], TYPES[kind])
        for name, kind in dialect.position_fields.items()
    }
    found = dialect.position(fields)
    assert found.type == pa.int64()
    return list(found.to_pylist())


@every_dialect
def test_a_dialect_is_registered_under_its_own_name(dialect: Dialect) -> None:
    assert DIALECTS[dialect.name] is dialect


@every_dialect
def test_a_topic_is_named_by_its_table(dialect: Dialect) -> None:
    assert dialect.topic_parts[-1] == "table"
    assert set(dialect.topic_parts) <= {"database", "schema", "table"}
    assert ("schema" in dialect.topic_parts) == (dialect.schema_field == "schema")


@every_dialect
def test_a_later_place_in_the_log_has_a_greater_position(dialect: Dialect) -> None:
    found = positions(dialect, ASCENDING[dialect.name])

    assert all(
        earlier is not None and later is not None and earlier < later
        for earlier, later in itertools.pairwise(found)
    )
    assert min(number for number in found if number is not None) >= 0


@every_dialect
def test_a_change_without_its_place_has_no_position(dialect: Dialect) -> None:
    known = ASCENDING[dialect.name][1]
    places = [{**known, missing: None} for missing in dialect.position_fields]

    assert positions(dialect, [*places, {}]) == [None] * (len(places) + 1)


@every_dialect
def test_no_change_has_no_position(dialect: Dialect) -> None:
    assert positions(dialect, []) == []


@pytest.mark.parametrize("name", ["mysql", "mariadb"])
@pytest.mark.parametrize("file", ["", "binlog", "binlog.", "binlog.index", "binlog.12x", "000001"])
def test_a_log_file_without_a_number_has_no_position(name: str, file: str) -> None:
    assert positions(DIALECTS[name], [{"file": file, "pos": 4}]) == [None]


@pytest.mark.parametrize("name", ["mysql", "mariadb"])
def test_only_the_last_number_of_a_log_files_name_counts(name: str) -> None:
    plain, dotted = positions(
        DIALECTS[name],
        [{"file": "binlog.000007", "pos": 4}, {"file": "host.10.bin.000007", "pos": 4}],
    )

    assert plain == dotted


@every_dialect
def test_the_fields_of_a_position_have_json_types(dialect: Dialect) -> None:
    assert dialect.position_fields
    assert set(dialect.position_fields.values()) <= TYPES.keys()


def kinds() -> list[SourceType]:
    """Every kind of type that a schema block may describe, plain, named and nested."""
    plain = [SourceType(kind) for kind in sorted(PRIMITIVES)]
    named = [replace(kind, logical="of.somebody.Else") for kind in plain]
    decimals = [
        SourceType("bytes", CONNECT_DECIMAL, parameters)
        for parameters in (
            (),
            (("scale", "2"),),
            ((PRECISION, "10"), ("scale", "2")),
            ((PRECISION, "65"), ("scale", "30")),
            (("scale", "-2"),),
        )
    ]
    whole = [*plain, *named, *decimals]
    pair = (SourceColumn("key", plain[0]), SourceColumn("value", plain[1]))
    lists = [SourceType("array", element=kind) for kind in whole]
    structs = [SourceType("struct", fields=(SourceColumn("x", kind),)) for kind in whole]
    return [*whole, *lists, *structs, SourceType("struct"), SourceType("map", fields=pair)]


@every_dialect
@pytest.mark.parametrize("kind", kinds(), ids=str)
def test_a_dialects_type_is_a_text_or_nothing(dialect: Dialect, kind: SourceType) -> None:
    found = dialect.iceberg_type(kind)

    assert found is None or (isinstance(found, str) and found)


@every_dialect
def test_an_ordinary_decimal_is_left_to_the_shared_mapping(dialect: Dialect) -> None:
    kind = SourceType("bytes", CONNECT_DECIMAL, ((PRECISION, "10"), ("scale", "2")))

    assert dialect.iceberg_type(kind) is None


@every_dialect
def test_a_connector_has_what_debezium_requires(dialect: Dialect) -> None:
    config = dialect.connector_config(REQUEST)

    assert config["connector.class"].startswith("io.debezium.connector.")
    assert config["database.hostname"] == "db.example"
    assert config["database.port"] == "4321"
    assert config["database.user"] == "repl"
    assert config["database.password"] == 'se"cret\\'
    assert config["topic.prefix"] == "shop"
    assert config["table.include.list"] == "public.orders,public.items"
    assert config["tasks.max"] == "1"


@every_dialect
def test_a_connector_leaves_no_operation_out_and_takes_a_snapshot(dialect: Dialect) -> None:
    config = dialect.connector_config(REQUEST)

    assert config["skipped.operations"] == "none"
    assert config["snapshot.mode"] == "initial"


@every_dialect
def test_a_connectors_settings_are_texts(dialect: Dialect) -> None:
    config = dialect.connector_config(REQUEST)

    assert {type(part) for pair in config.items() for part in pair} == {str}


@every_dialect
def test_a_connectors_settings_depend_on_the_request_alone(dialect: Dialect) -> None:
    request = copy.copy(REQUEST)

    first = dialect.connector_config(request)
    first["tasks.max"] = "changed"

    assert dialect.connector_config(REQUEST) == {**first, "tasks.max": "1"}
    assert request == REQUEST


@every_dialect
def test_no_two_databases_share_a_connector(dialect: Dialect) -> None:
    classes = [d.connector_config(REQUEST)["connector.class"] for d in DIALECTS.values()]

    assert classes.count(dialect.connector_config(REQUEST)["connector.class"]) == 1


@pytest.mark.parametrize("name", ["shop", "Shop-East.1", "x" * 200, "a b", "1st"])
def test_a_postgres_slot_has_a_name_that_postgres_takes(name: str) -> None:
    config = DIALECTS["postgres"].connector_config(replace(REQUEST, name=name))

    assert re.fullmatch("[a-z0-9_]{1,63}", config["slot.name"])
    assert re.fullmatch("[a-z0-9_]{1,63}", config["publication.name"])


@pytest.mark.parametrize("name", ["mysql", "mariadb"])
def test_a_replica_has_a_server_id_of_its_own(name: str) -> None:
    dialect = DIALECTS[name]

    ids = [
        int(dialect.connector_config(replace(REQUEST, name=mirror))["database.server.id"])
        for mirror in ("shop", "shop2", "other")
    ]

    assert len(set(ids)) == 3
    assert all(0 < id_ < 2**32 for id_ in ids)


@pytest.mark.parametrize("name", ["mysql", "mariadb"])
def test_unsigned_numbers_and_the_schema_history_are_kept_whole(name: str) -> None:
    config = DIALECTS[name].connector_config(REQUEST)

    assert config["bigint.unsigned.handling.mode"] == "precise"
    assert config["schema.history.internal.kafka.bootstrap.servers"] == "kafka:9092"
    assert config["schema.history.internal.kafka.topic"]


@every_dialect
def test_a_dialect_goes_to_the_executors(dialect: Dialect) -> None:
    found = pickle.loads(pickle.dumps(dialect))

    assert found == dialect
    places = ASCENDING[dialect.name]
    assert positions(found, places) == positions(dialect, places)


@every_dialect
def test_a_database_that_does_not_answer_is_a_deliberate_error(dialect: Dialect) -> None:
    scheme = "postgresql" if dialect.name == "postgres" else "mysql"

    with pytest.raises(SourceUnreachableError) as raised:
        dialect.probe(f"{scheme}://user:se-cret@127.0.0.1:1/shop")

    assert "se-cret" not in str(raised.value)
