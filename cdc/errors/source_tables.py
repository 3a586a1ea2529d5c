"""What keeps a mirrored table from following one that was dropped, recreated or renamed."""

from cdc.errors.base import MirrorError


class DroppedTableError(MirrorError):
    """A table was dropped at the source, and its policy is fail."""

    source: str
    table: str
    text = (
        "{source} was dropped at the source, and its policy for drop_table is fail. {table} has "
        "all its changes. In schema_policies of its rule set drop_table to 'ignore' to keep "
        "{table}, or to 'evolve' to have it dropped, too."
    )


class RemadeTableError(MirrorError):
    """A table was dropped and created again at the source, and the mirror has rows of the old."""

    source: str
    table: str
    policy: str

    def __str__(self) -> str:
        why = (
            "its policy for drop_table is fail"
            if self.policy == "fail"
            else "it is not known where in the source's log the new table begins"
        )
        return (
            f"{self.source} was dropped and created again at the source. Debezium sends no deletes "
            f"for the old rows, which {self.table} still has, and {why}. In schema_policies of its "
            "rule set drop_table to 'ignore', which keeps those rows, and start the connector "
            "without its offsets: the snapshot that it then takes replaces them."
        )


class RenamedTableError(MirrorError):
    """A table was renamed at the source, and the mirrored table cannot be renamed with it."""

    source: str
    former: str
    reason: str
    text = (
        "{former} was renamed to {source} at the source, and its mirrored table cannot follow: "
        "{reason}. To have another table created instead, without the rows that are not sent "
        "again, set rename_table to 'ignore' in schema_policies of the rule of the old name."
    )


class AwaitedTableError(MirrorError):
    """A renamed table has still to apply what came under its old name."""

    source: str
    former: str
    topic: str
    text = (
        "{source} is {former} under a new name, and goes on as soon as everything in its old "
        "topic, {topic}, is applied. There is nothing to do, unless that topic is parked, too: "
        "then do what is said there."
    )


class EndedTopicError(MirrorError):
    """A topic got records of a table that the source does not have any more."""

    source: str
    topic: str
    successor: str | None

    def __str__(self) -> str:
        if self.successor is None:
            return (
                f"Topic {self.topic} got records of {self.source}, which was dropped at the "
                "source, and its mirrored table, too. The next start skips them; there is nothing "
                "to do."
            )
        return (
            f"Topic {self.topic} got records of {self.source} after the table was renamed and its "
            f"mirrored table had gone on with topic {self.successor}: they are not applied. Have "
            f"the connector take a new snapshot of the table, and delete topic {self.topic}."
        )
