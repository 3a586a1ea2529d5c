"""What is wrong with the records of a topic."""

from cdc.errors.base import MirrorError


class NotDebeziumError(MirrorError):
    """A record is not a change as Debezium writes them."""

    topic: str
    partition: int
    offset: int
    reason: str
    text = (
        "The record at {topic}, partition {partition}, offset {offset} is not a Debezium change: "
        "{reason}. Narrow source.topics to Debezium's own topics, or find out what else writes to "
        "this one."
    )


class AvroTopicError(MirrorError):
    """A record is Avro, and no schema registry is configured."""

    topic: str
    partition: int
    offset: int
    text = (
        "The record at {topic}, partition {partition}, offset {offset} is Avro, and its schema is "
        "in a schema registry. Set url under [registry] in the config."
    )


class ManyTablesError(MirrorError):
    """A topic has the changes of more than one source table."""

    topic: str
    tables: tuple[str, ...]
    text = (
        "Topic {topic} has changes of several tables ({tables}). Remove the transform that routes "
        "them together (such as ByLogicalTableRouter) from the connector, so that each table has "
        "its own topic, take a new snapshot, and leave this topic out of source.topics."
    )


class MissingValueError(MirrorError):
    """A change leaves out a value that did not change, and the mirror does not have it either."""

    topic: str
    column: str
    text = (
        "A change in topic {topic} leaves out the unchanged value of {column}, and the mirrored "
        "table has no row to take it from: its key is new, or its snapshot is missing. Have the "
        "connector take a new snapshot of the table; in PostgreSQL, ALTER TABLE … REPLICA IDENTITY "
        "FULL keeps it from happening again."
    )


class UnwritableError(MirrorError):
    """The changes of a topic could not be written as Parquet."""

    topic: str
    partition: int
    reason: str
    text = (
        "The changes of topic {topic}, partition {partition} cannot be written as Parquet: "
        "{reason}. This is a bug in database-mirror: please report it."
    )


class TopicGrewError(MirrorError):
    """A topic has more partitions than when the stream started; starting again takes them in."""

    retryable = True

    topic: str
    partitions: int
    text = (
        "Topic {topic} had {partitions} partitions and has more now, so keys may be in other "
        "partitions than before. The stream starts again, and what came before is applied in one "
        "task; there is nothing to do."
    )


class SpreadKeyError(MirrorError):
    """The key that the config names is not the one by which Kafka orders the records."""

    topic: str
    key: tuple[str, ...]
    text = (
        "Topic {topic} has several partitions, and Kafka keeps no order between changes of one "
        "{key} that are in different partitions. Give the topic one partition, or let the "
        "connector make this the records' key (message.key.columns) and remove key from the "
        "table's rule."
    )


class RestlessTopicError(MirrorError):
    """Every pass over one batch of a topic met another schema change."""

    topic: str
    text = (
        "Every pass over one batch of topic {topic} met another schema change, truncate or "
        "snapshot. Lower stream.max_records, so that a batch holds fewer of them."
    )


class TooManyBadRecordsError(MirrorError):
    """More records of a batch cannot be applied than max_quarantined lets into the quarantine."""

    table: str
    bad: int
    read: int
    allowed: int
    place: tuple[int, int]  # partition and offset of the first
    reason: str
    text = (
        "{bad} of {read} records of {table} in one batch cannot be applied, and max_quarantined "
        "allows {allowed}. The first is at partition {place[0]}, offset {place[1]}: {reason}. "
        "Nothing of the batch was written for this table. Remove the cause, or raise "
        "max_quarantined in its rule; the table then goes on from there."
    )


class AccountError(MirrorError):
    """The records of a table do not add up, so nothing of the batch was committed to it."""

    topic: str
    account: str
    text = (
        "The records of topic {topic} do not add up: {account}. Nothing of the batch was committed "
        "to its table. This is a bug in database-mirror: please report it with these numbers."
    )


class LostRecordsError(MirrorError):
    """Kafka no longer has, or never had, the records that a table needs next."""

    topic: str
    partition: int
    wanted: int
    first: int
    next: int

    def __str__(self) -> str:
        what = "has been deleted" if self.wanted < self.first else "does not exist"
        return (
            f"The mirrored table of topic {self.topic} goes on at offset {self.wanted} of "
            f"partition {self.partition}, which {what}: Kafka holds offsets from {self.first} (log "
            f"start) up to {self.next} (log end). Drop the mirrored table and have the connector "
            "take a new snapshot."
        )
