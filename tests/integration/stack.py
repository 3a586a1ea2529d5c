"""The servers of the integration tests: containers where a Docker engine answers, else a sandbox.

Both give the same endpoints. The containers share the network of this machine, so an address that
holds for a test holds for Kafka Connect too, and listen on free ports of the loopback interface.
"""

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from testcontainers.core.container import DockerContainer

from cdc.sandbox import (
    ConnectEndpoint,
    KafkaEndpoint,
    MariadbEndpoint,
    MysqlEndpoint,
    PostgresEndpoint,
    RegistryEndpoint,
    Sandbox,
    Service,
)
from cdc.sandbox.mariadb import SERVER_OPTIONS as MARIADB_OPTIONS
from cdc.sandbox.mysql import SERVER_OPTIONS as MYSQL_OPTIONS
from cdc.sandbox.ports import LOOPBACK, free_ports
from tests.patience import PATIENCE_SECONDS

POSTGRES_IMAGE = "postgres:17"
KAFKA_IMAGE = "apache/kafka:4.3.1"
CONNECT_IMAGE = "quay.io/debezium/connect:3.6.1.Final"
REGISTRY_IMAGE = "apicurio/apicurio-registry:3.3.3"
MARIADB_IMAGE = "mariadb:10.11"
MYSQL_IMAGE = "mysql:9"

PASSWORD = "integration"

Progress = Callable[[str], None]


class Stack(Protocol):
    """What a test may do with the servers; a Sandbox can do it too."""

    def start(self, *services: Service) -> None: ...

    def stop(self, service: Service) -> None: ...

    def kill(self, service: Service) -> None: ...

    def restart(self, service: Service) -> None: ...

    def close(self) -> None: ...

    @property
    def postgres(self) -> PostgresEndpoint: ...

    @property
    def kafka(self) -> KafkaEndpoint: ...

    @property
    def connect(self) -> ConnectEndpoint: ...

    @property
    def registry(self) -> RegistryEndpoint: ...

    @property
    def mariadb(self) -> MariadbEndpoint: ...

    @property
    def mysql(self) -> MysqlEndpoint: ...


@contextmanager
def open_stack(progress: Progress) -> Iterator[Stack]:
    """Yield servers that start on first use and are gone afterwards."""
    stack: Stack = ContainerStack(progress) if docker_answers() else Sandbox(progress=progress)
    try:
        yield stack
    finally:
        stack.close()


def docker_answers() -> bool:
    """Say whether a Docker engine can be reached."""
    # By name: for the type checker, the project's own folder docker/ hides the library.
    docker = importlib.import_module("docker")
    try:
        with closing(docker.from_env(timeout=3)) as client:
            return bool(client.ping())
    except docker.errors.DockerException:
        return False


@dataclass(frozen=True, slots=True)
class Server:
    """A container, and how to tell that what runs in it is ready."""

    container: DockerContainer
    is_ready: Callable[[DockerContainer], bool]


