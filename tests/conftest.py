"""Marks every test by its folder."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MARKED = ("unit", "spark", "integration")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not item.path.is_relative_to(TESTS):
            continue
        folder = item.path.relative_to(TESTS).parts[0]
        if folder in MARKED:
            item.add_marker(folder)
