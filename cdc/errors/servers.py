"""Servers and processes that do not do what is asked of them."""

from typing import ClassVar

from cdc.errors.base import MirrorError


class KafkaUnreachableError(MirrorError):
    """No Kafka broker answers, or it refuses the client."""

    retryable = True

    def __init__(self, servers: str, reason: str) -> None:
        super().__init__(servers, reason)
        self.servers, self.reason = servers, reason

    def __str__(self) -> str:
        return (
            f"Kafka at {self.servers} does not answer: {self.reason}. "
            "See that the broker runs and that [kafka] has its address and credentials."
        )


class CatalogUnreachableError(MirrorError):
    """The catalog does not answer, or refuses to."""

    retryable = True

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(kind, reason)
        self.kind, self.reason = kind, reason

    def __str__(self) -> str:
        return f"The {self.kind} catalog does not answer: {self.reason}. See [catalog]."


class UnlistedCatalogError(MirrorError):
    """Only Spark can read the catalog."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind

    def __str__(self) -> str:
        return (
            f"A {self.kind} catalog can be read by Spark alone, so that nothing can be said of its "
            "tables here. Ask Spark for their snapshots, or choose another catalog.type."
        )


class RegistryUnreachableError(MirrorError):
    """The schema registry does not answer, or not as one, so that no schema is known for sure."""

    retryable = True

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url, self.reason = url, reason

    def __str__(self) -> str:
        return (
            f"The schema registry at {self.url} does not give schemas: {self.reason}. "
            "See that it runs, and that [registry] has its address and credentials."
        )


class SourceUnreachableError(MirrorError):
    """The source database does not answer, or cannot be a source as it is."""

    def __init__(self, database: str, reason: str) -> None:
        super().__init__(database, reason)
        self.database, self.reason = database, reason

    def __str__(self) -> str:
        return f"{self.database} cannot be the source: {self.reason}. See source.url."


class DriverMissingError(MirrorError):
    """The client library of the source database is not installed."""

    exit_code: ClassVar[int] = 2

    def __init__(self, database: str, package: str, extra: str) -> None:
        super().__init__(database, package, extra)
        self.database, self.package, self.extra = database, package, extra

    def __str__(self) -> str:
        return (
            f"To ask {self.database} itself, the Python package {self.package} is needed, which is "
            f"not installed. Run `pip install 'database-mirror[{self.extra}]'`, or remove "
            "source.url: the mirror runs without it."
        )


class SourceDownError(MirrorError):
    """The source database cannot be reached when its catalog is asked."""

    retryable = True

    def __init__(self, database: str, reason: str) -> None:
        super().__init__(database, reason)
        self.database, self.reason = database, reason

    def __str__(self) -> str:
        return (
            f"{self.database} cannot be reached: {self.reason}. It is asked for column types, "
            "since the messages carry none. See source.url."
        )


class SourceCatalogError(MirrorError):
    """The source database answers, but does not tell the columns of a table."""

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(table, reason)
        self.table, self.reason = table, reason

    def __str__(self) -> str:
        return (
            f"The columns of {self.table} cannot be read from the database: {self.reason}. "
            "Let source.url name the database of the topic and a user who may read its catalog."
        )


class StreamFailedError(MirrorError):
    """Spark's stream ended by itself."""

    retryable = True

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"The stream from Kafka failed: {self.reason}"


class SandboxClosedError(MirrorError):
    """The sandbox was closed while something still waited for it."""

    def __str__(self) -> str:
        return "The sandbox is closed. Open a new one."


class SandboxPartMissingError(MirrorError):
    """The sandbox needs something that is not installed."""

    def __init__(self, part: str, remedy: str) -> None:
        super().__init__(part, remedy)
        self.part, self.remedy = part, remedy

    def __str__(self) -> str:
        return f"The sandbox needs {self.part}, which is not here. {self.remedy}"


class JavaMissingError(MirrorError):
    """There is no Java runtime, or only one that is too old."""

    def __init__(self, minimum: int, found: int | None) -> None:
        super().__init__(minimum, found)
        self.minimum, self.found = minimum, found

    def __str__(self) -> str:
        state = "none was found" if self.found is None else f"the newest found is {self.found}"
        return (
            f"Java {self.minimum} or later is needed, and {state} through JAVA_HOME or PATH. "
            "Install it: "
            f"`apt-get install openjdk-{self.minimum}-jre-headless` on Debian and Ubuntu, "
            f"`dnf install java-{self.minimum}-openjdk-headless` on Fedora, "
            f"`brew install openjdk@{self.minimum}` on macOS."
        )


class DownloadError(MirrorError):
    """A part of the sandbox could not be downloaded."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(part, reason)
        self.part, self.reason = part, reason

    def __str__(self) -> str:
        return (
            f"Could not download {self.part}. Check the network and try again; it is needed only "
            f"once.\n{self.reason}"
        )


class ServerUnavailableError(MirrorError):
    """A server that the sandbox runs where it can be had, cannot be had on this machine."""

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(server, reason)
        self.server, self.reason = server, reason

    def __str__(self) -> str:
        return f"The sandbox can do without {self.server}, which is not to be had: {self.reason}"


class ServerStartError(MirrorError):
    """A server of the sandbox ended, or did not answer in time."""

    def __init__(self, server: str, reason: str, log: str) -> None:
        super().__init__(server, reason, log)
        self.server, self.reason, self.log = server, reason, log

    def __str__(self) -> str:
        return f"{self.server} did not start: {self.reason}. The last lines of its log:\n{self.log}"


class ConnectorFailedError(MirrorError):
    """Kafka Connect refused a connector, or its task failed."""

    def __init__(self, connector: str, reason: str) -> None:
        super().__init__(connector, reason)
        self.connector, self.reason = connector, reason

    def __str__(self) -> str:
        return f"The connector {self.connector} does not run: {self.reason}"


class DemoFolderError(MirrorError):
    """The demo cannot live in the folder it was given."""

    exit_code: ClassVar[int] = 2

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(folder, reason)
        self.folder, self.reason = folder, reason

    def __str__(self) -> str:
        return f"The demo cannot use {self.folder}: {self.reason}. Choose another with --folder."


class MirrorEndedError(MirrorError):
    """The mirror of a demo ended though nobody asked it to."""

    def __init__(self, code: int, log: str, last_lines: str) -> None:
        super().__init__(code, log, last_lines)
        self.code, self.log, self.last_lines = code, log, last_lines

    def __str__(self) -> str:
        return (
            f"`database-mirror run` ended with exit code {self.code}. "
            f"The last lines of {self.log}:\n{self.last_lines}"
        )


class MirrorStalledError(MirrorError):
    """The mirror of a demo runs, but what it should do does not happen."""

    def __init__(self, awaited: str, seconds: float, log: str, last_lines: str) -> None:
        super().__init__(awaited, seconds, log, last_lines)
        self.awaited, self.seconds, self.log, self.last_lines = awaited, seconds, log, last_lines

    def __str__(self) -> str:
        return (
            f"Waited for {self.awaited}, and nothing moved for {self.seconds:.0f} s. "
            f"The last lines of {self.log} tell why:\n{self.last_lines}"
        )
