"""Where the servers of a sandbox are reached, and the little one does with them there."""

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from cdc.errors import ConnectorFailedError

# Servers on the loopback interface are never behind the proxy that the environment may name.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresEndpoint:
    """A PostgreSQL server with logical decoding, and a superuser's login to a database of it."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str = "postgres"

    @property
    def url(self) -> str:
        """The address with the login, as libpq and SQLAlchemy read it."""
        return _url("postgresql", self)

    def answers(self) -> bool:
        """Say whether the login works."""
        import psycopg  # here: this module is loaded by programs that never use it

        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def create_database(self, name: str) -> "PostgresEndpoint":
        """Create a database and return the endpoint that leads into it. Fails if it exists."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return replace(self, database=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinlogEndpoint:
    """A server with a row-based binlog, and the login of a user with all privileges."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str = ""

    @property
    def url(self) -> str:
        """The address with the login."""
        return _url("mysql", self)

    def answers(self) -> bool:
        """Say whether the login works."""
        import pymysql

        try:
            pymysql.connect(
                host=self.host,
                port=self.port,
                user=self.user,
                password=self.password,
                connect_timeout=5,
            ).close()
        except pymysql.OperationalError:
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class MariadbEndpoint(BinlogEndpoint):
    """A MariaDB server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlEndpoint(BinlogEndpoint):
    """A MySQL server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaEndpoint:
    """A Kafka cluster of one broker, without authentication."""

    bootstrap_servers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEndpoint:
    """A schema registry: `url` is its Confluent-compatible interface."""

    root: str

    @property
    def url(self) -> str:
        """The Confluent-compatible interface."""
        return f"{self.root}/apis/ccompat/v7"

    def answers(self) -> bool:
        """Say whether the registry lists its subjects."""
        return _answers(f"{self.url}/subjects")

    def avro_converter(self) -> dict[str, str]:
        """Return the connector settings for Avro in Confluent's wire format.

        A zero byte and the four bytes of the schema id precede each message, and the id is the one
        under which `url` knows the schema.
        """
        settings = {"schema.name.adjustment.mode": "avro", "field.name.adjustment.mode": "avro"}
        for side in ("key", "value"):
            option = f"{side}.converter.apicurio.registry"
            settings |= {
                f"{side}.converter": "io.apicurio.registry.utils.converter.AvroConverter",
                f"{option}.url": f"{self.root}/apis/registry/v2",
                f"{option}.auto-register": "true",
                f"{option}.if-exists": "RETURN_OR_UPDATE",
                f"{option}.find-latest": "false",
                f"{option}.as-confluent": "true",
                f"{option}.use-id": "contentId",  # the id that /schemas/ids/{id} expects
                f"{option}.headers.enabled": "false",
            }
        return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectEndpoint:
    """A Kafka Connect worker with the Debezium connectors."""

    url: str

    def answers(self) -> bool:
        """Say whether the worker lists its connectors: only once it has joined its group."""
        return _answers(f"{self.url}/connectors")

    def register(self, name: str, config: dict[str, str], *, timeout: float = 240.0) -> None:
        """Create or change a connector and wait until its tasks run. Safe to repeat.

        Raises:
            ConnectorFailedError: Connect refused the config, a task failed, or the time was over.
        """
        deadline = time.monotonic() + timeout
        status, answer = self._call("PUT", f"/connectors/{quote(name)}/config", config)
        # A worker that is still joining its group answers "conflict": the one refusal that passes.
        while status == HTTPStatus.CONFLICT and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            status, answer = self._call("PUT", f"/connectors/{quote(name)}/config", config)
        if status >= HTTPStatus.BAD_REQUEST:
            refusal = self._refusal(name, config) or str(answer.get("message", answer))
            raise ConnectorFailedError(name, refusal)
        while not self._runs(name):
            if time.monotonic() > deadline:
                raise ConnectorFailedError(name, f"no running task after {timeout:.0f} s")
            time.sleep(_POLL_SECONDS)

    def status(self, name: str) -> dict[str, Any]:
        """Return what Connect says about a connector and its tasks; empty if it knows none."""
        status, answer = self._call("GET", f"/connectors/{quote(name)}/status")
        return answer if status == HTTPStatus.OK else {}

    def delete(self, name: str) -> None:
        """Remove a connector and wait until it is gone. Safe to repeat."""
        self._call("DELETE", f"/connectors/{quote(name)}")
        while self.status(name):
            time.sleep(_POLL_SECONDS)

    def _refusal(self, name: str, config: dict[str, str]) -> str:
        """Ask what is wrong with a config; the refusal itself may only tell of a null pointer."""
        plugin = quote(config.get("connector.class", ""))
        _, answer = self._call(
            "PUT", f"/connector-plugins/{plugin}/config/validate", {**config, "name": name}
        )
        values = [setting["value"] or {} for setting in answer.get("configs", ())]
        return "; ".join(error for value in values for error in value.get("errors", ()))

    def _runs(self, name: str) -> bool:
        status = self.status(name)
        parts = [status["connector"], *status["tasks"]] if status else []
        for part in parts:
            if part["state"] == "FAILED":
                raise ConnectorFailedError(name, str(part.get("trace", "no reason given")))
        return len(parts) > 1 and all(part["state"] == "RUNNING" for part in parts)

    def _call(
        self, method: str, path: str, body: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with _direct.open(request, timeout=90) as reply:
                status, content = reply.status, reply.read()
        except urllib.error.HTTPError as error:
            with error:
                status, content = error.code, error.read()
        return status, json.loads(content or b"{}")


def _answers(url: str) -> bool:
    try:
        with _direct.open(url, timeout=5) as reply:
            return bool(reply.status == HTTPStatus.OK)
    except OSError:  # urllib's errors are among them
        return False


def _url(scheme: str, endpoint: PostgresEndpoint | BinlogEndpoint) -> str:
    login = f"{quote(endpoint.user, safe='')}:{quote(endpoint.password, safe='')}"
    return f"{scheme}://{login}@{endpoint.host}:{endpoint.port}/{quote(endpoint.database, safe='')}"
