"""The sandbox without a server: ports, Java, locks, and what a failed start tells."""

import os
import re
import socket
import time
from pathlib import Path

import pytest

from cdc.downloads.jars import Artifact, Lock, fetch_lock, module_xml, read_lock
from cdc.downloads.java import find_java
from cdc.downloads.processes import Command
from cdc.downloads.relock import ROOTS
from cdc.errors import (
    DownloadError,
    JavaMissingError,
    SandboxClosedError,
    SandboxPartMissingError,
    ServerStartError,
)
from cdc.sandbox import PostgresEndpoint, Sandbox, Service
from cdc.sandbox.connect import Connect
from cdc.sandbox.endpoints import KafkaEndpoint
from cdc.sandbox.ports import LOOPBACK, free_ports
from cdc.sandbox.server import Bench, Server


class ShellServer(Server):
    """A server that is a shell script; ready when its log says so."""

    title = "Shell"
    script = ""

    def fetch(self) -> None:
        return

    def prepare(self) -> None:
        return

    def command(self) -> Command:
        argv = ["sh", "-c", self.script]
        return Command(argv=argv, log=self.log, cwd=self.folder, env=os.environ)

    def is_ready(self) -> bool:
        return "ready" in self.log_since_start()


def fake_java(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return program


def test_free_ports_are_distinct_and_can_be_bound() -> None:
    ports = free_ports(20)

    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as server:
            server.bind((LOOPBACK, port))


def test_free_ports_are_not_those_of_outgoing_connections() -> None:
    lowest, _ = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()

    assert max(free_ports(200)) < int(lowest)


def test_missing_java_names_the_package_to_install(tmp_path: Path) -> None:
    with pytest.raises(JavaMissingError) as caught:
        find_java(17, {"PATH": str(tmp_path)})

    assert (caught.value.minimum, caught.value.found) == (17, None)
    assert "apt-get install openjdk-17-jre-headless" in str(caught.value)


@pytest.mark.parametrize(("shown", "found"), [("1.8.0_412", 8), ("11.0.22", 11)])
def test_old_java_is_refused_with_its_version(tmp_path: Path, shown: str, found: int) -> None:
    java = fake_java(tmp_path / shown, shown)

    with pytest.raises(JavaMissingError) as caught:
        find_java(17, {"PATH": str(java.parent)})

    assert caught.value.found == found


def test_java_home_is_preferred_to_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "21.0.1")
    path = fake_java(tmp_path / "path", "17.0.1")

    found = find_java(17, {"JAVA_HOME": str(home.parent.parent), "PATH": str(path.parent)})

    assert found == home


def test_path_is_used_when_the_java_of_java_home_is_too_old(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "11.0.1")
    path = fake_java(tmp_path / "path", "17.0.1")

    found = find_java(17, {"JAVA_HOME": str(home.parent.parent), "PATH": str(path.parent)})

    assert found == path


@pytest.mark.parametrize("name", sorted(ROOTS))
def test_lock_holds_its_roots_with_checksums(name: str) -> None:
    lock = read_lock(name)

    locked = {(a.organisation, a.module, a.revision, a.classifier) for a in lock.artifacts}
    assert {(r.organisation, r.module, r.revision, r.classifier) for r in ROOTS[name]} <= locked
    assert all(len(a.sha256) == 64 and a.size > 0 for a in lock.artifacts)
    assert len({a.file_name for a in lock.artifacts}) == len(lock.artifacts)


def test_entry_of_a_lock_changes_with_its_content() -> None:
    one = Artifact("org", "module", "1", "", "jar", "a" * 64, 10)
    other = Artifact("org", "module", "1", "", "jar", "b" * 64, 10)

    assert Lock("set", (one,)).entry_name != Lock("set", (other,)).entry_name


def test_request_names_classifier_and_extension() -> None:
    xml = module_xml([Artifact("org", "module", "1", "plugin", "tar.gz", "", 0)])

    assert '<artifact name="module" type="tar.gz" ext="tar.gz" m:classifier="plugin"/>' in xml


