"""The columns of a source table, as its messages describe them."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True)
class SourceType:
    """A Connect type: the physical kind and, where Debezium gives one, the logical name."""

    kind: str
    logical: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    element: "SourceType | None" = None
    fields: tuple["SourceColumn", ...] = ()

    def parameter(self, name: str) -> str | None:
        """Give the value of one schema parameter, such as `scale`."""
        return dict(self.parameters).get(name)

    @property
    def whole(self) -> str:
        """All that tells the type from another, as text."""
        element = self.element.whole if self.element else ""
        fields = [(field.name, field.type.whole) for field in self.fields]
        return repr((self.kind, self.logical, self.parameters, element, fields))

    def __str__(self) -> str:
        if self.logical:
            return f"{self.kind} ({self.logical})"
        return f"{self.kind}<{self.element}>" if self.element else self.kind


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """One column as the source's change messages describe it."""

    name: str
    type: SourceType
    # Whether the source says that it may be null; None where it says nothing. No two columns
    # differ by this alone: it decides what a new table is like, not how a message is read.
    optional: bool | None = field(default=None, compare=False)
    # The value of rows that do not say one, as messages would write it.
    default: Any = field(default=None, compare=False)


class Form(StrEnum):
    """How a message holds the row."""

    ENVELOPE = "envelope"  # before, after, op and source
    FLAT = "flat"  # the row itself, as ExtractNewRecordState leaves it
    DOCUMENT = "document"  # an envelope around the text of a document


@dataclass(frozen=True, slots=True)
class SourceSchema:
    """The columns and the key of a source table, as one version of its messages has them."""

    columns: tuple[SourceColumn, ...]
    key: tuple[str, ...]
    form: Form = Form.ENVELOPE
    # The messages carry no schema: some of these types were guessed from values.
    inferred: bool = False
    untyped: tuple[str, ...] = ()  # then also: columns without a value and a type
