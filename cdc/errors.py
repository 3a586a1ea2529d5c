"""Every deliberate error: what happened, where, and what to do next."""

from dataclasses import dataclass
from typing import ClassVar


class MirrorError(Exception):
    """Base of all deliberate errors.

    A subclass hands its constructor arguments unchanged to `super().__init__` and builds the text
    in `__str__`, so that it can be pickled on its way back from a Spark worker.
    """

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False  # True: running the same batch again can help


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a config file."""

    path: str  # the setting, such as tables.rules[2].deletes
    text: str  # what is wrong with it
    advice: str = ""  # what to write instead

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.text}" if self.path else self.text]
        return "\n".join([*lines, f"    {self.advice}"] if self.advice else lines)


class ConfigError(MirrorError):
    """A config file cannot be used; all that is wrong with it at once."""

    exit_code: ClassVar[int] = 2

    def __init__(self, path: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(path, problems)
        self.path, self.problems = path, problems

    def __str__(self) -> str:
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        return "\n".join(
            [
                f"{self.path}: {count}",
                *("  " + str(problem).replace("\n", "\n  ") for problem in self.problems),
            ]
        )


class SecretError(MirrorError):
    """A secret that the config names cannot be read."""

    exit_code: ClassVar[int] = 2

    def __init__(self, setting: str, reference: str, reason: str) -> None:
        super().__init__(setting, reference, reason)
        self.setting, self.reference, self.reason = setting, reference, reason

    def __str__(self) -> str:
        place = f"{self.setting} = {self.reference}" if self.setting else self.reference
        return f"{place} cannot be read: {self.reason}"


class RecordError(MirrorError):
    """Base of the errors that one record of a topic causes."""

    def __init__(self, topic: str, partition: int, offset: int, *facts: str) -> None:
        super().__init__(topic, partition, offset, *facts)
        self.topic, self.partition, self.offset = topic, partition, offset

    @property
    def place(self) -> str:
        """Name the record."""
        return f"{self.topic}, partition {self.partition}, offset {self.offset}"


class NotDebeziumError(RecordError):
    """A record is not a change as Debezium writes them."""

    def __init__(self, topic: str, partition: int, offset: int, reason: str) -> None:
        super().__init__(topic, partition, offset, reason)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"The record at {self.place} is not a Debezium change: {self.reason}. "
            "Narrow source.topics to Debezium's own topics, or see what else writes there."
        )


class SchemalessTopicError(RecordError):
    """A record carries no schema, so its column types are unknown."""

    def __str__(self) -> str:
        return (
            f"The record at {self.place} has no schema. Set key.converter.schemas.enable and "
            "value.converter.schemas.enable to true in the Debezium connector's settings."
        )


class AvroTopicError(RecordError):
    """A record is Avro, which this version does not read."""

    def __str__(self) -> str:
        return (
            f"The record at {self.place} is Avro, which this version does not read yet. "
            "Use JSON with schemas: org.apache.kafka.connect.json.JsonConverter."
        )


class ManyTablesError(MirrorError):
    """A topic carries the changes of more than one source table."""

    def __init__(self, topic: str, tables: tuple[str, ...]) -> None:
        super().__init__(topic, tables)
        self.topic, self.tables = topic, tables

    def __str__(self) -> str:
        return (
            f"Topic {self.topic} carries changes of several tables ({', '.join(self.tables)}). "
            "Remove the routing that joins them, so that each table has a topic of its own."
        )


class MissingValueError(MirrorError):
    """A change leaves out a value that did not change, and the mirror cannot fill it yet."""

    def __init__(self, topic: str, column: str) -> None:
        super().__init__(topic, column)
        self.topic, self.column = topic, column

    def __str__(self) -> str:
        return (
            f"A change in {self.topic} leaves out the unchanged value of {self.column}, which this "
            "version cannot fill yet. Run ALTER TABLE … REPLICA IDENTITY FULL on the source table."
        )


class UnfitValueError(MirrorError):
    """A value does not fit the type of its column in the mirror."""

    def __init__(
        self, topic: str, partition: int, first: int, last: int, column: str, kind: str, reason: str
    ) -> None:
        super().__init__(topic, partition, first, last, column, kind, reason)
        self.topic, self.partition, self.first, self.last = topic, partition, first, last
        self.column, self.kind, self.reason = column, kind, reason

    def __str__(self) -> str:
        return (
            f"A value of {self.column} in {self.topic}, partition {self.partition}, offsets "
            f"{self.first} to {self.last}, does not fit {self.kind}: {self.reason}. "
            "Leave the column out of the connector, or change the value at the source."
        )


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
            f"Java {self.minimum} or later is needed, and {state} through JAVA_HOME or PATH. Install it: "
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
            f"Could not download {self.part}. Check the network and try again; it is needed only once."
            f"\n{self.reason}"
        )


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


class UnmappableTypeError(MirrorError):
    """A source column has a type that no mapping covers."""

    def __init__(self, table: str, column: str, source_type: str) -> None:
        super().__init__(table, column, source_type)
        self.table, self.column, self.source_type = table, column, source_type

    def __str__(self) -> str:
        return (
            f"{self.table}.{self.column} has type {self.source_type}, which has no exact Iceberg "
            "type. Leave the column out with the connector's column.exclude.list."
        )


class NoKeyError(MirrorError):
    """A source table has no key, so that its rows cannot be told apart."""

    def __init__(self, table: str, missing: tuple[str, ...]) -> None:
        super().__init__(table, missing)
        self.table, self.missing = table, missing

    def __str__(self) -> str:
        if self.missing:
            return (
                f"The key of {self.table} names columns that its rows do not have: "
                f"{', '.join(self.missing)}. Leave them in the connector's column.include.list."
            )
        return (
            f"{self.table} has no primary key, so its rows cannot be told apart. Add one at the "
            "source, or name the columns in the connector's message.key.columns."
        )


class ForeignTableError(MirrorError):
    """A table stands where the mirror wants to write, and is not its own."""

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(table, reason)
        self.table, self.reason = table, reason

    def __str__(self) -> str:
        return (
            f"The table {self.table} cannot be written by this mirror: {self.reason}. "
            "Choose another target.table in the config, or move that table away."
        )


class SchemaChangeError(MirrorError):
    """The source changed in a way that the mirror cannot follow."""

    def __init__(self, table: str, changes: tuple[str, ...]) -> None:
        super().__init__(table, changes)
        self.table, self.changes = table, changes

    def __str__(self) -> str:
        return (
            f"{self.table} changed at the source in a way that the mirror cannot follow: "
            f"{'; '.join(self.changes)}. Drop the mirrored table to have it made anew."
        )


class CommitConflictError(MirrorError):
    """Somebody else wrote to a table, or the answer to a commit was lost."""

    retryable = True

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(table, reason)
        self.table, self.reason = table, reason

    def __str__(self) -> str:
        return (
            f"A commit to {self.table} met another writer's: {self.reason}. "
            "See that only one process mirrors into it."
        )


class CatalogError(MirrorError):
    """Iceberg or its catalog refused something."""

    retryable = True

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(table, reason)
        self.table, self.reason = table, reason

    def __str__(self) -> str:
        return f"Iceberg refused {self.table}: {self.reason}. See that [catalog] is right."


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


class RestlessTopicError(MirrorError):
    """A topic brought something new each time it was read."""

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.topic = topic

    def __str__(self) -> str:
        return (
            f"Topic {self.topic} brought something new in every pass over one batch. "
            "Lower stream.max_records, so that a batch holds fewer schema changes."
        )


class AccountError(MirrorError):
    """The records of a table do not add up, so nothing of the batch was committed to it."""

    def __init__(self, topic: str, account: str) -> None:
        super().__init__(topic, account)
        self.topic, self.account = topic, account

    def __str__(self) -> str:
        return (
            f"The records of {self.topic} do not add up: {self.account}. Nothing was committed. "
            "This is a fault of database-mirror: please report it with these numbers."
        )


class LostRecordsError(MirrorError):
    """Kafka no longer holds, or never held, the records that a table needs next."""

    def __init__(self, topic: str, partition: int, wanted: int, first: int, next_: int) -> None:
        super().__init__(topic, partition, wanted, first, next_)
        self.topic, self.partition, self.wanted = topic, partition, wanted
        self.first, self.next = first, next_

    def __str__(self) -> str:
        what = "has been deleted" if self.wanted < self.first else "does not exist"
        return (
            f"The mirror of {self.topic} goes on at offset {self.wanted} of partition "
            f"{self.partition}, which {what}: Kafka holds {self.first} up to {self.next}. "
            "Drop the mirrored table and have the connector take a new snapshot."
        )


class StreamFailedError(MirrorError):
    """Spark's stream ended by itself."""

    retryable = True

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"The stream from Kafka failed: {self.reason}"


