"""Debian packages, downloaded with apt and unpacked into the cache; nothing is installed."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from cdc.downloads.jars import tail_of
from cdc.downloads.processes import Command, Processes
from cdc.downloads.progress import reporting
from cdc.errors import DownloadError, SandboxPartMissingError
from cdc.sandbox.server import Bench

_APT_SECONDS = 300.0
_OS_RELEASE = Path("/etc/os-release")
_KEYRINGS = Path("/usr/share/keyrings")


def fetch_packages(bench: Bench, title: str, packages: Sequence[str]) -> Path:
    """Return a folder that holds packages and the libraries they need, as if installed there."""
    _check_tools(title)
    facts = _release()
    release = "-".join(facts[name] for name in ("ID", "VERSION_ID") if name in facts) or "unknown"

    def unpack(apt: "_Apt", into: Path) -> None:
        apt.unpack_missing(packages, into)

    # The release is part of the name: packages of one do not fit another.
    return _entry(bench, title, f"{packages[0]}-{release}", unpack)


def fetch_unstable(bench: Bench, title: str, packages: Sequence[str]) -> Path:
    """Return a folder that holds packages of Debian's unstable release and all that they need.

    All includes the C library and its loader, so the programs run on an older release too. No lock
    is possible: unstable moves on, and its archive forgets the files it replaced. What it has today
    is checked as apt checks it, against a signed index, and then stays in the cache.

    Raises:
        SandboxPartMissingError: The machine is no Debian, or apt has no sources here.
        DownloadError: The archive does not answer, or does not have the packages.
    """

    def unpack(apt: "_Apt", into: Path) -> None:
        apt.unpack_all(packages, into, _unstable_sources(title))

    return _entry(bench, title, f"{packages[0]}-unstable-{platform.machine()}", unpack)


def library_path(root: Path) -> str:
    """Return the library folders of unpacked packages, as LD_LIBRARY_PATH wants them."""
    folders = {path.parent for path in root.rglob("lib*.so*") if path.parent.parent.name == "lib"}
    return ":".join(sorted(str(folder) for folder in folders))


def _entry(bench: Bench, title: str, name: str, unpack: Callable[["_Apt", Path], None]) -> Path:
    def build(folder: Path) -> None:
        with reporting(bench.progress, f"downloading {title}"):
            unpack(_Apt(folder / ".apt", bench.processes, title), folder)
        shutil.rmtree(folder / ".apt")

    return bench.cache.entry(name, build)


def _check_tools(title: str) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise SandboxPartMissingError(
            f"{title} from Debian packages",
            "It needs apt-get and dpkg: run it on Debian or Ubuntu, or where Docker answers.",
        )


def _release() -> dict[str, str]:
    """Return what the system calls itself, such as ID debian and VERSION_ID 12."""
    try:
        text = _OS_RELEASE.read_text()
    except FileNotFoundError:
        return {}
    return dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]*)', text, re.MULTILINE))


def _unstable_sources(title: str) -> str:
    """Render apt's sources for the unstable release, at the archives this machine uses already."""
    _check_tools(title)
    shown = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", "Component: main"],
        capture_output=True,
        text=True,
        check=False,
    )
    targets = [line.split() for line in shown.stdout.splitlines() if shown.returncode == 0]
    # With a dash are the updates of a release, which unstable does not have.
    sites = {target[0] for target in targets if len(target) == 2 and "-" not in target[1]}
    keyrings = sorted(_KEYRINGS.glob("debian-archive-keyring.*"))
    if _release().get("ID") != "debian" or not sites or not keyrings:
        raise SandboxPartMissingError(
            f"{title} from Debian's unstable release",
            "It needs a Debian whose apt has sources and Debian's keys: run it there, or where "
            "Docker answers.",
        )
    # Only Debian's keys count, so the site of somebody else among these gives nothing.
    options = f"target=Packages signed-by={keyrings[0]}"
    return "".join(f"deb [{options}] {site} sid main\n" for site in sorted(sites))


class _Apt:
    """Apt for the present user, with the system's package lists or with own ones."""

    def __init__(self, work: Path, processes: Processes, title: str) -> None:
        self._work, self._processes, self._title = work, processes, title
        self._log = work / "apt.log"
        # Not as the user `_apt`, who cannot write here; this silences a warning, no more.
        self._options = ["-o", "APT::Sandbox::User=root"]
        work.mkdir()

    def unpack_missing(self, packages: Sequence[str], into: Path) -> None:
        """Unpack packages, and the libraries of theirs that the system does not have."""
        if not self._download(packages):
            # No lists, as in a fresh container, or so old that the files they name are gone.
            self._use_own_lists(Path("/var/lib/dpkg/status"))
            self._run("apt-get", *self._options, "update")
            if not self._download(packages):
                raise DownloadError(self._title, tail_of(self._log))
        self._unpack(self._work.glob("*.deb"), into)

    def unpack_all(self, packages: Sequence[str], into: Path, sources: str) -> None:
        """Unpack packages of other sources and all that they need, as if nothing were installed."""
        list_, nothing = self._work / "sources.list", self._work / "status"
        list_.write_text(sources)
        nothing.touch()
        self._use_own_lists(nothing)
        self._options += ["-o", f"Dir::Etc::SourceList={list_}", "-o", "Dir::Etc::SourceParts=-"]
        # One source that answers is enough; if none did, the packages are unknown.
        self._run("apt-get", *self._options, "update", check=False)
        download = ("--yes", "--download-only", "--no-install-recommends", "install")
        self._run("apt-get", *self._options, *download, *packages)
        self._unpack((self._work / "cache" / "archives").glob("*.deb"), into)

    def _download(self, packages: Sequence[str]) -> bool:
        wanted = [*packages, *self._missing_libraries(packages)]
        return self._run("apt-get", *self._options, "download", *wanted, check=False) == 0

    def _unpack(self, archives: Iterable[Path], into: Path) -> None:
        for archive in sorted(archives):
            self._run("dpkg", "--extract", str(archive), str(into))

    def _use_own_lists(self, status: Path) -> None:
        """Use package lists that nobody else uses: needs no root and changes no system file."""
        state, cache = self._work / "state", self._work / "cache"
        for folder in (state / "lists" / "partial", cache / "archives" / "partial"):
            folder.mkdir(parents=True)
        self._options += [
            *("-o", f"Dir::State={state}", "-o", f"Dir::Cache={cache}"),
            *("-o", f"Dir::State::lists={state / 'lists'}"),
            *("-o", f"Dir::State::status={status}"),
        ]

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
