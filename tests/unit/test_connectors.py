"""What every database's connector promises, one test for all of them."""

import itertools
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from cdc.config.choices import Connector
from cdc.config.modes import HANDLING_MODES
from cdc.decode.connect_schema import PRIMITIVES
from cdc.dialect import Dialect
from cdc.model import SourceColumn, SourceType
from connectors import DIALECTS
from connectors.mysql import catalog as mysql
from connectors.postgres import catalog as postgres
from tests.unit.messages import CONNECT_DECIMAL, PRECISION

every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
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
    "sqlserver": [
        {"commit_lsn": lsn}
        for lsn in (
            "00000000:00000000:0000",
            "00000027:00000758:0005",
            "00000027:00000ac0:0007",
            "00000027:00000db0:0007",
            "00000027:00010000:0001",
            "00000028:00000001:0001",
            "0000009f:00000010:0001",
            "00000100:00000010:0001",
            "7fffffff:ffffffff:ffff",
            "ffffffff:fffffff0:0000",
        )
    ],
    "oracle": [
        {"scn": "9999", "commit_scn": None},  # a row of the snapshot
        {"scn": "2122184", "commit_scn": "10000"},
        {"scn": "2122184", "commit_scn": "2122185"},
        {"scn": "2122183", "commit_scn": "2122186:1:02000a0037030000,2122190:2:"},
        {"scn": "13234397", "commit_scn": "13271102"},
        {"scn": "1", "commit_scn": "281474976710655"},
        {"scn": "1", "commit_scn": "999999999999999999"},
    ],
    "mongodb": [{"ts_ms": ms} for ms in (0, 999, 1_558_965_508_000, 1_558_965_508_001, 2**42)],
}
# A source block that names no place, in each of its fields.
NOWHERE: dict[str, list[dict[str, Any]]] = {
    "postgres": [{"lsn": None}],
    "mysql": [{"file": "binlog.000001"}, {"pos": 4}],
    "mariadb": [{"file": "binlog.000001"}, {"pos": 4}],
    "sqlserver": [{"commit_lsn": text} for text in ("NULL", "", "00000027:00000758", "x:y:z")],
    "oracle": [{"scn": text} for text in ("null", "", "-1", "0x1f", "9" * 19)],
    "mongodb": [{"ts_ms": None}],
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


def test_every_database_of_the_config_has_a_dialect() -> None:
    assert list(DIALECTS) == [connector.value for connector in Connector]


def test_only_databases_with_a_real_server_to_test_on_are_proven() -> None:
    assert [dialect.name for dialect in DIALECTS.values() if dialect.proven] == [
        "postgres",
        "mysql",
        "mariadb",
    ]


@every_dialect
def test_only_a_proven_snapshot_is_taken_for_exact(dialect: Dialect) -> None:
    assert dialect.proven or not dialect.exact_snapshot


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
    places = [*NOWHERE[dialect.name], {}]

    assert positions(dialect, places) == [None] * len(places)


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


def test_commits_in_one_block_of_sql_servers_log_tie_and_never_fall() -> None:
    places = [{"commit_lsn": f"00000027:{block:08x}:0001"} for block in range(5)]
    found = positions(DIALECTS["sqlserver"], places)

    assert found == sorted(found, key=lambda number: number or 0)
    assert len(set(found)) == 3


def test_hex_digits_of_either_case_are_the_same_place() -> None:
    lower, upper = positions(
        DIALECTS["sqlserver"],
        [{"commit_lsn": "0000abcd:000000ef:0001"}, {"commit_lsn": "0000ABCD:000000EF:0001"}],
    )

    assert lower == upper


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
def test_a_proven_database_tells_its_columns_itself(dialect: Dialect) -> None:
    assert dialect.columns is not None or not dialect.proven


@pytest.mark.parametrize("modes", [postgres.MODES, mysql.MODES])
def test_the_modes_of_a_catalog_reader_can_be_set(modes: Mapping[str, str]) -> None:
    assert modes.keys() <= HANDLING_MODES.keys()
    assert all(mode in HANDLING_MODES[name] for name, mode in modes.items())


@every_dialect
def test_a_dialect_goes_to_the_executors(dialect: Dialect) -> None:
    found = pickle.loads(pickle.dumps(dialect))

    assert found == dialect
    places = ASCENDING[dialect.name]
    assert positions(found, places) == positions(dialect, places)
