"""MariaDB, from Debian packages that are unpacked but not installed."""

from cdc.downloads.processes import Command
from cdc.sandbox.binlog_server import BINLOG_OPTIONS, BinlogServer
from cdc.sandbox.debian import fetch_packages, library_path
from cdc.sandbox.endpoints import MariadbEndpoint
from cdc.sandbox.ports import LOOPBACK, free_ports
from cdc.sandbox.server import Bench, new_password

SERVER_OPTIONS = (
    *BINLOG_OPTIONS,
    "--binlog-format=ROW",  # MySQL knows no other any more
    "--server-id=223344",
    "--gtid-strict-mode=1",
    "--log-slave-updates=1",
    "--collation-server=utf8mb4_general_ci",
)


class Mariadb(BinlogServer):
    """A MariaDB server with a row-based binlog."""

    title = "MariaDB"

    def __init__(self, bench: Bench) -> None:
        self.endpoint = MariadbEndpoint(
            host=LOOPBACK, port=free_ports(1)[0], user="debezium", password=new_password()
        )
        super().__init__(bench, self.endpoint)

    def fetch(self) -> None:
        """Fetch and unpack the packages."""
        packages = ["mariadb-server-core", "mariadb-client-core"]
        self.root = fetch_packages(self.bench, self.title, packages)

    def install_command(self) -> Command:
        """Run the script that comes with the server."""
        options = ("--auth-root-authentication-method=normal", "--skip-test-db")
        return self._run("bin/mariadb-install-db", *options)

    def server_command(self, *arguments: str) -> Command:
        """Run the server with the libraries that were unpacked with it."""
        plugins = f"--plugin-dir={self.root}/usr/lib/mysql/plugin"
        return self._run("sbin/mariadbd", plugins, *arguments, *SERVER_OPTIONS)

    def init_sql(self) -> str:
        """Take the anonymous users away too."""
        return (
            f"{super().init_sql()}"
            "DELETE FROM mysql.global_priv WHERE User = '';\n"
            "FLUSH PRIVILEGES;\n"
        )

    def _run(self, program: str, *arguments: str) -> Command:
        return self.unpacked_command(
            self.root / "usr" / program,
            arguments=arguments,
            env={"LD_LIBRARY_PATH": library_path(self.root)},
        )
