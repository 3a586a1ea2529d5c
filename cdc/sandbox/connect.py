"""Kafka Connect with the Debezium connectors and, where asked for, the Avro converter."""

import zipfile
from pathlib import Path

from cdc.downloads.jars import read_lock, unpack_archive
from cdc.downloads.processes import Command
from cdc.sandbox.endpoints import ConnectEndpoint, KafkaEndpoint
from cdc.sandbox.kafka import fetch_kafka, java_command, properties
from cdc.sandbox.ports import LOOPBACK, free_ports
from cdc.sandbox.server import Bench, Server

_AVRO_CONVERTER = "io.apicurio.registry.utils.converter.AvroConverter"

TITLES = {
    "debezium-postgres": "Debezium for PostgreSQL",
    "debezium-mysql": "Debezium for MySQL",
    "debezium-mariadb": "Debezium for MariaDB",
    "avro-converter": "Avro converter",
}


class Connect(Server):
    """A Kafka Connect cluster of one worker."""

    title = "Kafka Connect"

    def __init__(self, bench: Bench, kafka: KafkaEndpoint) -> None:
        super().__init__(bench)
        self._port = free_ports(1)[0]
        self._kafka = kafka
        self._jars = Path()
        self._plugins = {"debezium-postgres": Path()}
        self.endpoint = ConnectEndpoint(url=f"http://{LOOPBACK}:{self._port}")

    def lacks(self, *names: str) -> bool:
        """Say whether a plugin is new, so that a running worker must restart to have it."""
        return not self._plugins.keys() >= {*names}

    def add_plugins(self, *names: str) -> None:
        """Ask for further plugins; they come with the next start."""
        self._plugins |= {name: Path() for name in names if name not in self._plugins}

    def fetch(self) -> None:
        """Fetch Connect and the plugins that were asked for."""
        for name in self._plugins:
            unpack = _add_service_manifest if name == "avro-converter" else unpack_archive
            self._plugins[name] = self.bench.fetch(TITLES[name], read_lock(name), unpack)
        self._jars = fetch_kafka(self.bench)

    def prepare(self) -> None:
        """Nothing to do: all state is in Kafka."""

    def command(self) -> Command:
        """Run a distributed worker, so that connectors survive its restart."""
        config = self.folder / "worker.properties"
        config.write_text(properties(self._settings()))
        main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
        return java_command(self, self._jars, main_class, config)

    def is_ready(self) -> bool:
        """Ask the worker for its connectors."""
        return self.endpoint.answers()

    def _settings(self) -> dict[str, str]:
        converter = "org.apache.kafka.connect.json.JsonConverter"
        storage = {
            f"{store}.storage.{name}": value
            for store in ("offset", "config", "status")
            for name, value in {
                "topic": f"_connect_{store}",
                "replication.factor": "1",
                "partitions": "1",
            }.items()
            if (store, name) != ("config", "partitions")  # always one, and not a setting
        }
        return {
            "bootstrap.servers": self._kafka.bootstrap_servers,
            "group.id": "connect",
            "key.converter": converter,
            "value.converter": converter,
            **storage,
            "offset.flush.interval.ms": "1000",
            "listeners": f"http://{LOOPBACK}:{self._port}",
            "rest.advertised.host.name": LOOPBACK,
            "plugin.path": ",".join(str(folder) for folder in self._plugins.values()),
            # Reading the manifests instead of every class: 4 s to start instead of 30.
            "plugin.discovery": "service_load",
            "scheduled.rebalance.max.delay.ms": "0",
            # The worker may be started before the broker and should notice it at once, and not
            # give up on one that is slow to come before we do.
            "reconnect.backoff.max.ms": "200",
            "default.api.timeout.ms": f"{self.start_seconds * 2_000:.0f}",
        }


def _add_service_manifest(folder: Path) -> None:
    """Name the converter the way `plugin.discovery=service_load` finds it; its jar does not."""
    plugin = folder / "avro-converter"
    plugin.mkdir()
    for jar in list(folder.glob("*.jar")):
        jar.rename(plugin / jar.name)
    with zipfile.ZipFile(plugin / "service-manifest.jar", "w") as jar_file:
        jar_file.writestr(
            "META-INF/services/org.apache.kafka.connect.storage.Converter", _AVRO_CONVERTER
        )
