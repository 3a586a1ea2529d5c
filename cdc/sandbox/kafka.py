"""Kafka: one broker that is its own controller, from the jars of a Java registry."""

import shutil
import signal
from pathlib import Path

from cdc.downloads.jars import read_lock
from cdc.downloads.java import find_java
from cdc.downloads.processes import Command
from cdc.sandbox.endpoints import KafkaEndpoint
from cdc.sandbox.ports import LOOPBACK, free_ports
from cdc.sandbox.server import Bench, Server, server_environment

_CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"

_LOGGING = """\
status=error
rootLogger.level=INFO
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d] %p %m (%c{1})%n
logger.config.name=org.apache.kafka.common.config
logger.config.level=WARN
"""


def fetch_kafka(bench: Bench) -> Path:
    """Return the folder with the jars of both the broker and Connect."""
    return bench.fetch("Kafka and Kafka Connect", read_lock("kafka"))


def java_command(server: Server, jars: Path, main_class: str, *arguments: Path | str) -> Command:
    """Run a program of Kafka with a small, quickly started JVM."""
    logging = server.folder / "log4j2.properties"
    logging.write_text(_LOGGING)
    return Command(
        argv=[
            *(find_java(), "-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            # Neither a file in /tmp for the JVM's counters nor one for each native library.
            *("-XX:-UsePerfData", f"-Djava.io.tmpdir={server.folder}"),
            f"-Dlog4j2.configurationFile={logging}",
            *("-cp", f"{jars}/*", main_class, *arguments),
        ],
        log=server.log,
        cwd=server.folder,
        env=server_environment(server.folder),
        close_signal=signal.SIGKILL,  # an orderly end takes seconds and would save nothing
    )


def properties(settings: dict[str, str]) -> str:
    """Render a Java properties file."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())


class Kafka(Server):
    """A Kafka cluster of one node."""

    title = "Kafka"

    def __init__(self, bench: Bench, *, partitions: int) -> None:
        super().__init__(bench)
        self._port, self._controller_port = free_ports(2)
        self._partitions = partitions
        self._jars = Path()
        self.endpoint = KafkaEndpoint(bootstrap_servers=f"{LOOPBACK}:{self._port}")

    def fetch(self) -> None:
        """Fetch the jars and format an empty log folder, the same for every sandbox."""
        self._jars = fetch_kafka(self.bench)

    def prepare(self) -> None:
        """Write the config and format the log folder."""
        (self.folder / "server.properties").write_text(properties(self._settings()))
        formatted = self.bench.cache.entry(f"formatted-{self._jars.name}", self._format)
        shutil.copytree(formatted, self.folder / "data")

    def command(self) -> Command:
        """Run broker and controller in one process."""
        return java_command(self, self._jars, "kafka.Kafka", self.folder / "server.properties")

    def is_ready(self) -> bool:
        """Look for the line that the broker logs once it serves."""
        return "Kafka Server started" in self.log_since_start()

    def _format(self, folder: Path) -> None:
        """Format a log folder; its content depends on nothing but the version, so it is kept."""
        settings = self.folder / "format.properties"
        settings.write_text(properties({**self._settings(), "log.dirs": str(folder)}))
        arguments = ("format", "--cluster-id", _CLUSTER_ID, "--config", settings)
        self.run_tool(java_command(self, self._jars, "kafka.tools.StorageTool", *arguments))

    def _settings(self) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{LOOPBACK}:{self._controller_port}",
            "listeners": (
                f"PLAINTEXT://{LOOPBACK}:{self._port},"
                f"CONTROLLER://{LOOPBACK}:{self._controller_port}"
            ),
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.folder / "data"),
            "num.partitions": str(self._partitions),
            "auto.create.topics.enable": "true",
            "log.retention.ms": "-1",
            "log.cleaner.dedupe.buffer.size": "16777216",
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
        }
