"""The sandbox: real servers, reached as promised, and gone afterwards."""

import json
import os
import signal
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from confluent_kafka import Consumer, Message

from cdc.dialect import ConnectorRequest
from cdc.errors import ConnectorFailedError, DownloadError, ServerUnavailableError
from cdc.sandbox import MysqlEndpoint, PostgresEndpoint, Sandbox, Service
from cdc.sandbox.endpoints import BinlogEndpoint
from connectors import DIALECTS
from connectors.mysql.probe import probe
from tests.patience import PATIENCE_SECONDS, wait_until

JSON = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        opened.start(*(service for service in Service if service is not Service.MYSQL))
        yield opened


@pytest.fixture(scope="module")
def mysql(sandbox: Sandbox) -> MysqlEndpoint:
    """The one server that not every machine can have."""
    try:
        return sandbox.mysql
    except ServerUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(params=["mariadb", "mysql"])
def binlog_server(sandbox: Sandbox, request: pytest.FixtureRequest) -> BinlogEndpoint:
    """MariaDB and MySQL, one after the other."""
    if request.param == "mysql":
        found: BinlogEndpoint = request.getfixturevalue("mysql")
        return found
    return sandbox.mariadb


@pytest.fixture(scope="module")
def shop(sandbox: Sandbox) -> PostgresEndpoint:
    """A PostgreSQL database with one order in it."""
    shop = sandbox.postgres.create_database("shop")
    with psycopg.connect(shop.url) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, status text)")
        connection.execute("INSERT INTO orders VALUES (1, 'new')")
    return shop


def postgres_connector(shop: PostgresEndpoint, name: str) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": shop.host,
        "database.port": str(shop.port),
        "database.user": shop.user,
        "database.password": shop.password,
        "database.dbname": shop.database,
        "topic.prefix": name,
        "plugin.name": "pgoutput",
        "slot.name": name,
        "publication.name": name,
        "publication.autocreate.mode": "filtered",
        "table.include.list": "public.orders",
        "skipped.operations": "none",
    }


def binlog_connector(sandbox: Sandbox, server: BinlogEndpoint, name: str) -> dict[str, str]:
    dialect = DIALECTS["mysql" if isinstance(server, MysqlEndpoint) else "mariadb"]
    request = ConnectorRequest(
        name=name,
        topic_prefix=name,
        hostname=server.host,
        port=server.port,
        user=server.user,
        password=server.password,
        database="shop",
        tables=("shop.orders",),
        bootstrap_servers=sandbox.kafka.bootstrap_servers,
    )
    # The server of MariaDB has no certificate; that of MySQL refuses a password in the clear.
    plain = {} if isinstance(server, MysqlEndpoint) else {"database.ssl.mode": "disable"}
    return dialect.connector_config(request) | plain


def read(sandbox: Sandbox, topic: str, count: int) -> list[Message]:
    """Read a topic from its beginning until enough messages came."""
    consumer = Consumer(
        {
            "bootstrap.servers": sandbox.kafka.bootstrap_servers,
            "group.id": f"test-{topic}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "topic.metadata.refresh.interval.ms": 200,
        }
    )
    consumer.subscribe([topic])
    messages: list[Message] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(messages) < count and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and not message.error():
            messages.append(message)
    consumer.close()
    return messages


def rows(messages: list[Message]) -> list[tuple[str, Any]]:
    """Return the operation and the row after it, of each change."""
    changes = [json.loads(message.value() or b"") for message in messages]
    return [(change["op"], change["after"]) for change in changes]


def listening_addresses(pid: int) -> set[str]:
    """Return the local addresses, as the kernel writes them, on which a process accepts."""
    inodes = {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()}
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return {
        line[1].partition(":")[0]
        for line in lines
        if line[3] == "0A" and f"socket:[{line[9]}]" in inodes
    }


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def family_of(pid: int) -> list[int]:
    family = [pid]
    for member in family:
        listed = Path(f"/proc/{member}/task/{member}/children").read_text()
        family += [int(child) for child in listed.split()]
    return family


