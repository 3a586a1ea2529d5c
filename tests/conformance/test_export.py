"""The exported files hold every record and every expectation."""

import json
from pathlib import Path

from tests.conformance.all_cases import CASES
from tests.conformance.export import main


def test_every_case_is_written_with_all_its_records_and_rows(tmp_path: Path) -> None:
    main(tmp_path)

    for case in CASES.values():
        script = case.play("srv")
        lines = (tmp_path / f"{case.name}.jsonl").read_text().splitlines()
        records = [line for line in map(json.loads, lines) if "action" not in line]
        assert len(records) == sum(len(step.records) for step in script.steps)
        expected = json.loads((tmp_path / f"{case.name}.expected.json").read_text())
        for source in script.sources:
            rows = expected["tables"][source.table.name]
            assert rows["topic"].endswith(source.table.name)
            if source.stated is not None and "mirror" in rows:
                assert len(rows["mirror"]) == len(source.stated)
