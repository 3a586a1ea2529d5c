"""Every case in every column of the matrix."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.all_cases import CASES
from tests.conformance.case import Case
from tests.conformance.matrix import ALL, Column, cells
from tests.left_out import BEYOND_THE_SAMPLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conformance.run import Findings
    from tests.conftest import Configure

# How many columns run side by side.
AT_ONCE = 2

Run = Callable[[Column], "Findings"]
CELLS = [
    pytest.param(
        case,
        column,
        id=f"{case.name}-{column.name}",
        marks=() if in_short else pytest.mark.full(BEYOND_THE_SAMPLE),
    )
    for case, column, in_short in cells(CASES.values(), all_=ALL in os.environ)
]


@pytest.fixture(scope="module")
def run(
    spark: "SparkSession", configure: "Configure", request: pytest.FixtureRequest
) -> Iterator[Run]:
    """Run a column: all of its cases that were asked for, together and once.

    The next column runs meanwhile: one alone leaves half of the machine idle.
    """
    from tests.conformance.database_mirror import DatabaseMirror
    from tests.conformance.run import run as play
    from tests.conformance.wire import Wire
    from tests.unit.registry_server import serve

    with serve() as registry, ThreadPoolExecutor(AT_ONCE, "column") as threads:
        wire = Wire(registry)

        def run_column(column: Column, cases: list[Case]) -> "Findings":
            system = DatabaseMirror(spark, configure, column, cases, registry.url)
            return play(system, cases, column, wire.writer(column.format))

        started = {
            column: threads.submit(run_column, column, cases)
            for column, cases in _asked(request).items()
        }
        yield lambda column: started[column].result()
        threads.shutdown(cancel_futures=True)


def _asked(request: pytest.FixtureRequest) -> dict[Column, list[Case]]:
    """List the cases that were asked for, by column, in the order of the tests."""
    found: dict[Column, list[Case]] = {}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.originalname == test_case_holds.__name__:
            cell: dict[str, Any] = item.callspec.params
            found.setdefault(cell["column"], []).append(cell["case"])
    return found


@pytest.mark.parametrize(("case", "column"), CELLS)
def test_case_holds(
    run: Run,
    case: Case,
    column: Column,
    record_property: Callable[[str, object], None],
) -> None:
    record_property("cell", (case.name, *astuple(column)))  # plain, to go between processes

    wrong = run(column)[case.name]

    if wrong is None:
        pytest.skip("the system does not offer what the case needs")
    assert not wrong, "\n".join([case.story, *wrong])