def test_snapshot_and_update_of_postgres_arrive_as_json(
    sandbox: Sandbox, shop: PostgresEndpoint
) -> None:
    sandbox.connect.register("pg_json", postgres_connector(shop, "pg_json") | JSON)
    snapshot = read(sandbox, "pg_json.public.orders", 1)
    with psycopg.connect(shop.url) as connection:
        connection.execute("UPDATE orders SET status = 'paid' WHERE id = 1")

    changes = rows(read(sandbox, "pg_json.public.orders", 2))

    assert len(snapshot) == 1
    assert changes == [("r", {"id": 1, "status": "new"}), ("u", {"id": 1, "status": "paid"})]


def test_every_kind_of_change_of_a_binlog_database_arrives_as_json(
    sandbox: Sandbox, binlog_server: BinlogEndpoint
) -> None:
    name = f"{type(binlog_server).__name__.lower()}_json"
    with pymysql.connect(
        host=binlog_server.host,
        port=binlog_server.port,
        user=binlog_server.user,
        password=binlog_server.password,
        autocommit=True,
    ) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE TABLE shop.orders (id int PRIMARY KEY, status varchar(9))")
        cursor.execute("INSERT INTO shop.orders VALUES (1, 'new')")

        sandbox.connect.register(name, binlog_connector(sandbox, binlog_server, name) | JSON)
        snapshot = read(sandbox, f"{name}.shop.orders", 1)
        cursor.execute("INSERT INTO shop.orders VALUES (2, 'new')")
        cursor.execute("UPDATE shop.orders SET status = 'paid' WHERE id = 1")
        cursor.execute("DELETE FROM shop.orders WHERE id = 2")
        cursor.execute("TRUNCATE shop.orders")

    changes = read(sandbox, f"{name}.shop.orders", 6)  # one of them the tombstone of the delete

    assert len(snapshot) == 1
    assert rows([message for message in changes if message.value() is not None]) == [
        ("r", {"id": 1, "status": "new"}),
        ("c", {"id": 2, "status": "new"}),
        ("u", {"id": 1, "status": "paid"}),
        ("d", None),
        ("t", None),
    ]


def test_avro_message_carries_the_id_of_a_schema_in_the_registry(
    sandbox: Sandbox, shop: PostgresEndpoint
) -> None:
    avro = sandbox.registry.avro_converter()
    sandbox.connect.register("pg_avro", postgres_connector(shop, "pg_avro") | avro)

    (message,) = read(sandbox, "pg_avro.public.orders", 1)

    magic, schema_id = struct.unpack(">bI", (message.value() or b"")[:5])
    with urllib.request.urlopen(f"{sandbox.registry.url}/schemas/ids/{schema_id}") as reply:
        schema = json.loads(json.load(reply)["schema"])
    assert magic == 0
    assert schema["name"] == "Envelope"
    assert schema["namespace"] == "pg_avro.public.orders"


def test_wrong_password_of_postgres_is_refused(sandbox: Sandbox) -> None:
    right = sandbox.postgres

    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(host=right.host, port=right.port, user=right.user, password="wrong")


def test_wrong_password_of_a_binlog_server_is_refused(binlog_server: BinlogEndpoint) -> None:
    host, port = binlog_server.host, binlog_server.port

    for user in (binlog_server.user, "root", ""):
        with pytest.raises(pymysql.OperationalError, match="Access denied"):
            pymysql.connect(host=host, port=port, user=user, password="wrong")


def test_mysql_is_found_fit_to_be_a_source(mysql: MysqlEndpoint) -> None:
    assert probe(mysql.url).endswith("row-based binary log")


def test_connector_that_cannot_log_in_is_refused_with_the_reason(
    sandbox: Sandbox, shop: PostgresEndpoint
) -> None:
    config = postgres_connector(shop, "refused") | JSON | {"database.password": "wrong"}

    with pytest.raises(ConnectorFailedError) as caught:
        sandbox.connect.register("refused", config)

    assert caught.value.connector == "refused"
    assert "password" in caught.value.reason


