"""MySQL, from packages of Debian's unstable release, the only one that has it."""

from cdc.downloads.processes import Command
from cdc.errors import DownloadError, SandboxPartMissingError, ServerUnavailableError
from cdc.sandbox.binlog_server import BINLOG_OPTIONS, BinlogServer
from cdc.sandbox.debian import fetch_unstable, library_path
from cdc.sandbox.endpoints import MysqlEndpoint
from cdc.sandbox.ports import LOOPBACK, free_ports
from cdc.sandbox.server import Bench, new_password

SERVER_OPTIONS = (
    *BINLOG_OPTIONS,
    "--server-id=223355",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--mysqlx=OFF",  # a second protocol, with a port of its own
    "--secure-file-priv=NULL",  # else a folder that only an installed MySQL has
)


class Mysql(BinlogServer):
    """A MySQL server with a row-based binlog."""

    title = "MySQL"

    def __init__(self, bench: Bench) -> None:
        self.endpoint = MysqlEndpoint(
            host=LOOPBACK, port=free_ports(1)[0], user="debezium", password=new_password()
        )
        super().__init__(bench, self.endpoint)

    def fetch(self) -> None:
        """Fetch and unpack the packages.

        Raises:
            ServerUnavailableError: They cannot be had here, or now.
        """
        try:
            self.root = fetch_unstable(self.bench, self.title, ["mysql-server-core"])
        except (DownloadError, SandboxPartMissingError) as error:
            raise ServerUnavailableError(self.title, str(error)) from error

    def install_command(self) -> Command:
        """Let the server make its system tables; until the first start nobody can reach it."""
        return self._run("--initialize-insecure")

    def server_command(self, *arguments: str) -> Command:
        """Run the server."""
        return self._run(*arguments, *SERVER_OPTIONS)

    def _run(self, *arguments: str) -> Command:
        # Through the loader that came along: the C library of this machine may be too old.
        (loader,) = self.root.glob("usr/lib/*/ld-linux*.so*")
        libraries = library_path(self.root)
        server = self.root / "usr" / "sbin" / "mysqld"
        return self.unpacked_command(
            loader, "--library-path", libraries, server, arguments=arguments
        )
