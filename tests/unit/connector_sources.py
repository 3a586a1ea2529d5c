"""The source blocks of all six databases' messages, as Debezium 3.6 lays them out.

Made from Debezium's documentation and sources, not recorded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cdc.model import SourceTable
from tests.unit.messages import Block, column

SERVER = "server1"
MOMENT = 1_559_729_468_470  # milliseconds


@dataclass(frozen=True)
class Source:
    """How one database's messages name their table and their place in its log."""

    connector: str
    schema: str
    own: tuple[Block, ...]  # the fields of the source block behind those that all databases have
    names: Mapping[str, str]  # of the source block, such as db and table
    topic: str
    table: SourceTable
    place: Callable[[int], dict[str, Any]]
    snapshot_place: dict[str, Any]


def texts(*names: str, optional: bool = True) -> tuple[Block, ...]:
    """Describe columns of text."""
    return tuple(column(name, "string", optional=optional) for name in names)


def _binary_log(connector: str) -> Source:
    return Source(
        connector=connector,
        schema=f"io.debezium.connector.{connector}.Source",
        own=(
            column("table", "string"),
            column("server_id", "int64", optional=False),
            column("gtid", "string"),
            column("file", "string", optional=False),
            column("pos", "int64", optional=False),
            column("row", "int32", optional=False),
            column("thread", "int64"),
            column("query", "string"),
        ),
        names={"db": "inventory", "table": "customers"},
        topic=f"{SERVER}.inventory.customers",
        table=SourceTable(SERVER, "inventory", "inventory", "customers"),
        place=lambda n: {"server_id": 1, "file": "binlog.000003", "pos": 154 + n, "row": 0},
        snapshot_place={"server_id": 0, "file": "binlog.000003", "pos": 154, "row": 0},
    )


SOURCES = {
    "postgres": Source(
        connector="postgresql",
        schema="io.debezium.connector.postgresql.Source",
        own=(
            *texts("schema", "table", optional=False),
            *(column(name, "int64") for name in ("txId", "lsn", "xmin")),
        ),
        names={"db": "testDB", "schema": "public", "table": "customers"},
        topic=f"{SERVER}.public.customers",
        table=SourceTable(SERVER, "testDB", "public", "customers"),
        place=lambda n: {"txId": 555, "lsn": 24_023_128 + n},
        snapshot_place={"txId": 554, "lsn": 24_023_128},
    ),
    "mysql": _binary_log("mysql"),
    "mariadb": _binary_log("mariadb"),
    "sqlserver": Source(
        connector="sqlserver",
        schema="io.debezium.connector.sqlserver.Source",
        own=(
            *texts("schema", "table", optional=False),
            *texts("change_lsn", "commit_lsn"),
            column("event_serial_no", "int64"),
        ),
        names={"db": "testDB", "schema": "dbo", "table": "customers"},
        topic=f"{SERVER}.testDB.dbo.customers",
        table=SourceTable(SERVER, "testDB", "dbo", "customers"),
        place=lambda n: {
            "change_lsn": f"00000027:{0x758 + 8 * n:08x}:0003",
            "commit_lsn": f"00000027:{0x758 + 8 * n:08x}:0005",
            "event_serial_no": 1,
        },
        snapshot_place={"commit_lsn": "00000027:00000758:0001"},
    ),
    "oracle": Source(
        connector="oracle",
        schema="io.debezium.connector.oracle.Source",
        own=(
            *texts("schema", "table", optional=False),
            *texts("txId", "scn", "commit_scn", "lcr_position", "rs_id"),
            column("ssn", "int64"),
            column("redo_thread", "int32"),
            *texts("user_name", "redo_sql", "row_id"),
            column("commit_ts_ms", "int64"),
            column("start_scn", "string"),
            column("start_ts_ms", "int64"),
            column("txSeq", "int64"),
        ),
        names={"db": "ORCLPDB1", "schema": "DEBEZIUM", "table": "CUSTOMERS"},
        topic=f"{SERVER}.DEBEZIUM.CUSTOMERS",
        table=SourceTable(SERVER, "ORCLPDB1", "DEBEZIUM", "CUSTOMERS"),
        place=lambda n: {
            "txId": "06001c0027030000",
            "scn": str(2_122_185 - n),  # those of the changes themselves interleave
            "commit_scn": str(2_122_185 + n),
            "rs_id": "001234.00012345.0124",
            "ssn": 1,
            "redo_thread": 1,
            "user_name": "user",
            "row_id": "AAASgjAAMAAAACnAAA",
            "commit_ts_ms": MOMENT,
            "start_scn": "2122100",
            "start_ts_ms": MOMENT,
            "txSeq": n,
        },
        snapshot_place={"scn": "2122185", "ssn": 0},
    ),
    "mongodb": Source(
        connector="mongodb",
        schema="io.debezium.connector.mongo.Source",
        own=(
            column("collection", "string", optional=False),
            column("ord", "int32", optional=False),
            column("lsid", "string"),
            column("txnNumber", "int64"),
            column("wallTime", "int64"),
        ),
        names={"db": "inventory", "collection": "customers"},
        topic=f"{SERVER}.inventory.customers",
        table=SourceTable(SERVER, "inventory", "inventory", "customers"),
        place=lambda n: {"ts_ms": MOMENT + n, "ord": 31, "wallTime": MOMENT + n},
        snapshot_place={"ts_ms": MOMENT, "ord": -1},
    ),
}


def source_values(source: Source, n: int, *, snapshot: bool) -> dict[str, Any]:
    """Fill the source block of the nth change."""
    fields = [block["field"] for block in source_schema(source)["fields"]]
    common = {
        "version": "3.6.1.Final",
        "connector": source.connector,
        "name": SERVER,
        "snapshot": "true" if snapshot else "false",
        **moments(MOMENT),
    }
    place = source.snapshot_place if snapshot else source.place(n)
    return dict.fromkeys(fields) | common | dict(source.names) | place


def source_schema(source: Source) -> Block:
    """Describe the source block."""
    marks = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
    snapshot = column(
        "snapshot", "string", logical="io.debezium.data.Enum", parameters={"allowed": marks}
    )
    fields = [
        *texts("version", "connector", "name", optional=False),
        column("ts_ms", "int64", optional=False),
        {**snapshot, "default": "false"},
        column("db", "string", optional=False),
        column("sequence", "string"),
        column("ts_us", "int64"),
        column("ts_ns", "int64"),
        *source.own,
    ]
    return column("source", "struct", optional=False, logical=source.schema, fields=fields)


def moments(millis: int) -> dict[str, int]:
    """Write a moment in the three units that messages have."""
    return {"ts_ms": millis, "ts_us": millis * 1_000, "ts_ns": millis * 1_000_000}
