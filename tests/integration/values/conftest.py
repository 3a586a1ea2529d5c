"""The value tests tell at the end of the run what they have compared."""

import pytest

from tests.integration.values.cells import Tally

TALLIES = pytest.StashKey[dict[str, Tally]]()


@pytest.fixture(scope="session")
def tallies(request: pytest.FixtureRequest) -> dict[str, Tally]:
    """Give the place for what is to be told, by database."""
    return request.config.stash.setdefault(TALLIES, {})


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the cells of each database."""
    tallies = config.stash.get(TALLIES, {})
    if not tallies:
        return
    cells = sum(len(tally.cells) for tally in tallies.values())
    terminalreporter.section("values compared")
    terminalreporter.write_line(f"{cells} cells of (type, edge, format, mode)")
    for database, tally in tallies.items():
        for line in tally.lines(database):
            terminalreporter.write_line(line)
