"""After thousands of random statements, each mirror equals its source, value by value."""

import logging
from pathlib import Path

import pytest

from tests.chaos.differential import run
from tests.chaos.shapes import Database
from tests.integration.stack import Stack

STATEMENTS = 6000
SEED = 5
DDL = {Database.POSTGRES: 0, Database.MARIADB: 6}  # without, only new columns come


@pytest.mark.parametrize("database", list(Database))
def test_every_kind_of_deletes_follows_every_kind_of_change(
    stack: Stack, tmp_path: Path, database: Database
) -> None:
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        logging.getLogger(__name__).info("%s", line)

    ddl = DDL[database]
    result = run(stack, tmp_path, database, seed=SEED, statements=STATEMENTS, tell=tell, ddl=ddl)

    assert result.verdict.differences == 0, "\n".join(told)
    assert result.verdict.rows > STATEMENTS
    assert sum("ALTER TABLE" in line for line in told) >= max(ddl, 1)
