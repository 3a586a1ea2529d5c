"""What MariaDB and MySQL have in common: unpacked packages, a data folder, a row-based binlog."""

import shutil
from abc import abstractmethod
from pathlib import Path

from cdc.downloads.processes import Command
from cdc.sandbox.endpoints import BinlogEndpoint
from cdc.sandbox.ports import LOOPBACK
from cdc.sandbox.server import Bench, Server, check_folder, server_environment, server_user

BINLOG_OPTIONS = (
    "--log-bin=mysql-bin",
    "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
    "--character-set-server=utf8mb4",
    "--default-time-zone=+00:00",
    "--skip-name-resolve",
    "--performance-schema=OFF",
    "--innodb-buffer-pool-size=64M",
    # The data is scratch: speed over safety from a power cut. A killed server still recovers.
    "--innodb-flush-log-at-trx-commit=2",
    "--sync-binlog=0",
)


class BinlogServer(Server):
    """A server from packages that are unpacked but not installed."""

    def __init__(self, bench: Bench, login: BinlogEndpoint) -> None:
        super().__init__(bench)
        self._login = login
        self._user = server_user()
        self.root = Path()  # of the unpacked packages, once they are fetched

    @abstractmethod
    def install_command(self) -> Command:
        """Say how the system tables are made."""

    @abstractmethod
    def server_command(self, *arguments: str) -> Command:
        """Say how the server is run."""

    def prepare(self) -> None:
        """Make the system tables and the file that sets the passwords at each start."""
        check_folder(self, self._user)
        if self._user is not None:
            # The cache may lie under /root, where no other user gets in.
            self.root = Path(shutil.copytree(self.root, self.folder / "root", symlinks=True))
        data, init = self.folder / "data", self.folder / "init.sql"
        data.mkdir(mode=0o700)
        init.touch(mode=0o600)
        init.write_text(self.init_sql())
        if self._user is not None:
            for path in (data, init):
                shutil.chown(path, *self._user)
        self.run_tool(self.install_command())

    def command(self) -> Command:
        """Run the server in the foreground."""
        return self.server_command(
            f"--port={self._login.port}",
            f"--bind-address={LOOPBACK}",
            # Relative to the data folder: the path of a socket may not be longer than 107 bytes.
            *("--socket=server.sock", "--pid-file=server.pid"),
            f"--init-file={self.folder}/init.sql",
        )

    def is_ready(self) -> bool:
        """Log in over TCP."""
        return self._login.answers()

    def init_sql(self) -> str:
        """Render the statements that every start runs; repeated, they change nothing."""
        user, password = self._login.user, self._login.password
        return (
            f"CREATE USER IF NOT EXISTS '{user}'@'%' IDENTIFIED BY '{password}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO '{user}'@'%' WITH GRANT OPTION;\n"
            f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}';\n"
        )

    def unpacked_command(
        self, *program: str | Path, arguments: tuple[str, ...], env: dict[str, str] | None = None
    ) -> Command:
        """Run an unpacked program on the data folder, whatever the system's own settings are."""
        folders = (f"--basedir={self.root}/usr", f"--datadir={self.folder}/data")
        return Command(
            argv=[*program, "--no-defaults", *folders, *arguments],
            log=self.log,
            cwd=self.folder,
            env={**server_environment(self.folder), **(env or {})},
            user=self._user,
        )
