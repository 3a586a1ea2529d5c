"""Debian packages, downloaded with apt and unpacked into the cache; nothing is installed."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cdc.errors import DownloadError, SandboxPartMissingError
from cdc.sandbox.jars import tail_of
from cdc.sandbox.processes import Command, Processes
from cdc.sandbox.progress import reporting
from cdc.sandbox.server import Bench

_APT_SECONDS = 300.0


def fetch_packages(bench: Bench, title: str, packages: Sequence[str]) -> Path:
    """Return a folder that holds packages and the libraries they need, as if installed there."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise SandboxPartMissingError(
            f"{title} from Debian packages",
            "It needs apt-get and dpkg: run it on Debian or Ubuntu, or where Docker answers.",
        )

    def build(folder: Path) -> None:
        with reporting(bench.progress, f"downloading {title}"):
            _Apt(folder / ".apt", bench.processes, title).unpack(packages, folder)
        shutil.rmtree(folder / ".apt")

    return bench.cache.entry(f"{packages[0]}-{_release()}", build)


def library_path(root: Path) -> str:
    """Return the library folders of unpacked packages, as LD_LIBRARY_PATH wants them."""
    folders = {path.parent for path in root.rglob("lib*.so*") if path.parent.parent.name == "lib"}
    return ":".join(sorted(str(folder) for folder in folders))


def _release() -> str:
    """Name the system's release, such as debian-12: packages of one do not fit another."""
    text = Path("/etc/os-release").read_text()
    facts = dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]*)', text, re.MULTILINE))
    return "-".join(facts[name] for name in ("ID", "VERSION_ID") if name in facts) or "unknown"


class _Apt:
    """Apt for the present user, first with the system's package lists, then with own ones."""

    def __init__(self, work: Path, processes: Processes, title: str) -> None:
        self._work, self._processes, self._title = work, processes, title
        self._log = work / "apt.log"
        # Not as the user `_apt`, who cannot write here; this silences a warning, no more.
        self._options = ["-o", "APT::Sandbox::User=root"]
        work.mkdir()

    def unpack(self, packages: Sequence[str], into: Path) -> None:
        if not self._download(packages):
            # No lists, as in a fresh container, or so old that the files they name are gone.
            self._use_own_lists()
            if not self._download(packages):
                raise DownloadError(self._title, tail_of(self._log))
        for package in sorted(self._work.glob("*.deb")):
            self._run("dpkg", "--extract", str(package), str(into))

    def _download(self, packages: Sequence[str]) -> bool:
        wanted = [*packages, *self._missing_libraries(packages)]
        return self._run("apt-get", *self._options, "download", *wanted, check=False) == 0

    def _use_own_lists(self) -> None:
        """Update package lists that nobody else uses: needs no root and changes no system file."""
        state, cache = self._work / "state", self._work / "cache"
        for folder in (state / "lists" / "partial", cache / "archives" / "partial"):
            folder.mkdir(parents=True)
        self._options += [
            *("-o", f"Dir::State={state}", "-o", f"Dir::Cache={cache}"),
            *("-o", f"Dir::State::lists={state / 'lists'}"),
            *("-o", "Dir::State::status=/var/lib/dpkg/status"),
        ]
        self._run("apt-get", *self._options, "update")

    def _missing_libraries(self, packages: Sequence[str]) -> list[str]:
        shown = subprocess.run(
            ["apt-cache", *self._options, "depends", "--no-recommends", "--no-suggests", *packages],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        needed = set(re.findall(r"^\s*\|?(?:Pre)?Depends: (lib[^\s:]+)", shown, re.MULTILINE))
        return sorted(name for name in needed if not _is_installed(name))

    def _run(self, *argv: str, check: bool = True) -> int | None:
        environment = {**os.environ, "LC_ALL": "C"}
        command = Command(argv=argv, log=self._log, cwd=self._work, env=environment)
        (code,) = self._processes.run(command, timeout=_APT_SECONDS)
        if check and code != 0:
            raise DownloadError(self._title, tail_of(self._log))
        return code


def _is_installed(package: str) -> bool:
    shown = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package],
        capture_output=True,
        text=True,
        check=False,
    )
    return shown.stdout == "installed"
