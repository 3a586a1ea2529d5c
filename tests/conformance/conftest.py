"""Prints the matrix at the end of `make conformance`."""

import os

import pytest

from tests.conformance.all_cases import CASES
from tests.conformance.matrix import ALL, Column, columns, table_of


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what became of every case in every column."""
    if ALL not in os.environ:
        return
    outcome = {}
    for how, sign in (
        ("passed", "."),
        ("skipped", "-"),
        ("failed", "F"),
        ("error", "F"),
    ):
        for report in terminalreporter.getreports(how):
            cell = dict(report.user_properties).get("cell")
            if cell is not None:
                name, *column = cell
                outcome[name, Column(*column)] = sign
    if outcome:
        terminalreporter.section("conformance")
        terminalreporter.write_line("\n".join(table_of(outcome, CASES, columns())))
