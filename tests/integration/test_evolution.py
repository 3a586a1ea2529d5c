"""Every change of columns, under every policy, in every wire format, from real databases.

Each case is one table of one database. The outcomes stand in `column_changes`. `make evolution`
runs them all, `make test-all` a choice that has each change under each policy on each database, and
`make test` one that has each on one of them; see `cases` and `in_short`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdc.errors import SchemaChangeError
from cdc.observe import RunSummary
from cdc.observe.comparison import compare
from tests.conftest import Configure
from tests.integration.column_changes import AT_SNAPSHOT, BETWEEN, DATABASES, outcome
from tests.integration.evolving import (
    FORMATS,
    Case,
    EvolvingDatabase,
    Mirrored,
    cases,
    expected_rows,
    in_short,
)
from tests.integration.stack import Stack
from tests.left_out import BEYOND_THE_SAMPLE


@dataclass(frozen=True, slots=True)
class Evolved:
    """A database whose tables have changed, and what became of their mirrors."""

    database: EvolvingDatabase
    mirrored: Mirrored
    summary: RunSummary


SEVERAL_CHANGES = "add_drop_add"

OpenEvolved = Callable[[str], Evolved]
TEST = "test_a_change_of_columns_does_what_the_policy_promises"


@pytest.fixture(scope="module")
def evolved(
    stack: Stack, spark: SparkSession, configure: Configure, request: pytest.FixtureRequest
) -> Iterator[OpenEvolved]:
    """Gives all tables that were asked for after all of their changes, which happen once."""
    opened: dict[str, EvolvingDatabase] = {}
    done: dict[str, Evolved] = {}

    def open_(name: str) -> Evolved:
        if name in opened and name not in done:
            pytest.fail("its changes could not be made; the first case of the database says why")
        if name not in opened:
            opened[name] = database = EvolvingDatabase(stack, name, _asked(request, name))
            database.create()
            config = configure(
                topics='", "'.join(f"{database.server(f)}.{database.schema}.*" for f in FORMATS),
                servers=stack.kafka.bootstrap_servers,
                connector=name,
                more=database.settings(),
            )
            config = replace(config, source=replace(config.source, url=database.url))
            summary = database.mirror(spark, config)
            done[name] = Evolved(database, Mirrored(config), summary)
        return done[name]

    yield open_
    for database in opened.values():
        database.close()


def _asked(request: pytest.FixtureRequest, database: str) -> list[Case]:
    """List the cases of a database that were asked for."""
    found: list[Case] = []
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.originalname == TEST:
            case: dict[str, Any] = item.callspec.params
            if case["name"] == database:
                found.append(case["case"])
    return found


def all_cases() -> list[object]:
    return [
        pytest.param(
            database,
            case,
            id=f"{database}-{case.table}",
            marks=() if in_short(database, case) else pytest.mark.full(BEYOND_THE_SAMPLE),
        )
        for database in DATABASES
        for case in cases(database)
    ]


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_a_change_of_columns_does_what_the_policy_promises(
    evolved: OpenEvolved, name: str, case: Case
) -> None:
    found = evolved(name)
    database, mirrored = found.database, found.mirrored
    wanted = outcome(case.change, case.policy, name, case.format)
    topic = database.topic_of(case)

    rows = mirrored.rows(database.server(case.format), case.table)
    reason = database.parked.reasons.get(topic)
    said_and_done = {names[0]: texts for names, texts in database.differences.items()}

    # Of several changes that wait, `check` sees what the last of them left.
    if case.change.name != SEVERAL_CHANGES:
        assert said_and_done.get(topic) is None
    if wanted.parked:
        assert isinstance(reason, SchemaChangeError)
        assert topic in found.summary.parked
        assert rows.column_names == ["id", "v", "note"]
        assert tuple(rows["id"].to_pylist()) in (AT_SNAPSHOT, BETWEEN)
        return
    source = database.source_rows(case.table, rows.schema)
    expected = expected_rows(source, rows, wanted)
    assert reason is None
    assert rows.column_names == expected.column_names
    compared = compare(rows, expected, ["id"])
    assert compared.differences == 0, f"{compared}: {rows.to_pylist()}, not {expected.to_pylist()}"
    assert mirrored.quarantined(topic) == wanted.quarantined
