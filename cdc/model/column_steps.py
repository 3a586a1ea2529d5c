"""The words for changes of a table's columns, which one stage plans and another one makes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class StepKind(StrEnum):
    """What can be done to a column."""

    ADD = "add"
    DROP = "drop"
    RENAME = "rename"
    TYPE = "type"
    OPTIONAL = "optional"
    COMMENT = "comment"
    KEY = "key"  # the path holds all columns that are the key from now on


@dataclass(frozen=True, slots=True)
class ColumnStep:
    """One thing to do to a table's columns."""

    kind: StepKind
    path: tuple[str, ...]
    type: Any = None  # an Iceberg type
    to: str | None = None  # the new name, or the comment
    after: str | None = None  # the column behind which a new one goes
