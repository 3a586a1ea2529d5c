"""What keeps a table from being followed that was dropped, made again or renamed at the source."""

from cdc.errors.base import MirrorError


class DroppedTableError(MirrorError):
    """A table was dropped at the source, and its rule does not let that pass."""

    def __init__(self, source: str, table: str) -> None:
        super().__init__(source, table)
        self.source, self.table = source, table

    def __str__(self) -> str:
        return (
            f"{self.source} was dropped at the source. {self.table} has all that came of it: drop "
            "it, or choose another policy for drop_table to keep it as it is."
        )


class RemadeTableError(MirrorError):
    """A table was dropped at the source and made again, and the mirror has rows of the old one."""

    def __init__(self, source: str, table: str, policy: str) -> None:
        super().__init__(source, table, policy)
        self.source, self.table, self.policy = source, table, policy

    def __str__(self) -> str:
        why = (
            "its policy for drop_table is fail"
            if self.policy == "fail"
            else "where in the log the new one begins is not known, since it was never seen missing"
        )
        return (
            f"{self.source} was dropped at the source and made again: no message tells that its "
            f"old rows are gone, which {self.table} has, and {why}. Choose drop_table = 'ignore' "
            "for it, which goes on and keeps those rows, and let the connector begin anew, without "
            "its offsets: such a snapshot replaces them."
        )


class RenamedTableError(MirrorError):
    """A table was renamed at the source in a way that its mirror cannot follow."""

    def __init__(self, source: str, former: str, reason: str) -> None:
        super().__init__(source, former, reason)
        self.source, self.former, self.reason = source, former, reason

    def __str__(self) -> str:
        return (
            f"{self.former} was renamed to {self.source} at the source, and its mirror cannot "
            f"follow: {self.reason}. Choose rename_table = 'ignore' for {self.former} to have "
            "another table made, which lacks the rows that are not sent again."
        )


class AwaitedTableError(MirrorError):
    """A renamed table has still to read what came under its old name."""

    def __init__(self, source: str, former: str, topic: str) -> None:
        super().__init__(source, former, topic)
        self.source, self.former, self.topic = source, former, topic

    def __str__(self) -> str:
        return (
            f"{self.source} is {self.former} under a new name, and goes on as soon as everything "
            f"of {self.topic} is applied. There is nothing to do, unless that one is parked."
        )


class EndedTopicError(MirrorError):
    """A topic got records of a table that the source does not have any more."""

    def __init__(self, source: str, topic: str, successor: str | None) -> None:
        super().__init__(source, topic, successor)
        self.source, self.topic, self.successor = source, topic, successor

    def __str__(self) -> str:
        if self.successor is None:
            return (
                f"{self.topic} got records of {self.source}, which was dropped at the source, and "
                "its mirror too. They are passed over at the next start."
            )
        return (
            f"{self.topic} got records of {self.source} when its mirror had already gone on with "
            f"{self.successor}: they are not applied. Take a new snapshot of that table, and "
            f"delete {self.topic}."
        )