class ContainerStack:
    """The same servers as a Sandbox, in containers."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        postgres, kafka, controller, connect, registry, management, mariadb, mysql = free_ports(8)
        self._postgres = PostgresEndpoint(
            host=LOOPBACK, port=postgres, user="postgres", password=PASSWORD
        )
        self._kafka = KafkaEndpoint(bootstrap_servers=f"{LOOPBACK}:{kafka}")
        self._connect = ConnectEndpoint(url=f"http://{LOOPBACK}:{connect}")
        self._registry = RegistryEndpoint(root=f"http://{LOOPBACK}:{registry}")
        self._mariadb = MariadbEndpoint(host=LOOPBACK, port=mariadb, user="root", password=PASSWORD)
        self._mysql = MysqlEndpoint(host=LOOPBACK, port=mysql, user="root", password=PASSWORD)
        self._servers = {
            Service.POSTGRES: Server(
                postgres_container(postgres), lambda _: self._postgres.answers()
            ),
            Service.KAFKA: Server(kafka_container(kafka, controller), kafka_has_started),
            Service.CONNECT: Server(
                connect_container(connect, self._kafka), lambda _: self._connect.answers()
            ),
            Service.REGISTRY: Server(
                registry_container(registry, management), lambda _: self._registry.answers()
            ),
            Service.MARIADB: Server(mariadb_container(mariadb), lambda _: self._mariadb.answers()),
            Service.MYSQL: Server(mysql_container(mysql), lambda _: self._mysql.answers()),
        }
        self._created: list[Service] = []

    def start(self, *services: Service) -> None:
        wanted = {*services} | ({Service.KAFKA} if Service.CONNECT in services else set())
        for service in Service:  # Kafka comes before Connect
            if service in wanted and service not in self._created:
                self._progress(f"starting {service.value} in a container ...")
                self._created.append(service)
                self._servers[service].container.start()
                self._wait_until_ready(service)
            elif service in wanted:
                self._servers[service].container.get_wrapped_container().start()
                self._wait_until_ready(service)

    def stop(self, service: Service) -> None:
        self._servers[service].container.get_wrapped_container().stop()

    def kill(self, service: Service) -> None:
        self._servers[service].container.get_wrapped_container().kill()

    def restart(self, service: Service) -> None:
        self.stop(service)
        self.start(service)

    def close(self) -> None:
        for service in reversed(self._created):
            self._servers[service].container.stop()
        self._created.clear()

    @property
    def postgres(self) -> PostgresEndpoint:
        self._start_once(Service.POSTGRES)
        return self._postgres

    @property
    def kafka(self) -> KafkaEndpoint:
        self._start_once(Service.KAFKA)
        return self._kafka

    @property
    def connect(self) -> ConnectEndpoint:
        self._start_once(Service.CONNECT)
        return self._connect

    @property
    def registry(self) -> RegistryEndpoint:
        self._start_once(Service.REGISTRY)
        return self._registry

    @property
    def mariadb(self) -> MariadbEndpoint:
        self._start_once(Service.MARIADB)
        return self._mariadb

    @property
    def mysql(self) -> MysqlEndpoint:
        self._start_once(Service.MYSQL)
        return self._mysql

    def _start_once(self, service: Service) -> None:
        if service not in self._created:
            self.start(service)

    def _wait_until_ready(self, service: Service) -> None:
        server = self._servers[service]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not server.is_ready(server.container):
            if time.monotonic() > deadline:
                log = b"".join(server.container.get_logs()).decode(errors="replace")
                raise TimeoutError(f"{service.value} did not start:\n{log[-4000:]}")
            time.sleep(0.2)


def on_this_network(container: DockerContainer) -> DockerContainer:
    """Give a container the network of this machine.

    As `network`, not `network_mode`: testcontainers adds a network of its own unless this is set.
    """
    return container.with_kwargs(network="host")


def postgres_container(port: int) -> DockerContainer:
    settings = (
        *("wal_level=logical", "max_wal_senders=50", "max_replication_slots=50"),
        *(f"listen_addresses={LOOPBACK}", "timezone=UTC", "fsync=off"),
    )
    options = [word for setting in settings for word in ("-c", setting)]
    container = DockerContainer(POSTGRES_IMAGE).with_envs(
        POSTGRES_PASSWORD=PASSWORD,
        # The image trusts every login from the loopback interface otherwise.
        POSTGRES_INITDB_ARGS="--auth-host=scram-sha-256",
    )
    return on_this_network(container.with_command(["postgres", "-p", str(port), *options]))


def kafka_container(port: int, controller_port: int) -> DockerContainer:
    return on_this_network(
        DockerContainer(KAFKA_IMAGE).with_envs(
            KAFKA_NODE_ID="1",
            KAFKA_PROCESS_ROLES="broker,controller",
            KAFKA_CONTROLLER_QUORUM_VOTERS=f"1@{LOOPBACK}:{controller_port}",
            KAFKA_LISTENERS=(
                f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}"
            ),
            KAFKA_ADVERTISED_LISTENERS=f"PLAINTEXT://{LOOPBACK}:{port}",
            KAFKA_CONTROLLER_LISTENER_NAMES="CONTROLLER",
            KAFKA_LISTENER_SECURITY_PROTOCOL_MAP="PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR="1",
            KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR="1",
            KAFKA_TRANSACTION_STATE_LOG_MIN_ISR="1",
            KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS="0",
            KAFKA_LOG_RETENTION_MS="-1",
        )
    )


def kafka_has_started(container: DockerContainer) -> bool:
    wrapped = container.get_wrapped_container()
    wrapped.reload()
    # Docker gives UTC with nanoseconds, and takes a time without a zone as UTC.
    started = datetime.fromisoformat(wrapped.attrs["State"]["StartedAt"][:19])
    return b"Kafka Server started" in wrapped.logs(since=started)


def connect_container(port: int, kafka: KafkaEndpoint) -> DockerContainer:
    return on_this_network(
        DockerContainer(CONNECT_IMAGE).with_envs(
            BOOTSTRAP_SERVERS=kafka.bootstrap_servers,
            GROUP_ID="connect",
            CONFIG_STORAGE_TOPIC="_connect_config",
            OFFSET_STORAGE_TOPIC="_connect_offset",
            STATUS_STORAGE_TOPIC="_connect_status",
            OFFSET_FLUSH_INTERVAL_MS="1000",
            HOST_NAME=LOOPBACK,
            ADVERTISED_PORT=str(port),
            CONNECT_LISTENERS=f"http://{LOOPBACK}:{port}",
            ENABLE_APICURIO_CONVERTERS="true",
        )
    )


def registry_container(port: int, management_port: int) -> DockerContainer:
    return on_this_network(
        DockerContainer(REGISTRY_IMAGE).with_envs(
            QUARKUS_HTTP_HOST=LOOPBACK,
            QUARKUS_HTTP_PORT=str(port),
            QUARKUS_MANAGEMENT_HOST=LOOPBACK,
            QUARKUS_MANAGEMENT_PORT=str(management_port),
        )
    )


def mariadb_container(port: int) -> DockerContainer:
    container = DockerContainer(MARIADB_IMAGE).with_envs(MARIADB_ROOT_PASSWORD=PASSWORD)
    return on_this_network(
        container.with_command([f"--port={port}", f"--bind-address={LOOPBACK}", *MARIADB_OPTIONS])
    )


def mysql_container(port: int) -> DockerContainer:
    container = DockerContainer(MYSQL_IMAGE).with_envs(MYSQL_ROOT_PASSWORD=PASSWORD)
    return on_this_network(
        container.with_command([f"--port={port}", f"--bind-address={LOOPBACK}", *MYSQL_OPTIONS])
    )
