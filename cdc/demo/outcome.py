"""How the mirror compares with its source, table by table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psycopg

from cdc.demo.mirrored_tables import MirroredTables
from cdc.demo.postgres_rows import primary_key, read_rows
from cdc.demo.workload import LastChange
from cdc.observe.comparison import Comparison, compare

HEADINGS = ("table", "source rows", "mirrored rows", "differences", "seconds behind")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one table."""

    table: str
    comparison: Comparison
    # From the last change of the table, by the source's clock just before its commit, to the moment
    # that the mirror's commit with that change is dated. Both clocks are this machine's.
    seconds_behind: float


def outcomes(
    url: str, mirrored: MirroredTables, last_changes: Mapping[str, LastChange]
) -> list[Outcome]:
    """Compare every row and every value of the tables, which have caught up."""
    found = []
    with psycopg.connect(url) as connection:
        for table, last_change in last_changes.items():
            comparison = compare(
                mirrored.read(table), read_rows(connection, table), primary_key(connection, table)
            )
            found.append(Outcome(table, comparison, seconds_behind(mirrored, table, last_change)))
    return found


def has(mirrored: MirroredTables, table: str, change: LastChange) -> bool:
    """Whether a mirrored table has a change; it then has all that came before."""
    return any(commit.position >= change.position for commit in mirrored.commits(table))


def seconds_behind(mirrored: MirroredTables, table: str, change: LastChange) -> float:
    """Measure from a change to the first commit that has it."""
    commits = (c for c in mirrored.commits(table) if c.position >= change.position)
    return next(commits).milliseconds / 1000 - change.at.timestamp()


def outcome_lines(found: Sequence[Outcome]) -> list[str]:
    """Set the outcomes out as a table, and name the first differences by key and column."""
    rows = [
        (
            outcome.table,
            f"{outcome.comparison.source_rows:,}",
            f"{outcome.comparison.mirror_rows:,}",
            f"{outcome.comparison.differences:,}",
            f"{outcome.seconds_behind:.1f}",
        )
        for outcome in found
    ]
    widths = [max(len(row[place]) for row in (HEADINGS, *rows)) for place in range(len(HEADINGS))]
    lines = []
    for first, *rest in (HEADINGS, *rows):
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *numbers]))
    for outcome in found:
        if outcome.comparison.differences:
            lines.append(f"{outcome.table}: {outcome.comparison}")
        for sample in outcome.comparison.samples:
            where = f" in {', '.join(sample.columns)}" if sample.columns else ""
            lines.append(f"  {sample.kind}: key {sample.key}{where}")
    return lines
