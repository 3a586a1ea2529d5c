"""Random statements on a real database while the mirror runs; at the end every row is compared.

python -m tests.chaos.differential --seed 1 --statements 200000 --database postgres --ddl 30
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.alterations import random_alterations, renames
from tests.chaos.mirror import Books, Layout, Mirror
from tests.chaos.pipeline import Pipeline
from tests.chaos.shapes import SHAPES, Database
from tests.chaos.verdict import Verdict, judge
from tests.chaos.workload import Workload, summary
from tests.integration.stack import Stack, open_stack

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """What a run found, and how long it took."""

    verdict: Verdict
    changes: int
    seconds: float


def run(
    stack: Stack,
    folder: Path,
    database: Database,
    *,
    seed: int,
    statements: int,
    tell: Tell,
    ddl: int = 0,
) -> Result:
    """Run the workload and the mirror side by side, and compare.

    Args:
        stack: The servers.
        folder: Where the mirror goes.
        database: Which of the servers.
        seed: Of all that is random.
        statements: How many there are.
        tell: Receives a line about each thing that happens.
        ddl: How many random changes of columns there are among them; a few new columns if none.
    """
    started, verdict = time.monotonic(), Verdict()
    pipeline = Pipeline(stack, database, f"d{seed}_{time.time_ns() % 10**8}")
    try:
        workload = Workload(
            pipeline.connect,
            database,
            seed=seed,
            statements=statements,
            tell=tell,
            columns=pipeline.columns,
            alterations=random_alterations(database, seed=seed, count=ddl) if ddl else None,
        )
        workload.create()
        pipeline.register()
        layout = Layout(renames=renames() if ddl else {})
        with Mirror(folder, pipeline, layout) as mirror:
            mirror.start()
            mirror.wait_for_batch()
            workload.run()
            tell(f"workload: {summary(workload)}")
            ends = pipeline.finish()
            changes = sum(ends.values())
            tell(f"{changes} records are in Kafka after {time.monotonic() - started:.0f} s")
            mirror.stop()
            mirror.once()
            mirror.check()
            seconds = time.monotonic() - started
            tell(f"all is mirrored after {seconds:.0f} s, {changes / seconds:.0f} records/s")
            judge(verdict, pipeline, mirror, ends, tell)
            _tell_account(mirror, tell)
    finally:
        pipeline.close()
    return Result(verdict, changes, seconds)


def _tell_account(mirror: Mirror, tell: Tell) -> None:
    books = Books(mirror.folder / "books.jsonl")
    catalog = mirror.catalog()
    for kind in mirror.layout.kinds:
        namespace = mirror.layout.namespace(mirror.pipeline, kind)
        for shape in SHAPES:
            books.note(f"{namespace}.{shape.name}", catalog.load_table((namespace, shape.name)))
        tell(f"account of {kind}: {books.account(namespace)}")


def main() -> int:
    """Run it on one database, and print the figures as JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=200_000)
    parser.add_argument("--ddl", type=int, default=0, help="Random changes of columns among them.")
    parser.add_argument("--database", type=Database, choices=list(Database), action="append")
    parser.add_argument("--folder", type=Path, help="Where the mirror goes; it is kept.")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="differential-"))
    started = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - started:7.1f} s  {line}", flush=True)

    differences = 0
    with open_stack(tell) as stack:
        for database in options.database or list(Database):
            tell(f"--- {database}")
            result = run(
                stack,
                folder / database,
                database,
                seed=options.seed,
                statements=options.statements,
                tell=tell,
                ddl=options.ddl,
            )
            differences += result.verdict.differences
            figures = {
                "database": str(database),
                "seed": options.seed,
                "statements": options.statements,
                "ddl": options.ddl,
                "changes": result.changes,
                "changes_per_second": round(result.changes / result.seconds),
                "seconds": round(result.seconds),
                "rows": result.verdict.rows,
                "lost": result.verdict.lost,
                "duplicated": result.verdict.duplicated,
                "stale": result.verdict.stale,
                "columns": result.verdict.columns,
            }
            print(json.dumps(figures), flush=True)
    if differences:
        tell(f"the mirrors are kept in {folder}")
    elif options.folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
