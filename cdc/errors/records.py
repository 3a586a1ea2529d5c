"""What is wrong with the records of a topic."""

from cdc.errors.base import MirrorError


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


class AvroTopicError(RecordError):
    """A record is Avro, and nothing says where its schema is."""

    def __str__(self) -> str:
        return (
            f"The record at {self.place} is Avro, whose schema only a registry knows. "
            "Set url under [registry] in the config."
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
    """A change leaves out a value that did not change, and nothing tells what it is."""

    def __init__(self, topic: str, column: str) -> None:
        super().__init__(topic, column)
        self.topic, self.column = topic, column

    def __str__(self) -> str:
        return (
            f"A change in {self.topic} leaves out the unchanged value of {self.column}, and the "
            "mirror has no row to take it from: its key is new, or its snapshot is missing. Take a "
            "new snapshot of the table; in PostgreSQL, ALTER TABLE … REPLICA IDENTITY FULL keeps "
            "it from happening again."
        )


class UnwritableError(MirrorError):
    """The changes of a topic could not be written as Parquet."""

    def __init__(self, topic: str, partition: int, reason: str) -> None:
        super().__init__(topic, partition, reason)
        self.topic, self.partition, self.reason = topic, partition, reason

    def __str__(self) -> str:
        return (
            f"The changes of {self.topic}, partition {self.partition}, cannot be written: "
            f"{self.reason}. This is a fault of database-mirror: please report it."
        )


class TopicGrewError(MirrorError):
    """A topic has more partitions than when the stream started; starting again takes them in."""

    retryable = True

    def __init__(self, topic: str, partitions: int) -> None:
        super().__init__(topic, partitions)
        self.topic, self.partitions = topic, partitions

    def __str__(self) -> str:
        return (
            f"Topic {self.topic} had {self.partitions} partitions and has more now, so that keys "
            "have moved. The stream starts again and applies what was before jointly."
        )


class SpreadKeyError(MirrorError):
    """A key that the config names is not the one by which Kafka orders the records."""

    def __init__(self, topic: str, key: tuple[str, ...]) -> None:
        super().__init__(topic, key)
        self.topic, self.key = topic, key

    def __str__(self) -> str:
        return (
            f"Topic {self.topic} has several partitions, and Kafka keeps no order between changes "
            f"of one {', '.join(self.key)} that come through different ones. Give the topic one "
            "partition, or let the connector make this the records' key (message.key.columns) and "
            "remove key from the config."
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


class TooManyBadRecordsError(MirrorError):
    """More records of a batch cannot be applied than the config lets into the quarantine."""

    def __init__(
        self, table: str, bad: int, read: int, allowed: int, place: tuple[int, int], reason: str
    ) -> None:
        super().__init__(table, bad, read, allowed, place, reason)
        self.table, self.bad, self.read, self.allowed = table, bad, read, allowed
        self.place, self.reason = place, reason

    def __str__(self) -> str:
        partition, offset = self.place
        return (
            f"{self.bad} of {self.read} records of {self.table} in one batch cannot be applied, "
            f"and max_quarantined allows {self.allowed}. The first is at partition {partition}, "
            f"offset {offset}: {self.reason}. Nothing of the batch was written for this table. "
            "Remove the cause, or raise max_quarantined in its rule of the config; it then goes "
            "on from there by itself."
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