def test_program_that_cannot_download_says_so_and_leaves_no_entry(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A Java that answers like version 17 and fails at everything else.
    java = fake_java(tmp_path, "17.0.1")
    with java.open("a") as script:
        script.write("[ $1 = -version ] || { echo 'server not reachable'; exit 1; }\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("cdc.downloads.jars._PAUSE_SECONDS", 0.0)
    lock = Lock("nothing", (Artifact("org", "module", "1", "", "jar", "", 1),))

    with pytest.raises(DownloadError) as caught:
        bench.fetch("Nothing", lock)

    assert "server not reachable" in caught.value.reason
    assert not (bench.cache.folder / lock.entry_name).exists()


def test_file_with_another_checksum_is_refused(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A Java that answers like version 17 and "downloads" a wrong file.
    java = fake_java(tmp_path, "17.0.1")
    into = tmp_path / "into"
    into.mkdir()
    with java.open("a") as script:
        script.write(f"echo wrong > {into}/module-1.jar\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    lock = Lock("wrong", (Artifact("org", "module", "1", "", "jar", "0" * 64, 1),))

    with pytest.raises(DownloadError) as caught:
        fetch_lock(lock, into, bench.processes)

    assert "module-1.jar" in caught.value.reason


def test_server_that_ends_at_once_shows_its_last_lines(bench: Bench) -> None:
    server = ShellServer(bench)
    server.script = "echo port is taken; exit 3"

    with pytest.raises(ServerStartError) as caught:
        server.start()

    assert caught.value.server == "Shell"
    assert "3" in caught.value.reason
    assert "port is taken" in caught.value.log


def test_server_that_never_answers_is_killed_and_shows_its_last_lines(bench: Bench) -> None:
    server = ShellServer(bench)
    server.script = "echo still thinking; exec sleep 600"
    server.start_seconds = 0.5

    with pytest.raises(ServerStartError) as caught:
        server.start()

    assert "still thinking" in caught.value.log
    assert server.pid is None


def test_connect_waits_for_a_slow_kafka_as_long_as_the_sandbox_waits_for_both(
    bench: Bench,
) -> None:
    connect = Connect(bench, KafkaEndpoint(bootstrap_servers=f"{LOOPBACK}:1"))
    connect.folder.mkdir()

    config = Path(str(connect.command().argv[-1])).read_text()

    (patience,) = re.findall(r"^default.api.timeout.ms=(\d+)$", config, re.MULTILINE)
    assert int(patience) / 1000 > connect.start_seconds


def test_server_can_be_started_again_after_a_failure(bench: Bench) -> None:
    server = ShellServer(bench)
    server.script = "exit 1"
    with pytest.raises(ServerStartError):
        server.start()

    server.script = "echo ready; exec sleep 600"
    server.start()

    assert server.pid is not None


def test_readiness_of_an_earlier_start_does_not_count(bench: Bench) -> None:
    server = ShellServer(bench)
    server.script = "echo ready; exec sleep 600"
    server.start()
    server.kill()

    server.script = "sleep 0.5; echo ready; exec sleep 600"
    started = time.monotonic()
    server.start()

    assert time.monotonic() - started >= 0.5


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")
def test_scratch_folder_closed_to_the_servers_user_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)

    with Sandbox(folder=tmp_path) as sandbox, pytest.raises(SandboxPartMissingError) as caught:
        sandbox.start(Service.POSTGRES)

    assert str(tmp_path) in caught.value.remedy


def test_closed_sandbox_starts_nothing() -> None:
    sandbox = Sandbox()
    sandbox.close()

    with pytest.raises(SandboxClosedError):
        sandbox.start(Service.POSTGRES)


def test_no_repr_shows_a_password() -> None:
    endpoint = PostgresEndpoint(host=LOOPBACK, port=1, user="postgres", password="secret")

    assert "secret" not in repr(endpoint)
    assert "secret" in endpoint.url
