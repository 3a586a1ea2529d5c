"""Real servers as local processes, for the demo and the tests."""

import logging
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

from cdc.downloads.cache import Cache, cache_folder
from cdc.downloads.processes import Processes
from cdc.downloads.progress import Progress
from cdc.errors import SandboxClosedError
from cdc.sandbox.connect import Connect
from cdc.sandbox.endpoints import (
    ConnectEndpoint,
    KafkaEndpoint,
    MariadbEndpoint,
    MysqlEndpoint,
    PostgresEndpoint,
    RegistryEndpoint,
)
from cdc.sandbox.kafka import Kafka
from cdc.sandbox.mariadb import Mariadb
from cdc.sandbox.mysql import Mysql
from cdc.sandbox.postgres import Postgres
from cdc.sandbox.registry import Registry
from cdc.sandbox.server import Bench, Server, open_to_others

logger = logging.getLogger(__name__)


class Service(Enum):
    """A server that a sandbox can run."""

    POSTGRES = "postgres"
    KAFKA = "kafka"
    CONNECT = "connect"
    REGISTRY = "registry"
    MARIADB = "mariadb"
    MYSQL = "mysql"


_NEEDS = {Service.CONNECT: Service.KAFKA}

# What a service adds to Connect, which reads its plugins only when it starts. Who uses one of the
# two databases often uses the other too: both connectors at once spare a restart.
_BINLOG_PLUGINS = ("debezium-mariadb", "debezium-mysql")
_PLUGINS = {
    Service.MARIADB: _BINLOG_PLUGINS,
    Service.MYSQL: _BINLOG_PLUGINS,
    Service.REGISTRY: ("avro-converter",),
}


