"""MariaDB, from Debian packages that are unpacked but not installed."""

import shutil
from pathlib import Path

from cdc.sandbox.debian import fetch_packages, library_path
from cdc.sandbox.endpoints import MariadbEndpoint
from cdc.sandbox.ports import LOOPBACK, free_ports
from cdc.sandbox.processes import Command
from cdc.sandbox.server import Bench, Server, new_password, server_environment, server_user

SERVER_OPTIONS = (
    "--server-id=223344",
    "--log-bin=mysql-bin",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
    "--gtid-strict-mode=1",
    "--log-slave-updates=1",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
    "--default-time-zone=+00:00",
    "--skip-name-resolve",
    "--performance-schema=OFF",
    "--innodb-buffer-pool-size=64M",
    # The data is scratch: speed over safety from a power cut. A killed server still recovers.
    "--innodb-flush-log-at-trx-commit=2",
    "--sync-binlog=0",
)


class Mariadb(Server):
    """A MariaDB server with a row-based binlog."""

    title = "MariaDB"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.endpoint = MariadbEndpoint(
            host=LOOPBACK, port=free_ports(1)[0], user="debezium", password=new_password()
        )
        self._user = server_user()
        self._root = Path()

    def fetch(self) -> None:
        """Fetch and unpack the packages."""
        self._root = fetch_packages(
            self.bench, "MariaDB", ["mariadb-server-core", "mariadb-client-core"]
        )

    def prepare(self) -> None:
        """Make the system tables and the file that sets the passwords at each start."""
        self.check_folder(self._user)
        if self._user is not None:
            # The cache may lie under /root, where no other user gets in.
            self._root = Path(shutil.copytree(self._root, self.folder / "root", symlinks=True))
        data, init = self.folder / "data", self.folder / "init.sql"
        data.mkdir(mode=0o700)
        init.touch(mode=0o600)
        init.write_text(_init_sql(self.endpoint))
        if self._user is not None:
            for path in (data, init):
                shutil.chown(path, *self._user)
        self.run_tool(
            self._command(
                "bin/mariadb-install-db",
                *("--auth-root-authentication-method=normal", "--skip-test-db"),
            )
        )

    def command(self) -> Command:
        """Run the server in the foreground."""
        return self._command(
            "sbin/mariadbd",
            f"--plugin-dir={self._root}/usr/lib/mysql/plugin",
            f"--port={self.endpoint.port}",
            f"--bind-address={LOOPBACK}",
            # Relative to the data folder: the path of a socket may not be longer than 107 bytes.
            *("--socket=server.sock", "--pid-file=server.pid"),
            f"--init-file={self.folder}/init.sql",
            *SERVER_OPTIONS,
        )

    def is_ready(self) -> bool:
        """Log in over TCP."""
        return self.endpoint.answers()

    def _command(self, program: str, *arguments: str) -> Command:
        folders = (f"--basedir={self._root}/usr", f"--datadir={self.folder}/data")
        return Command(
            argv=[self._root / "usr" / program, "--no-defaults", *folders, *arguments],
            log=self.log,
            cwd=self.folder,
            env={**server_environment(self.folder), "LD_LIBRARY_PATH": library_path(self._root)},
            user=self._user,
        )


def _init_sql(endpoint: MariadbEndpoint) -> str:
    """Render the statements that every start runs; repeated, they change nothing."""
    user, password = endpoint.user, endpoint.password
    return (
        f"CREATE USER IF NOT EXISTS '{user}'@'%' IDENTIFIED BY '{password}';\n"
        f"GRANT ALL PRIVILEGES ON *.* TO '{user}'@'%' WITH GRANT OPTION;\n"
        f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}';\n"
        "DELETE FROM mysql.global_priv WHERE User = '';\n"
        "FLUSH PRIVILEGES;\n"
    )
