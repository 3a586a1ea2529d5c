"""Resolve the Java artifacts of the sandbox and of Spark anew, and write the files under `locks/`.

Run `python -m cdc.downloads.relock` after changing a version here. This is the slow, transitive
resolve that spares every user the same minute.
"""

import hashlib
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cdc.downloads.jars import (
    SETTINGS,
    Artifact,
    Lock,
    ivy_command,
    module_xml,
    tail_of,
    write_lock,
)
from cdc.downloads.processes import Processes
from cdc.errors import DownloadError

logger = logging.getLogger(__name__)

KAFKA = "4.3.1"
SPARK = "4.0.0"  # the connectors of this version serve the whole minor version

# Sets whose roots are all there is: Spark has the rest of what they need.
_COMPLETE = {"spark-4.0", "spark-avro-4.0"}

# What Connect gives to its plugins anyway. A second copy inside a plugin clashes or is dead weight.
_GIVEN_BY_CONNECT = {
    *("kafka-clients", "connect-api", "connect-json", "slf4j-api"),
    *("zstd-jni", "snappy-java", "lz4-java"),
}


def _root(coordinates: str, classifier: str = "", extension: str = "jar") -> Artifact:
    organisation, module, revision = coordinates.split(":")
    return Artifact(organisation, module, revision, classifier, extension, "", 0)


ROOTS: dict[str, list[Artifact]] = {
    "kafka": [
        _root(f"org.apache.kafka:kafka_2.13:{KAFKA}"),
        _root(f"org.apache.kafka:connect-runtime:{KAFKA}"),
        _root(f"org.apache.kafka:connect-json:{KAFKA}"),
        _root("org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
    ],
    "debezium-postgres": [
        _root("io.debezium:debezium-connector-postgres:3.6.1.Final", "plugin", "tar.gz")
    ],
    "debezium-mysql": [
        _root("io.debezium:debezium-connector-mysql:3.6.1.Final", "plugin", "tar.gz")
    ],
    "debezium-mariadb": [
        _root("io.debezium:debezium-connector-mariadb:3.5.0.Final", "plugin", "tar.gz")
    ],
    "avro-converter": [_root("io.apicurio:apicurio-registry-utils-converter:2.6.13.Final")],
    "registry": [_root("io.apicurio:apicurio-registry-app:3.3.3", "all", "tar.gz")],
    "spark-4.0": [
        _root("org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0"),
        _root(f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK}"),
        _root(f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{SPARK}"),
        _root("org.apache.kafka:kafka-clients:3.9.0"),
        _root("org.apache.commons:commons-pool2:2.12.0"),
        _root("org.xerial:sqlite-jdbc:3.53.2.0"),
    ],
    # Only the benchmark of the decoder runs Spark's own reader.
    "spark-avro-4.0": [_root(f"org.apache.spark:spark-avro_2.13:{SPARK}")],
}


def resolve(name: str, roots: Sequence[Artifact], processes: Processes) -> Lock:
    """Find every artifact that the roots need; an archive brings its own."""
    work = Path(tempfile.mkdtemp(dir=processes.scratch))
    settings = work / "settings.xml"
    settings.write_text(SETTINGS.format(usepoms="true"))
    transitive = name not in _COMPLETE and all(root.extension == "jar" for root in roots)
    (work / "ivy.xml").write_text(module_xml(roots, transitive=transitive))
    found = work / "found"
    pattern = found / "[organisation]" / "[module]" / "[revision]"
    if processes.run(ivy_command(work, settings, pattern), timeout=600) != [0]:
        raise DownloadError(name, tail_of(work / "ivy.log"))
    classifiers = {root.module: root.classifier for root in roots}
    artifacts = []
    for file in sorted(found.glob("*/*/*/*")):
        organisation, module, revision = file.relative_to(found).parts[:3]
        classifier = classifiers.get(module, "")
        if name == "avro-converter" and module in _GIVEN_BY_CONNECT:
            continue
        start = len(f"{module}-{revision}-{classifier}." if classifier else f"{module}-{revision}.")
        content = file.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        artifacts.append(
            Artifact(
                *(organisation, module, revision, classifier),
                *(file.name[start:], digest, len(content)),
            )
        )
    return Lock(name, tuple(artifacts))


def main() -> None:
    """Write every lock. Run twice, it writes the same files."""
    processes = Processes(Path(tempfile.gettempdir()))
    try:
        for name, roots in ROOTS.items():
            lock = resolve(name, roots, processes)
            write_lock(lock)
            logger.info("locked set=%s extent=%s", name, lock.extent)
    finally:
        processes.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main()