class Sandbox:
    """PostgreSQL, MariaDB, MySQL, Kafka, Connect with Debezium and a schema registry, right here.

    A context manager. Only what is asked for is started, on free ports of the loopback interface;
    the first start of a server downloads it into the user's cache. When the sandbox is closed, or
    the program ends in any way, all its processes end and its data is removed.

    Args:
        progress: Receives short lines about downloads and starts, from several threads.
        folder: Where the scratch folder is made; by default the system's folder for such.
        partitions: The partitions of a topic that is created by its first message.
    """

    def __init__(
        self,
        *,
        progress: Progress = logger.info,
        folder: Path | None = None,
        partitions: int = 1,
    ) -> None:
        self._processes = Processes(folder or _scratch_parent())
        self._bench = Bench(
            processes=self._processes,
            cache=Cache(
                cache_folder() / "sandbox",
                check_cancelled=self._processes.check_cancelled,
                progress=progress,
            ),
            progress=progress,
        )
        self._postgres = Postgres(self._bench)
        self._kafka = Kafka(self._bench, partitions=partitions)
        self._connect = Connect(self._bench, self._kafka.endpoint)
        self._registry = Registry(self._bench)
        self._mariadb = Mariadb(self._bench)
        self._mysql = Mysql(self._bench)
        self._started: set[Service] = set()
        self._servers: dict[Service, Server] = {
            Service.POSTGRES: self._postgres,
            Service.KAFKA: self._kafka,
            Service.CONNECT: self._connect,
            Service.REGISTRY: self._registry,
            Service.MARIADB: self._mariadb,
            Service.MYSQL: self._mysql,
        }

    def start(self, *services: Service) -> None:
        """Download and start servers, and those they need, at the same time. Safe to repeat.

        A running Connect restarts if one of them brings a plugin that it does not have.

        Raises:
            DownloadError: A server is neither cached nor reachable.
            ServerUnavailableError: The same of MySQL, which not every machine can have.
            ServerStartError: A server ended or did not answer; those still starting are killed.
        """
        self._processes.check_cancelled()
        wanted = {*services, *(_NEEDS[service] for service in services if service in _NEEDS)}
        plugins = [name for service in wanted for name in _PLUGINS.get(service, ())]
        if self._connect.pid is not None and self._connect.lacks(*plugins):
            # First, so that a server which cannot be had does not cost the running Connect.
            _in_parallel([server.fetch for server in self._resting(wanted)], self._processes)
            self._connect.stop()
            wanted.add(Service.CONNECT)
        self._connect.add_plugins(*plugins)
        _in_parallel([server.bring_up for server in self._resting(wanted)], self._processes)
        self._started |= wanted

    @property
    def postgres(self) -> PostgresEndpoint:
        """PostgreSQL, started on first use."""
        self._start_once(Service.POSTGRES)
        return self._postgres.endpoint

    @property
    def kafka(self) -> KafkaEndpoint:
        """Kafka, started on first use."""
        self._start_once(Service.KAFKA)
        return self._kafka.endpoint

    @property
    def connect(self) -> ConnectEndpoint:
        """Kafka Connect, started on first use together with Kafka."""
        self._start_once(Service.CONNECT)
        return self._connect.endpoint

    @property
    def registry(self) -> RegistryEndpoint:
        """The schema registry, started on first use."""
        self._start_once(Service.REGISTRY)
        return self._registry.endpoint

    @property
    def mariadb(self) -> MariadbEndpoint:
        """MariaDB, started on first use."""
        self._start_once(Service.MARIADB)
        return self._mariadb.endpoint

    @property
    def mysql(self) -> MysqlEndpoint:
        """MySQL, started on first use."""
        self._start_once(Service.MYSQL)
        return self._mysql.endpoint

    def stop(self, service: Service) -> None:
        """End a server in its own way; its port and data stay reserved. Safe to repeat."""
        self._servers[service].stop()

    def kill(self, service: Service) -> None:
        """End a server as a crash would; its port and data stay reserved. Safe to repeat."""
        self._servers[service].kill()

    def restart(self, service: Service) -> None:
        """Start a server again, with the same port and data, stopping it first if it runs."""
        self.stop(service)
        self.start(service)

    def pid(self, service: Service) -> int | None:
        """Return the process id of a server, or None while it does not run."""
        return self._servers[service].pid

    def log(self, service: Service) -> Path:
        """Return the file that holds all a server printed; it vanishes with the sandbox."""
        return self._servers[service].log

    @property
    def scratch(self) -> Path:
        """The folder of all data and logs; it vanishes with the sandbox."""
        return self._processes.scratch

    @property
    def guard_pid(self) -> int:
        """The process id of the guard, the ancestor of every process of the sandbox."""
        return self._processes.guard_pid

    def close(self) -> None:
        """End every process and remove all data. Safe to repeat."""
        self._processes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _resting(self, services: set[Service]) -> list[Server]:
        return [self._servers[service] for service in services if self.pid(service) is None]

    def _start_once(self, service: Service) -> None:
        # Not `start`: an endpoint that is looked up must not revive a server that a test killed.
        if service not in self._started:
            self.start(service)


def _in_parallel(tasks: list[Callable[[], None]], processes: Processes) -> None:
    """Do all tasks at once; the first failure ends the attempts of the others."""
    if not tasks:
        return
    try:
        with ThreadPoolExecutor(len(tasks)) as pool:
            attempts: list[Future[None]] = [pool.submit(task) for task in tasks]
            try:
                wait(attempts, return_when=FIRST_EXCEPTION)
            finally:
                # Also after a Ctrl-C: the pool waits for its threads, so these must not wait long.
                if not all(attempt.done() for attempt in attempts):
                    processes.cancel()
    finally:
        processes.resume()
    failures = [attempt.exception() for attempt in attempts if attempt.exception() is not None]
    for failure in sorted(failures, key=lambda error: isinstance(error, SandboxClosedError)):
        if failure is not None:
            raise failure


def _scratch_parent() -> Path:
    """Return a folder for temporary files which servers that run as another user can enter."""
    usual = Path(tempfile.gettempdir())
    if os.geteuid() != 0:
        return usual
    candidates = [usual, Path("/var/tmp"), Path("/tmp")]
    return next((path for path in candidates if path.is_dir() and open_to_others(path)), usual)
