"""Servers and processes that do not do what is asked of them."""

from cdc.errors.base import MirrorError


class KafkaUnreachableError(MirrorError):
    """No Kafka broker answers, or it refuses the client."""

    retryable = True

    servers: str
    reason: str
    text = (
        "Kafka at {servers} does not answer: {reason}. Check that its brokers run, and their "
        "addresses and credentials in [kafka]."
    )


class CatalogUnreachableError(MirrorError):
    """The catalog does not answer, or refuses to."""

    retryable = True

    kind: str
    reason: str
    text = (
        "The {kind} catalog does not answer: {reason}. Check that it runs, and its address and "
        "credentials in [catalog]."
    )


class UnlistedCatalogError(MirrorError):
    """Only Spark can read the catalog."""

    kind: str
    text = (
        "Only Spark can read a {kind} catalog, so its tables cannot be listed here. Query their "
        "snapshots in Spark, or choose another catalog.type."
    )


class RegistryUnreachableError(MirrorError):
    """The schema registry does not answer, or not as one, so that no schema is known for sure."""

    retryable = True

    url: str
    reason: str
    text = (
        "The schema registry at {url} does not give schemas: {reason}. Check that it runs, and its "
        "address and credentials in [registry]."
    )


class SourceUnreachableError(MirrorError):
    """The source database does not answer, or cannot be a source as it is."""

    database: str
    reason: str
    text = (
        "{database} cannot be used as the source: {reason}. Correct that, or source.url if it "
        "names the wrong server."
    )


class DriverMissingError(MirrorError):
    """The client library of the source database is not installed."""

    exit_code = 2

    database: str
    package: str
    extra: str
    text = (
        "To connect to {database}, the Python package {package} is needed, which is not installed. "
        "Run `pip install 'database-mirror[{extra}]'`, or remove source.url: the mirror runs "
        "without it."
    )


class SourceDownError(MirrorError):
    """The source database cannot be reached when its catalog is asked."""

    retryable = True

    database: str
    reason: str
    text = (
        "{database} cannot be reached: {reason}. It is asked for the column types, since the "
        "messages carry no schema. Check that it runs, and its address in source.url."
    )


class SourceCatalogError(MirrorError):
    """The source database answers, but its catalog does not give the columns of a table."""

    table: str
    reason: str
    text = (
        "The columns of {table} cannot be read from the source database: {reason}. Let source.url "
        "name the database of the topic and a user who may read its catalog."
    )


class StreamFailedError(MirrorError):
    """Spark's stream ended by itself."""

    retryable = True

    reason: str
    text = "The stream from Kafka failed: {reason}\nSpark's own messages in the log say more."


class SandboxClosedError(MirrorError):
    """The sandbox was closed while something still waited for it."""

    text = "The sandbox is closed. Open a new one."


class SandboxPartMissingError(MirrorError):
    """The sandbox needs something that is not installed."""

    part: str
    remedy: str
    text = "The sandbox lacks {part}. {remedy}"


class JavaMissingError(MirrorError):
    """There is no Java runtime, or only one that is too old."""

    minimum: int
    found: int | None

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

    part: str
    reason: str
    text = (
        "Could not download {part}. Check the network and try again; it is needed only once.\n"
        "{reason}"
    )


class ServerUnavailableError(MirrorError):
    """A server that the sandbox can do without is not available on this machine."""

    server: str
    reason: str
    text = "{server} is not available here, and the sandbox can do without it: {reason}"


class ServerStartError(MirrorError):
    """A server of the sandbox ended, or did not answer in time."""

    server: str
    reason: str
    log: str
    text = "{server} did not start: {reason}. The last lines of its log:\n{log}"


class ConnectorFailedError(MirrorError):
    """Kafka Connect refused a connector, or its task failed."""

    connector: str
    reason: str
    text = "The connector {connector} does not run: {reason}\nThe log of Kafka Connect says more."


class DemoFolderError(MirrorError):
    """The demo cannot live in the folder it was given."""

    exit_code = 2

    folder: str
    reason: str
    text = "The demo cannot use {folder}: {reason}. Choose another with --folder."


class MirrorEndedError(MirrorError):
    """The mirror of a demo ended though nobody asked it to."""

    code: int
    log: str
    last_lines: str
    text = (
        "`database-mirror run` ended with exit code {code}. The last lines of {log}:\n{last_lines}"
    )


class MirrorStalledError(MirrorError):
    """The mirror of a demo runs, but what it should do does not happen."""

    awaited: str
    seconds: float
    log: str
    last_lines: str
    text = (
        "Waited for {awaited}, without any progress for {seconds:.0f} s. The last lines of {log} "
        "tell why:\n{last_lines}"
    )