def test_deleted_connector_is_gone(sandbox: Sandbox, shop: PostgresEndpoint) -> None:
    sandbox.connect.register("deleted", postgres_connector(shop, "deleted") | JSON)

    sandbox.connect.delete("deleted")

    assert sandbox.connect.status("deleted") == {}


@pytest.mark.parametrize("service", list(Service))
def test_server_listens_on_the_loopback_interface_alone(
    sandbox: Sandbox, service: Service, request: pytest.FixtureRequest
) -> None:
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}  # IPv4, and the same as IPv6
    if service is Service.MYSQL:
        request.getfixturevalue("mysql")

    pid = sandbox.pid(service)

    assert pid is not None
    addresses = listening_addresses(pid)
    assert addresses
    assert addresses <= loopback


def test_killed_postgres_stays_dead_until_started_and_keeps_port_and_rows(
    sandbox: Sandbox,
) -> None:
    endpoint = sandbox.postgres.create_database("kept")
    with psycopg.connect(endpoint.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")

    sandbox.kill(Service.POSTGRES)
    alive_after_kill = sandbox.postgres.answers()
    sandbox.start(Service.POSTGRES)

    assert not alive_after_kill
    with psycopg.connect(endpoint.url) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchall() == [(42,)]


def test_restarted_kafka_keeps_port_and_messages(sandbox: Sandbox, shop: PostgresEndpoint) -> None:
    before = read(sandbox, "_connect_config", 1)

    sandbox.restart(Service.KAFKA)

    after = read(sandbox, "_connect_config", 1)
    assert before[0].value() == after[0].value()


def test_database_asked_for_later_gives_connect_its_connector() -> None:
    def plugins(sandbox: Sandbox) -> bytes:
        with urllib.request.urlopen(f"{sandbox.connect.url}/connector-plugins") as reply:
            return bytes(reply.read())

    with Sandbox() as sandbox:
        before = plugins(sandbox)
        sandbox.start(Service.MARIADB)
        after = plugins(sandbox)

    assert b"PostgresConnector" in before
    assert b"MariaDbConnector" not in before
    assert b"MariaDbConnector" in after


def test_mysql_that_cannot_be_had_leaves_connect_running(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise DownloadError("MySQL", "no network")

    monkeypatch.setattr("cdc.sandbox.mysql.fetch_unstable", fail)
    with Sandbox() as sandbox:
        sandbox.start(Service.CONNECT)
        before = sandbox.pid(Service.CONNECT)

        with pytest.raises(ServerUnavailableError):
            sandbox.start(Service.MYSQL)

        assert sandbox.pid(Service.CONNECT) == before


SANDBOX_PROGRAM = """
import sys, time
from cdc.sandbox import Sandbox, Service

with Sandbox() as sandbox:
    sandbox.start(Service.POSTGRES, Service.KAFKA)
    try:
        print(sandbox.guard_pid, sandbox.scratch, flush=True)
        time.sleep(600)
    finally:
        print(sandbox.postgres.answers(), flush=True)
"""


@pytest.mark.parametrize(
    ("number", "last_words"), [(signal.SIGKILL, ""), (signal.SIGINT, "True\n")]
)
def test_no_process_and_no_file_remains_of_a_program_that_was_ended(
    number: signal.Signals, last_words: str
) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", SANDBOX_PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    guard, scratch = program.stdout.readline().split()
    family = family_of(int(guard))
    assert len(family) > 5  # the guard, the broker, PostgreSQL and its workers

    os.killpg(program.pid, number)  # as a terminal does it, to the whole group
    said = program.communicate(timeout=PATIENCE_SECONDS)[0]

    wait_until(lambda: not any(map(is_alive, family)))
    assert [pid for pid in family if is_alive(pid)] == []
    assert not Path(scratch).exists()
    assert said == last_words  # after a Ctrl-C the servers still serve the program's own clean-up
