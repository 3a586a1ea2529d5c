"""How long each file of tests took, for the end of a run."""

from collections import defaultdict
from collections.abc import Iterable

import pytest

# Files that took less are one line together.
WORTH_SECONDS = 5.0


def slowest_files(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Add up set-up, call and tear-down of all tests by file, the slowest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    tests: defaultdict[str, set[str]] = defaultdict(set)
    for report in {id(report): report for report in reports}.values():
        file = report.nodeid.partition("::")[0]
        seconds[file] += report.duration
        tests[file].add(report.nodeid)
    slowest = sorted(seconds.items(), key=lambda found: -found[1])
    shown = [(file, took) for file, took in slowest if took >= WORTH_SECONDS]
    lines = [f"{took:8.1f}s {len(tests[file]):5} tests  {file}" for file, took in shown]
    left = set(seconds) - {file for file, _ in shown}
    if left:
        took, count = sum(seconds[f] for f in left), sum(len(tests[f]) for f in left)
        lines.append(f"{took:8.1f}s {count:5} tests  in {len(left)} other files")
    count = sum(map(len, tests.values()))
    return [*lines, f"{sum(seconds.values()):8.1f}s {count:5} tests  in all"]
