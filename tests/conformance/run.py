"""Plays cases to a system, all at once: each has topics and tables of its own."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.conformance.case import Case, Script
from tests.conformance.matrix import Column
from tests.conformance.source import OWN, Sent, Source, Step
from tests.conformance.system import NotOffered, System

READERS = 4
Write = Callable[[Sent], Sent]  # a record in the column's wire format
# What is wrong with each case; None where it does not apply.
Findings = dict[str, list[str] | None]


def run(system: System, cases: Iterable[Case], column: Column, write: Write) -> Findings:
    """Play all cases, and compare the tables with what they must hold."""
    play = Play(system, column, write, {case: case.play(column.name) for case in cases})
    for number in range(max((len(script.steps) for script in play.scripts.values()), default=0)):
        play.step(number)
    with ThreadPoolExecutor(READERS) as threads:
        found = threads.map(play.compare, play.scripts)
    return dict(zip((case.name for case in play.scripts), found, strict=True))


class Play:
    """One run of many cases."""

    def __init__(
        self, system: System, column: Column, write: Write, scripts: Mapping[Case, Script]
    ) -> None:
        self.scripts = dict(scripts)
        self._system = system
        self._column = column
        self._write = write
        self._broken: dict[Case, str] = {}
        self._not_offered: set[Case] = set()

    def step(self, number: int) -> None:
        """Let all cases take their next step in one batch."""
        taken = {
            case: script.steps[number]
            for case, script in self.scripts.items()
            if number < len(script.steps) and case not in self._broken
        }
        for case, step in taken.items():
            self._act(case, step)
        going = [c for c in taken if c not in self._broken and c not in self._not_offered]
        try:
            self._system.apply([m for case in going for m in self._messages(taken[case])])
        except Exception:
            # Something in it fails the whole batch: find out which cases do.
            for case in going:
                try:
                    self._system.apply(self._messages(taken[case]))
                except Exception as error:
                    self._broken[case] = f"batch {number + 1}: {type(error).__name__}: {error}"

    def compare(self, case: Case) -> list[str] | None:
        """Say what is wrong with the tables of a case."""
        if case in self._not_offered:
            return None
        if case in self._broken:
            return [self._broken[case]]
        wrong = []
        script = self.scripts[case]
        for source in script.sources:
            for suffix, mode in case.targets(self._column.mode):
                wrong += self._compare_table(case, script, source, suffix, mode)
        return wrong

    def _compare_table(
        self, case: Case, script: Script, source: Source, suffix: str, mode: str
    ) -> list[str]:
        table = source.table.name + suffix
        reason = self._system.stopped(table)
        if source.stopped and reason is None:
            return [f"{table} is not set aside"]
        if reason is not None and not source.stopped:
            return [f"{table} is set aside: {reason}"]
        try:
            found = self._system.rows(table)
        except Exception as error:
            return [f"{table} cannot be read: {type(error).__name__}: {error}"[:500]]
        expected = case.expected(script, source, mode)
        # Types that are guessed from values leave no column where every value is null.
        guessed = self._column.format == "plain"
        wrong = differences(expected, found, guessed=guessed)
        wrong += self._system.complaints(table, case.model(script, source).distinct)
        return [f"{table}: {text}" for text in wrong]

    def _act(self, case: Case, step: Step) -> None:
        for action in step.actions:
            try:
                self._system.do(action)
            except NotOffered:
                self._not_offered.add(case)
            except Exception as error:
                self._broken[case] = f"{action.kind}: {type(error).__name__}: {error}"

    def _messages(self, step: Step) -> list[Sent]:
        return [self._write(record.message()) for record in step.records]


def differences(
    expected: list[dict[str, Any]], found: list[dict[str, Any]], *, guessed: bool
) -> list[str]:
    """List the rows that lack, the rows that are too many, and columns that should not be."""
    columns = list(dict.fromkeys(name for row in expected for name in row))
    if guessed:
        found = [dict.fromkeys(columns) | row for row in found]
    left = list(found)
    wrong = []
    for row in expected:
        if row in left:
            left.remove(row)
        else:
            wrong.append(f"lacks {_shown(row)}")
    return [*wrong, *(f"has {_shown(row)}" for row in left)]


def _shown(row: dict[str, Any]) -> str:
    return "(" + ", ".join(f"{n.removeprefix(OWN)}={v!r}" for n, v in row.items()) + ")"
