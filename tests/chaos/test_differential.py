"""After thousands of random statements, each mirror equals its source, value by value."""

import logging
from pathlib import Path

import pytest

from tests.chaos.differential import run
from tests.chaos.shapes import Database
from tests.integration.stack import Stack

STATEMENTS = 6000
SEED = 5


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("database", list(Database))
def test_every_kind_of_deletes_follows_every_kind_of_change(
    stack: Stack, tmp_path: Path, database: Database
) -> None:
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        logging.getLogger(__name__).info("%s", line)

    result = run(stack, tmp_path, database, seed=SEED, statements=STATEMENTS, tell=tell)

    assert result.verdict.differences == 0, "\n".join(told)
    assert result.verdict.rows > STATEMENTS


@pytest.mark.timeout(1800)
def test_tables_follow_random_changes_of_columns(stack: Stack, tmp_path: Path) -> None:
    told: list[str] = []

    result = run(
        stack, tmp_path, Database.MARIADB, seed=SEED, statements=3000, tell=told.append, ddl=6
    )

    assert result.verdict.differences == 0, "\n".join(told)
    assert sum("ALTER TABLE" in line for line in told) == 6
