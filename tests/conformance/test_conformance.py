"""Every case in every column of the matrix."""

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.all_cases import CASES
from tests.conformance.case import Case
from tests.conformance.matrix import ALL, Column, cells

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conformance.run import Findings
    from tests.conftest import Configure

Run = Callable[[Column], "Findings"]
CELLS = [
    pytest.param(case, column, id=f"{case.name}-{column.name}")
    for case, column in cells(CASES.values(), all_=ALL in os.environ)
]


@pytest.fixture(scope="module")
def run(
    spark: "SparkSession", configure: "Configure", request: pytest.FixtureRequest
) -> Iterator[Run]:
    """Run a column: all of its cases that were asked for, together and once."""
    from tests.conformance.database_mirror import DatabaseMirror
    from tests.conformance.run import run as play
    from tests.conformance.wire import Wire
    from tests.unit.registry_server import serve

    done: dict[Column, Findings] = {}
    with serve() as registry:
        wire = Wire(registry)

        def run_once(column: Column) -> "Findings":
            if column not in done:
                asked = [p["case"] for p in _parameters(request) if p.get("column") == column]
                system = DatabaseMirror(spark, configure, column, asked, registry.url)
                done[column] = play(system, asked, column, wire.writer(column.format))
            return done[column]

        yield run_once


def _parameters(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.originalname == test_case_holds.__name__:
            yield item.callspec.params


@pytest.mark.parametrize(("case", "column"), CELLS)
def test_case_holds(
    run: Run,
    case: Case,
    column: Column,
    record_property: Callable[[str, object], None],
) -> None:
    record_property("cell", (case.name, column))

    wrong = run(column)[case.name]

    if wrong is None:
        pytest.skip("the system does not offer what the case needs")
    assert not wrong, "\n".join([case.story, *wrong])
