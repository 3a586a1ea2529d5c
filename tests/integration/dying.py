"""The command, killed by itself before or after a step of a batch.

    python -m tests.integration.dying before|after STEP BATCH run CONFIG --once

STEP is a step of a batch, as its docstring numbers them, or one in which a table is renamed; BATCH
counts its calls from 1.
"""

import os
import signal
import sys
from typing import Any

from cdc.cli import main
from cdc.runtime.follow.renamed_tables import RenamedTables
from cdc.runtime.stream.batch import BatchRunner
from cdc.runtime.stream.commits import Commits
from cdc.runtime.stream.passes import Passes
from cdc.runtime.tables.table_commit import TableCommit

STEPS = {
    "1 begin": (BatchRunner, "_begin"),
    "2 write": (Passes, "write"),
    "3 follow": (Passes, "follow"),
    "4 commit": (Commits, "commit"),
    "4 commit of one table": (TableCommit, "__call__"),
    "5 observe": (BatchRunner, "_observe"),
}
# Where each step has one death and none has two: what is before a step is after the one before it.
BETWEEN_STEPS = (
    ("after", "1 begin"),
    ("after", "2 write"),
    ("before", "4 commit"),
    ("after", "4 commit of one table"),
    ("before", "5 observe"),
    ("after", "5 observe"),
)
RENAME_STEPS = {
    "1 note": (RenamedTables, "_note"),
    "2 rename": (RenamedTables, "_rename"),
    "3 turn": (RenamedTables, "_turn"),
}


def die_at(when: str, step: str, batch: int) -> None:
    """Let the process kill itself around the given call of a step."""
    owner, name = (STEPS | RENAME_STEPS)[step]
    original = getattr(owner, name)
    calls = 0

    def dying(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        now = calls == batch
        if now and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **options)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, dying)


if __name__ == "__main__":
    when, step, batch, *arguments = sys.argv[1:]
    die_at(when, step, int(batch))
    sys.argv = ["database-mirror", *arguments]
    main()
