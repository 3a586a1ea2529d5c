"""The model says what the cases state, and keeps the rules of its own modes."""

from itertools import pairwise

import pytest

from tests.conformance.all_cases import CASES
from tests.conformance.case import Case, Script

STATED = [pytest.param(case, id=case.name) for case in CASES.values() if "mirror" in case.modes]


@pytest.fixture
def script(case: Case) -> Script:
    return case.play("srv")


@pytest.mark.parametrize("case", STATED)
def test_model_ends_with_the_rows_that_the_case_states(case: Case, script: Script) -> None:
    for source in script.sources:
        if not source.stopped:
            assert source.stated is not None
            stated = [case.read(row, source) for row in source.stated]
            modelled = case.expected(script, source, "mirror")
            assert sorted(map(repr, modelled)) == sorted(map(repr, stated))


@pytest.mark.parametrize("case", STATED)
def test_versions_of_a_key_follow_each_other_without_overlap(case: Case, script: Script) -> None:
    for source in script.sources:
        model = case.model(script, source)
        versions: dict[str, list[tuple[int, int | None]]] = {}
        for row in model.history():
            key = repr([row[name] for name in case.key])
            span = (row["_mirror_valid_from"], row["_mirror_valid_to"])
            versions.setdefault(key, []).append(span)
        for spans in versions.values():
            assert all(until is None or until >= since for since, until in spans)
            assert all(before[1] is not None for before, _ in pairwise(spans))
            assert all(before[1] <= after[0] for before, after in pairwise(spans) if before[1])


@pytest.mark.parametrize("case", STATED)
def test_versions_that_are_current_are_the_rows_of_the_mirror(case: Case, script: Script) -> None:
    for source in script.sources:
        model = case.model(script, source)
        current = [row for row in model.history() if row["_mirror_current"]]
        kept = [{n: v for n, v in row.items() if not n.startswith("_mirror_")} for row in current]
        assert sorted(map(repr, kept)) == sorted(map(repr, model.mirror()))


@pytest.mark.parametrize("case", STATED)
def test_rows_that_are_not_marked_are_the_rows_of_the_mirror(case: Case, script: Script) -> None:
    for source in script.sources:
        model = case.model(script, source)
        kept = [dict(row) for row in model.soft() if not row["_mirror_deleted"]]
        for row in kept:
            del row["_mirror_deleted"]
        assert sorted(map(repr, kept)) == sorted(map(repr, model.mirror()))
