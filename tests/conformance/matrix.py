"""The columns of the matrix: every mode, every way to delete, every wire format."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from tests.conformance.case import FORMATS, MODES, Case

# How rows are replaced: by value, by position found in a key index, by MERGE INTO, and by
# position in deletion vectors.
DELETES = ("equality", "positional", "merge", "v3")
# A log replaces nothing.
NO_DELETES = "none"

# The variable that asks for all columns and for the matrix in print.
ALL = "CONFORMANCE_ALL"
# All cases in one column, and every sixth in each of the others; of those, `make test` has time for
# every second.
WHOLE = ("mirror", "positional", "json")
SAMPLED = (
    ("mirror", "equality", "avro"),
    ("mirror", "merge", "plain"),
    ("soft", "positional", "json"),
    ("history", "equality", "plain"),
    ("append", NO_DELETES, "avro"),
    ("history", "positional", "json"),
    ("mirror", "v3", "json"),
    ("soft", "equality", "json"),
)
EVERY = 6
EVERY_IN_SHORT = 12


@dataclass(frozen=True, slots=True)
class Column:
    """One way to run all cases."""

    mode: str
    deletes: str
    format: str

    @property
    def name(self) -> str:
        """A name for tables, topics and tests."""
        return f"{self.mode}_{self.deletes}_{self.format}"

    @property
    def defaults(self) -> dict[str, str | int]:
        """What a config says for all tables."""
        settings: dict[str, str | int] = {
            "mode": "mirror" if self.mode == "soft" else self.mode,
            "on_delete": "soft" if self.mode == "soft" else "hard",
            "deletes": "equality" if self.deletes == "equality" else "positional",
        }
        if self.deletes == "merge":
            settings["lookup"] = "merge"
        if self.deletes == "v3":
            settings["format_version"] = 3
        return settings

    def takes(self, case: Case) -> bool:
        """Whether a case is about something that this column has."""
        return self.mode in case.modes and self.format in case.formats

    def samples(self, number: int, every: int = EVERY) -> bool:
        """Whether the column takes a case, by its number, where time is short."""
        place = (self.mode, self.deletes, self.format)
        if place in SAMPLED:
            return (number + SAMPLED.index(place)) % every == 0
        return place == WHOLE


def columns() -> list[Column]:
    """List all columns."""
    return [
        Column(mode, deletes, format_)
        for mode in MODES
        for deletes in ((NO_DELETES,) if mode == "append" else DELETES)
        for format_ in FORMATS
    ]


def cells(cases: Iterable[Case], *, all_: bool) -> list[tuple[Case, Column, bool]]:
    """List which cases run in which columns: all that apply, or a sample.

    The last says whether `make test` has time for the cell.
    """
    return [
        (case, column, column.samples(number, EVERY_IN_SHORT))
        for column in columns()
        for number, case in enumerate(cases)
        if column.takes(case) and (all_ or column.samples(number))
    ]


Outcome = Mapping[tuple[str, Column], str]


def table_of(outcome: Outcome, cases: Iterable[str], run: Iterable[Column]) -> list[str]:
    """Print what became of each case in each column: one sign for each wire format."""
    names, ran = list(cases), list(run)
    width = max(map(len, names), default=0)
    groups = [(key, list(members)) for key, members in groupby(ran, lambda c: (c.mode, c.deletes))]
    sizes = [max(len(mode), len(deletes), len(members)) for (mode, deletes), members in groups]

    def line(head: str, cells: Iterable[str]) -> str:
        padded = [cell.ljust(size) for cell, size in zip(cells, sizes, strict=True)]
        return f"{head.ljust(width)}  {'  '.join(padded)}".rstrip()

    lines = [
        line("mode", (mode for (mode, _), _ in groups)),
        line("deletes", (deletes for (_, deletes), _ in groups)),
        line("format", ("".join(c.format[0] for c in members) for _, members in groups)),
    ]
    for name in names:
        signs = ("".join(outcome.get((name, c), "-") for c in members) for _, members in groups)
        lines.append(line(name, signs))
    counts = {sign: list(outcome.values()).count(sign) for sign in ".F"}
    lines += [
        "",
        ". ok   F fails   - does not apply",
        "formats: j JSON with schemas, a Avro, p JSON without schemas",
        f"{counts['.']} ok, {counts['F']} failed, {len(names)} cases",
    ]
    return lines
