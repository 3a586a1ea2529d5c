"""The schema registry: Apicurio, which also speaks Confluent's interface."""

import signal
from pathlib import Path

from cdc.downloads.jars import read_lock, unpack_archive
from cdc.downloads.java import find_registry_java
from cdc.downloads.processes import Command
from cdc.sandbox.endpoints import RegistryEndpoint
from cdc.sandbox.ports import LOOPBACK, free_ports
from cdc.sandbox.server import Bench, Server, server_environment


class Registry(Server):
    """A schema registry that keeps its schemas in one file."""

    title = "Schema registry"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._port, self._management_port = free_ports(2)
        self._program = Path()
        self.endpoint = RegistryEndpoint(root=f"http://{LOOPBACK}:{self._port}")

    def fetch(self) -> None:
        """Fetch the registry and find a Java that runs it."""
        find_registry_java()
        folder = self.bench.fetch("the schema registry", read_lock("registry"), unpack_archive)
        self._program = folder / "quarkus-run.jar"

    def prepare(self) -> None:
        """Nothing to do: the registry makes its file itself."""

    def command(self) -> Command:
        """Run the registry with both its ports on the loopback interface."""
        return Command(
            argv=[
                *(find_registry_java(), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                *("-XX:-UsePerfData", f"-Djava.io.tmpdir={self.folder}"),
                *(f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={self._port}"),
                # Open on all interfaces unless told otherwise.
                f"-Dquarkus.management.host={LOOPBACK}",
                f"-Dquarkus.management.port={self._management_port}",
                # Written at once, so that a killed registry still knows every schema it gave an id.
                f"-Dapicurio.datasource.url=jdbc:h2:file:{self.folder}/schemas;WRITE_DELAY=0",
                # Each connection costs time at start; by default there are twenty.
                *(f"-Dapicurio.datasource.jdbc.{size}-size=2" for size in ("initial", "min")),
                f"-Dapicurio.storage.snapshot.location={self.folder}",
                *("-jar", self._program),
            ],
            log=self.log,
            cwd=self.folder,
            env=server_environment(self.folder),
            close_signal=signal.SIGKILL,
        )

    def is_ready(self) -> bool:
        """Ask the registry for its subjects."""
        return self.endpoint.answers()
