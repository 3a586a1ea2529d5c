"""Thousands of damaged messages: none crashes, hangs or gets lost.

`make test` has the fewest, `make test-all` more, and `make fuzz` the most.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The programs run side by side, each in a process of its own: a crash is then seen as one.
MESSAGES = (100_000,) if "FUZZ_ALL" in os.environ else (2_000, 10_000)
SHARES = {"json": 0.4, "avro": 0.4, "schemaless": 0.2}
LONGEST_SECONDS = 600


def damage(format_: str, seed: int, count: int) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.fuzz.decode", format_, str(seed), str(count)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
    )


@pytest.mark.parametrize("messages", MESSAGES)
def test_damaged_messages_are_applied_quarantined_or_named(
    messages: int, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [(format_, 1, round(messages * share)) for format_, share in SHARES.items()]
    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(lambda run: damage(*run), runs))

    counted = 0
    for (format_, _, count), process in zip(runs, done, strict=True):
        assert process.returncode == 0, (format_, process.stdout[-2000:], process.stderr[-4000:])
        outcome = json.loads(process.stdout)
        ends = {end: outcome.get(end, 0) for end in ("applied", "quarantined", "named error")}
        with capsys.disabled():
            print(f"\n{format_}: {ends} {outcome['errors']}")
        assert sum(ends.values()) >= count
        # A mutation that is always caught, or never, would prove nothing.
        assert min(ends["applied"], ends["quarantined"]) > count // 50
        counted += sum(ends.values())
    assert counted >= messages
