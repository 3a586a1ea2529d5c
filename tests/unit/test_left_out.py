"""What `make test` leaves out exists, and durations are added up by file."""

import re
from pathlib import Path

import pytest

from tests.durations import slowest_files
from tests.left_out import FULL, SLOW, reason_of

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("pattern", [*FULL, *SLOW])
def test_what_is_left_out_is_there(pattern: str) -> None:
    """A test that got another name would be back, and its entry forgotten."""
    file, _, test = pattern.partition(r"\[")[0].partition("::")
    start = re.compile(rf"^def {test.removesuffix('.*')}", re.MULTILINE)

    found = [
        path
        for path in TESTS.rglob("test_*.py")
        if re.match(file, path.relative_to(TESTS.parent).as_posix())
        and start.search(path.read_text())
    ]

    assert found


@pytest.mark.parametrize(
    ("test", "marks"),
    [
        ("tests/chaos/test_chaos.py::test_kills", ["full"]),
        ("tests/integration/test_schemaless.py::test_a_database[mysql]", ["full"]),
        ("tests/integration/test_schemaless.py::test_a_database[mariadb]", []),
        ("tests/integration/test_x.py::test_y[mariadb-mysql://u:p@127.0.0.1:9/shop]", []),
        ("tests/unit/test_connectors.py::test_a_connector[mysql]", []),
        ("tests/unit/test_cli_start.py::test_the_answer_costs_little[check]", ["slow"]),
    ],
)
def test_a_test_is_marked_by_its_id(test: str, marks: list[str]) -> None:
    found = reason_of(test)

    assert [*found] == marks
    assert all(found.values())


def report(test: str, seconds: float) -> pytest.TestReport:
    return pytest.TestReport(test, ("", 0, ""), {}, "passed", None, "call", duration=seconds)


def test_files_are_listed_by_what_their_tests_took_together() -> None:
    reports = [
        report("tests/a.py::one", 4.0),
        report("tests/a.py::one", 2.5),
        report("tests/b.py::two", 30.0),
        report("tests/c.py::three", 0.5),
        report("tests/d.py::four", 0.25),
    ]

    assert slowest_files([*reports, reports[0]]) == [
        "    30.0s     1 tests  tests/b.py",
        "     6.5s     1 tests  tests/a.py",
        "     0.8s     2 tests  in 2 other files",
        "    37.2s     4 tests  in all",
    ]
