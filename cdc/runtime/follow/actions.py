"""What can be done about a table of the source: `run` does it, `check` says that it would.

An action is what was decided, from a view of the table and what the source's messages and catalog
tell; to decide changes nothing. What cannot be decided is an error, and parks the table.
"""

from dataclasses import dataclass
from enum import StrEnum

from cdc.errors import MirrorError
from cdc.model import TableName
from cdc.schema import Decision, statement

GO_ON = "go on"


class SourceChange(StrEnum):
    """What is done when the table of the source is gone or another one, as the schema log says."""

    KEEP = "DROP TABLE at the source: stays"
    DROP = "DROP TABLE"
    ROWS_GO = "DROP TABLE, CREATE TABLE at the source: rows from before go"
    ROWS_STAY = "DROP TABLE, CREATE TABLE at the source: rows from before stay"


@dataclass(frozen=True, slots=True)
class Create:
    """Make a table that is not there yet."""

    @property
    def texts(self) -> tuple[str, ...]:
        """What is done, one text for each step."""
        return ("create",)


@dataclass(frozen=True, slots=True)
class Alter:
    """Change columns, in one commit."""

    decision: Decision

    @property
    def texts(self) -> tuple[str, ...]:
        """The statements, as SQL would say them."""
        return tuple(statement(step) for _, steps in self.decision.steps for step in steps)


@dataclass(frozen=True, slots=True)
class Rename:
    """Give a table another name, and with it the topic of that name."""

    old: TableName
    new: TableName

    @property
    def texts(self) -> tuple[str, ...]:
        """What is done."""
        return (f"RENAME TABLE {self.old} TO {self.new}",)


@dataclass(frozen=True, slots=True)
class FollowSource:
    """Do what is to be done since the table of the source is gone, or another one."""

    change: SourceChange

    @property
    def texts(self) -> tuple[str, ...]:
        """What is done."""
        return (self.change.value,)


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave a topic alone: it holds nothing but records of a table that was dropped or renamed."""

    successor: str | None  # the topic of the renamed table

    @property
    def texts(self) -> tuple[str, ...]:
        """What became of its table."""
        return (
            "left: dropped" if self.successor is None else f"left: goes on as {self.successor}",
        )


@dataclass(frozen=True, slots=True)
class Park:
    """Leave a table as it is until somebody has seen to it."""

    reason: MirrorError

    @property
    def texts(self) -> tuple[str, ...]:
        """Why."""
        return (f"park: {self.reason}",)


Action = Create | Alter | Rename | FollowSource | Leave | Park


def action_text(actions: list[Action]) -> str:
    """Write some actions as one text, in their order."""
    return "; ".join(text for action in actions for text in action.texts) or GO_ON
