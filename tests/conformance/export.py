"""Writes every case as files that need nothing of this project to be read.

python -m tests.conformance.export FOLDER
"""

import base64
import json
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.conformance.all_cases import CASES
from tests.conformance.case import Case, Script
from tests.conformance.source import Sent

SERVER = "conformance"


def main(folder: Path) -> None:
    """Write a folder with one file of records and one of expectations for each case."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES.values():
        steps, expected = exported(case)
        lines = [json.dumps(line) for line in steps]
        (folder / f"{case.name}.jsonl").write_text("\n".join(lines) + "\n")
        (folder / f"{case.name}.expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    print(f"{len(CASES)} cases in {folder}")


def exported(case: Case) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Give the lines of a case's records and actions, and what must come of them."""
    script = case.play(SERVER)
    lines: list[dict[str, Any]] = []
    for number, step in enumerate(script.steps, 1):
        for action in step.actions:
            argument = {"argument": action.argument} if action.argument is not None else {}
            lines.append({"step": number, "action": action.kind, "table": action.table} | argument)
        lines += [_line(number, record.message()) for record in step.records]
    expected = {
        "name": case.name,
        "story": case.story,
        "answers": case.answers,
        "rule": dict(case.rule),
        "key": case.key,
        "formats": case.formats,
        "tables": _tables(case, script),
    }
    return lines, expected


def _tables(case: Case, script: Script) -> dict[str, dict[str, Any]]:
    """Say what every table must hold in every mode that the case is about."""
    tables: dict[str, dict[str, Any]] = {}
    for source in script.sources:
        for mode in case.modes:
            for suffix, own in case.targets(mode):
                table = tables.setdefault(
                    source.table.name + suffix,
                    {"topic": source.table.topic, "stopped": source.stopped},
                )
                table[own] = _plain(case.expected(script, source, own))
    return tables


def _line(step: int, message: Sent) -> dict[str, Any]:
    """Write a record; keys and values are JSON with schemas."""
    line: dict[str, Any] = {
        "step": step,
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
    }
    for name, part in (("key", message.key), ("value", message.value)):
        line[name] = None if part is None else part.decode()
    if message.headers:
        line["headers"] = {name: part.decode() for name, part in message.headers}
    return line


def _plain(value: Any) -> Any:
    """Write values that JSON lacks as text: bytes in base64, moments in ISO 8601."""
    match value:
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case list():
            return [_plain(part) for part in value]
        case bytes():
            return base64.b64encode(value).decode()
        case date() | datetime():
            return value.isoformat()
        case Decimal():
            return str(value)
    return value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
