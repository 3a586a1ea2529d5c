"""What the servers of a sandbox have in common: fetched, prepared once, started, stopped."""

import os
import pwd
import secrets
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cdc.downloads.cache import Cache
from cdc.downloads.jars import Lock, fetch_lock, tail_of
from cdc.downloads.processes import Command, Process, Processes
from cdc.downloads.progress import Progress, reporting
from cdc.errors import SandboxClosedError, SandboxPartMissingError, ServerStartError

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What every server works with."""

    processes: Processes
    cache: Cache
    progress: Progress

    @property
    def scratch(self) -> Path:
        """The folder that vanishes with the sandbox."""
        return self.processes.scratch

    def fetch(self, title: str, lock: Lock, unpack: Callable[[Path], None] | None = None) -> Path:
        """Return the cached folder of a lock's files, downloading them the first time.

        Args:
            title: What the user calls it.
            lock: The files.
            unpack: Turns the downloaded files into what the folder shall hold.
        """

        def build(folder: Path) -> None:
            with reporting(self.progress, f"downloading {title} ({lock.extent})"):
                fetch_lock(lock, folder, self.processes)
                if unpack is not None:
                    unpack(folder)

        return self.cache.entry(lock.entry_name, build)


class Server(ABC):
    """One server: its files, its data, its process.

    `prepare` happens once; `start`, `stop` and `kill` may follow one another at will and keep ports
    and data.
    """

    title: str
    start_seconds = 240.0  # a machine with more to do than it can stands still for a minute
    stop_seconds = 30.0

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._process: Process | None = None
        self._prepared = False
        self._log_start = 0

    @property
    def folder(self) -> Path:
        """The server's own part of the scratch folder."""
        return self.bench.scratch / type(self).__name__.lower()

    @property
    def log(self) -> Path:
        """Everything the server printed, over all its starts."""
        return self.folder.with_suffix(".log")

    @abstractmethod
    def fetch(self) -> None:
        """Download what is missing. Safe to repeat."""

    @abstractmethod
    def prepare(self) -> None:
        """Make the data folder and the config; called once, before the first start."""

    @abstractmethod
    def command(self) -> Command:
        """Say how the server is run."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Say whether the server does its work."""

    @property
    def pid(self) -> int | None:
        """The process id, or None while the server does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def bring_up(self) -> None:
        """Fetch the server and start it. Safe to repeat."""
        self.fetch()
        self.start()

    def start(self) -> None:
        """Start the server and wait until it is ready; nothing happens if it runs.

        A server that does not get ready is killed again.

        Raises:
            ServerStartError: It ended or did not answer in time.
        """
        if self.pid is not None:
            return
        if not self._prepared:
            shutil.rmtree(self.folder, ignore_errors=True)  # what a failed attempt left
            self.folder.mkdir(mode=0o711)
            self.prepare()
            self._prepared = True
        started = time.monotonic()
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._process = self.bench.processes.spawn(self.command())
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            with suppress(SandboxClosedError):  # closed meanwhile: then the guard ends it
                self._process.kill()
            raise
        self.bench.progress(f"{self.title} is up after {time.monotonic() - started:.1f} s")

    def stop(self) -> None:
        """End the server in its own way. Safe to repeat."""
        if self._process is not None:
            self._process.stop(self.stop_seconds)

    def kill(self) -> None:
        """Kill the server with all its processes, as a crash would. Safe to repeat."""
        if self._process is not None:
            self._process.kill()

    def run_tool(self, command: Command, timeout: float = 90.0) -> None:
        """Run a program of the server to its end.

        Raises:
            ServerStartError: It failed.
        """
        (code,) = self.bench.processes.run(command, timeout=timeout)
        if code != 0:
            name = Path(command.argv[0]).name
            reason = f"{name} exited with {code}" if code is not None else f"{name} took too long"
            raise ServerStartError(self.title, reason, tail_of(command.log))

    def log_since_start(self) -> str:
        """Return what the server printed since it was last started."""
        with self.log.open("rb") as file:
            file.seek(self._log_start)
            return file.read().decode(errors="replace")

    def _wait_until_ready(self, process: Process) -> None:
        deadline = time.monotonic() + self.start_seconds
        while not self.is_ready():
            self.bench.processes.check_cancelled()
            code = process.poll()
            if code is not None:
                raise ServerStartError(
                    self.title, f"it exited with {code}", tail_of(self.log, lines=30)
                )
            if time.monotonic() > deadline:
                reason = f"no answer after {self.start_seconds:.0f} s"
                raise ServerStartError(self.title, reason, tail_of(self.log, lines=30))
            time.sleep(_POLL_SECONDS)


def new_password() -> str:
    """Return a password for one sandbox; other users of the machine can reach its ports."""
    return secrets.token_hex(8)


def server_user() -> tuple[int, int] | None:
    """Return uid and gid for servers that refuse to run as root; None if we are not root."""
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def open_to_others(folder: Path) -> bool:
    """Say whether users other than the owner can reach what is in a folder."""
    return all(path.stat().st_mode & 0o001 for path in (folder, *folder.parents))


def server_environment(home: Path) -> dict[str, str]:
    """Return the whole environment of a server: nothing of the user's own leaks into it."""
    return {
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "PATH": os.environ.get("PATH", os.defpath),
        "TZ": "UTC",
    }


def check_folder(server: Server, user: tuple[int, int] | None) -> None:
    """Refuse a scratch folder in which another user could not work.

    Raises:
        SandboxPartMissingError: The server runs as another user, who cannot enter the folder.
    """
    if user is not None and not open_to_others(server.folder):
        raise SandboxPartMissingError(
            f"a scratch folder that {server.title} can enter, which does not run as root",
            f"{server.folder.parent} is closed to other users: choose another folder.",
        )