class FolderError(MirrorError):
    """A folder that the config names cannot be made."""

    def __init__(self, setting: str, folder: str, reason: str) -> None:
        super().__init__(setting, folder, reason)
        self.setting, self.folder, self.reason = setting, folder, reason

    def __str__(self) -> str:
        return (
            f"The folder {self.folder} of {self.setting} cannot be made: {self.reason}. "
            "Choose a place that this user may write to."
        )


class JarsMissingError(MirrorError):
    """The folder that should hold Spark's extra jars has none."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.folder = folder

    def __str__(self) -> str:
        return (
            f"DATABASE_MIRROR_JARS names {self.folder}, which holds no jar. Unset it, or fill the "
            "folder with `python -m cdc.runtime.jars FOLDER`."
        )


class SourceUnreachableError(MirrorError):
    """The source database does not answer, or cannot be a source as it is."""

    def __init__(self, database: str, reason: str) -> None:
        super().__init__(database, reason)
        self.database, self.reason = database, reason

    def __str__(self) -> str:
        return f"{self.database} cannot be the source: {self.reason}. See source.url."


class IncomparableColumnError(MirrorError):
    """A column has types in the mirror and at the source that share no values."""

    def __init__(self, column: str, mirror_type: str, source_type: str) -> None:
        super().__init__(column, mirror_type, source_type)
        self.column, self.mirror_type, self.source_type = column, mirror_type, source_type

    def __str__(self) -> str:
        return (
            f"{self.column} is {self.mirror_type} in the mirror and {self.source_type} at the "
            "source, which cannot be compared. Drop the mirrored table to have it made anew."
        )


class UnmirrorableValueError(MirrorError):
    """A table of the source holds a value that has no form in any mirror."""

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(table, reason)
        self.table, self.reason = table, reason

    def __str__(self) -> str:
        return (
            f"{self.table} holds a value that no mirror can have: {self.reason}. "
            "Change it at the source, or leave the column out of the connector."
        )


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


class UnmirrorableColumnError(MirrorError):
    """A source column cannot be one of the mirrored table."""

    def __init__(self, table: str, column: str, reason: str) -> None:
        super().__init__(table, column, reason)
        self.table, self.column, self.reason = table, column, reason

    def __str__(self) -> str:
        return (
            f"{self.table}.{self.column} cannot be mirrored: {self.reason}. "
            "Rename it, or leave it out with the connector's column.exclude.list."
        )
