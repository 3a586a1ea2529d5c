"""What a tool must do to be run through the cases. A driver for one is a class with these."""

from collections.abc import Sequence
from typing import Any, Protocol

from tests.conformance.source import Action, Sent


class NotOffered(Exception):
    """The tool has no such action; cases that need it do not apply."""


class System(Protocol):
    """A tool that reads topics and writes tables."""

    def apply(self, records: Sequence[Sent]) -> None:
        """Read one batch, of many topics, and return once the tables show it.

        Records of one topic partition come in the order of their offsets. Some may have come
        before: a tool that is fed from Kafka would meet them again after it was killed.
        """

    def do(self, action: Action) -> None:
        """Do something to a table or to the tool itself.

        topic: the table's topic has `argument` partitions from now on. compact: rewrite all data
        files of the table. rollback: set the table back to where it was after `argument` batches,
        and restart the tool. repartition: give the table the partition fields `argument`, and
        restart the tool. restart: stop the tool and start it again.
        """

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Read a table: its columns by their names. Moments in the tool's own columns are whole
        milliseconds since 1970."""

    def complaints(self, table: str, records: int) -> list[str]:
        """Say what else is wrong with a table that has been given so many records; None: any."""

    def stopped(self, table: str) -> str | None:
        """Say why the tool has set a table aside, if it has."""
