"""What the Debezium connector of every database is told, one test for all of them."""

import copy
import re
from dataclasses import replace

import pytest

from cdc.dialect import ConnectorRequest, Dialect
from connectors import DIALECTS

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
SERVER = {
    "database.hostname": "db.example",
    "database.port": "4321",
    "database.user": "repl",
    "database.password": 'se"cret\\',
    "table.include.list": "public.orders,public.items",
}
ADDRESS = {
    "postgres": {**SERVER, "database.dbname": "shop"},
    "mysql": {**SERVER, "database.include.list": "shop"},
    "mariadb": {**SERVER, "database.include.list": "shop"},
    "sqlserver": {**SERVER, "database.names": "shop"},
    "oracle": {**SERVER, "database.dbname": "shop"},
    "mongodb": {
        "mongodb.connection.string": "mongodb://db.example:4321/",
        "mongodb.user": "repl",
        "mongodb.password": 'se"cret\\',
        "collection.include.list": "public.orders,public.items",
    },
}
PASSWORD = dict.fromkeys(DIALECTS, "database.password") | {"mongodb": "mongodb.password"}


@every_dialect
def test_a_connector_has_what_debezium_requires(dialect: Dialect) -> None:
    config = dialect.connector_config(REQUEST)

    assert config["connector.class"].startswith("io.debezium.connector.")
    assert config["topic.prefix"] == "shop"
    assert config["tasks.max"] == "1"
    for name, value in ADDRESS[dialect.name].items():
        assert config[name] == value


@every_dialect
def test_the_password_stands_in_one_setting_and_in_no_other(dialect: Dialect) -> None:
    config = dialect.connector_config(REQUEST)

    assert [name for name, value in config.items() if "cret" in value] == [PASSWORD[dialect.name]]


def test_the_password_of_a_request_is_not_shown() -> None:
    assert "cret" not in repr(REQUEST)


@every_dialect
def test_a_connector_that_keeps_a_history_of_schemas_has_a_topic_for_it(dialect: Dialect) -> None:
    config = dialect.connector_config(REQUEST)

    history = {name: value for name, value in config.items() if name.startswith("schema.history")}
    if dialect.name in ("postgres", "mongodb"):
        assert history == {}
    else:
        assert history == {
            "schema.history.internal.kafka.bootstrap.servers": "kafka:9092",
            "schema.history.internal.kafka.topic": "_history.shop",
        }


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
def test_unsigned_numbers_are_kept_whole(name: str) -> None:
    config = DIALECTS[name].connector_config(REQUEST)

    assert config["bigint.unsigned.handling.mode"] == "precise"


def test_postgres_leaves_out_no_column_of_a_type_that_debezium_does_not_know() -> None:
    assert DIALECTS["postgres"].connector_config(REQUEST)["include.unknown.datatypes"] == "true"


def test_oracle_leaves_out_no_large_object_no_open_transaction_and_no_month() -> None:
    config = DIALECTS["oracle"].connector_config(REQUEST)

    assert config["lob.enabled"] == "true"
    assert config["internal.log.mining.transaction.snapshot.boundary.mode"] == "all"
    assert config["interval.handling.mode"] == "string"


@pytest.mark.parametrize(
    ("database", "expected"),
    [
        ("ORCL", {"database.dbname": "ORCL"}),
        ("ORCLCDB/ORCLPDB1", {"database.dbname": "ORCLCDB", "database.pdb.name": "ORCLPDB1"}),
    ],
)
def test_a_database_in_an_oracle_container_is_named_with_it(
    database: str, expected: dict[str, str]
) -> None:
    config = DIALECTS["oracle"].connector_config(replace(REQUEST, database=database))

    names = {name: value for name, value in config.items() if "bname" in name or "pdb" in name}
    assert names == expected


def test_mongodbs_updates_carry_the_whole_document() -> None:
    config = DIALECTS["mongodb"].connector_config(REQUEST)

    assert config["capture.mode"] == "change_streams_update_full"
    assert config["json.serialization.mode"] == "extended"


def test_an_ip_address_of_version_6_stands_in_brackets_in_mongodbs_address() -> None:
    config = DIALECTS["mongodb"].connector_config(replace(REQUEST, hostname="::1"))

    assert config["mongodb.connection.string"] == "mongodb://[::1]:4321/"
