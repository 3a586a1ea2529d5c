"""A server from Debian's unstable release: where it is looked for, and where it cannot be had."""

from pathlib import Path

import pytest

from cdc.errors import ServerUnavailableError
from cdc.sandbox.mysql import Mysql
from cdc.sandbox.server import Bench

TARGETS = """\
http://archive.test/debian bookworm
http://archive.test/debian bookworm-updates
http://archive.test/debian-security bookworm-security
"""


class Machine:
    """A machine as far as the download sees it: its release, its keys, its apt."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.programs, self.release = folder / "bin", folder / "os-release"
        self.sources, self.targets = folder / "sources", folder / "targets"
        keys = folder / "keyrings"
        for made in (self.programs, keys):
            made.mkdir()
        (keys / "debian-archive-keyring.gpg").touch()
        self.release.write_text('ID=debian\nVERSION_ID="12"\n')
        self.targets.write_text(TARGETS)
        self.has_package = f"""
            case "$*" in
            *indextargets*) cat {self.targets} ;;
            *update) cp sources.list {self.sources} ;;
            *) echo package > cache/archives/server_1_amd64.deb ;;
            esac
        """
        self.program("apt-get", self.has_package)
        self.program("dpkg", 'cp "$2" "$3/unpacked"')  # --extract ARCHIVE FOLDER
        monkeypatch.setenv("PATH", str(self.programs), prepend=":")
        monkeypatch.setattr("cdc.sandbox.debian._OS_RELEASE", self.release)
        monkeypatch.setattr("cdc.sandbox.debian._KEYRINGS", keys)

    def program(self, name: str, script: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_unstable_is_fetched_from_the_archive_the_machine_uses_with_its_keys(
    bench: Bench, machine: Machine
) -> None:
    server = Mysql(bench)

    server.fetch()

    (line,) = machine.sources.read_text().splitlines()
    assert line.startswith("deb [") and line.endswith("] http://archive.test/debian sid main")
    assert "debian-archive-keyring.gpg" in line
    assert (server.root / "unpacked").read_text() == "package\n"


def test_what_was_fetched_once_needs_no_apt(bench: Bench, machine: Machine) -> None:
    Mysql(bench).fetch()
    machine.program("apt-get", "exit 1")
    server = Mysql(bench)

    server.fetch()

    assert (server.root / "unpacked").exists()


def test_machine_that_is_no_debian_cannot_have_mysql(bench: Bench, machine: Machine) -> None:
    machine.release.write_text("ID=ubuntu\n")

    with pytest.raises(ServerUnavailableError) as caught:
        Mysql(bench).fetch()

    assert caught.value.server == "MySQL"


def test_machine_without_package_sources_cannot_have_mysql(bench: Bench, machine: Machine) -> None:
    machine.targets.write_text("")

    with pytest.raises(ServerUnavailableError):
        Mysql(bench).fetch()


def test_archive_that_does_not_have_mysql_is_told_in_its_own_words(
    bench: Bench, machine: Machine
) -> None:
    missing = "echo 'E: Unable to locate package' >&2; exit 100"
    machine.program("apt-get", machine.has_package.replace("echo package", f"{missing}; echo"))

    with pytest.raises(ServerUnavailableError) as caught:
        Mysql(bench).fetch()

    assert "Unable to locate package" in caught.value.reason
    assert not list(bench.cache.folder.glob("mysql*"))
