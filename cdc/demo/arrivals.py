"""Show each commit as it arrives, and how long after the change at the source it did."""

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg

from cdc.demo.mirrored_tables import Commit, MirroredTables
from cdc.demo.workload import NOW

POLL_SECONDS: Final = 0.2


class SourceClock:
    """Tells when a position of the source's log was written.

    It notes again and again how far the log is. What lies between two notes is dated with the
    earlier one, so that a delay comes out too long by at most the time between them.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._positions: list[int] = []
        self._times: list[float] = []

    def note(self) -> None:
        """Note how far the log is now."""
        row = self._connection.execute(NOW).fetchone()
        assert row is not None
        position, now = row[0], row[1].timestamp()
        if self._positions and self._positions[-1] == position:
            self._times[-1] = now  # still nothing written
        else:
            self._positions.append(position)
            self._times.append(now)

    def seconds_since(self, position: int, milliseconds: int) -> float | None:
        """Say how long before a moment a position was written; None if it is before all notes."""
        place = bisect_left(self._positions, position)
        # A position that equals a note is the next thing that was written after it.
        if place < len(self._positions) and self._positions[place] == position:
            place += 1
        return milliseconds / 1000 - self._times[place - 1] if place else None


def arrivals(mirrored: MirroredTables, tables: Sequence[str], clock: SourceClock) -> Iterator[str]:
    """Give a line for each commit from now on, without end; an empty one each time nothing came."""
    seen = {table: _last_number(mirrored.commits(table)) for table in tables}
    while True:
        clock.note()
        quiet = True
        for table in tables:
            for commit in mirrored.commits(table):
                if commit.number > seen[table]:
                    seen[table], quiet = commit.number, False
                    yield _line(table, commit, clock)
        if quiet:
            yield ""
        time.sleep(POLL_SECONDS)


def _line(table: str, commit: Commit, clock: SourceClock) -> str:
    parts = []
    if commit.added:
        parts.append(f"+{_counted(commit.added, 'row')}")
    if commit.deleted:
        parts.append(_counted(commit.deleted, "delete"))
    seconds = clock.seconds_since(commit.position, commit.milliseconds)
    if seconds is not None:
        parts.append(f"{seconds:.1f} s after the change")
    return f"{table}: {', '.join(parts) or 'nothing new in it'}"


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def _last_number(commits: Sequence[Commit]) -> int:
    return commits[-1].number if commits else 0
