"""Which runs to merge, so that neither the runs to probe nor the bytes to write grow too fast."""

from collections.abc import Sequence

import numpy as np

from cdc.index.probe import NOT_SERVED, Unit
from cdc.index.run_file import IndexedFile, Run, merged_run

# As many runs of about the same size become one: a row is written anew each time that the table has
# grown by this factor, and a lookup probes fewer than this many runs of each size.
FAN = 8
SMALLEST = 1024  # rows; all smaller runs count as one size
LARGEST = 1 << 24  # rows; beyond it the memory that a merge needs would count


def due_merge(units: Sequence[Unit]) -> list[Unit]:
    """Choose the units that should become one; none where all is well."""
    tiers: dict[int, list[Unit]] = {}
    for unit in units:
        if len(unit.run) < LARGEST:
            tiers.setdefault(_tier(len(unit.run)), []).append(unit)
    for tier in sorted(tiers):
        if len(tiers[tier]) >= FAN:
            return _fitting(tiers[tier])
    # Files that are no longer live have left more than half of it without use.
    return next(([u] for u in units if u.rows * 2 < _rows(u.run)), [])


def _tier(rows: int) -> int:
    tier = 0
    while rows >= SMALLEST * FAN ** (tier + 1):
        tier += 1
    return tier


def _fitting(units: Sequence[Unit]) -> list[Unit]:
    """Take units from the smallest on, until the merged run would be too large."""
    taken: list[Unit] = []
    total = 0
    for unit in sorted(units, key=lambda unit: len(unit.run)):
        total += len(unit.run)
        if total > LARGEST and len(taken) > 1:
            break
        taken.append(unit)
    return taken


def _rows(run: Run) -> int:
    return sum(file.rows for file in run.files)


def merge(units: Sequence[Unit]) -> Run:
    """Merge what some units answer for into one run."""
    files: list[IndexedFile] = []
    parts = []
    for unit in units:
        run = unit.run
        served = unit.files != NOT_SERVED
        new_numbers = np.cumsum(served) - 1 + len(files)
        files += [
            IndexedFile(file.path, file.rows, int(sequence))
            for file, sequence, kept in zip(run.files, unit.sequences, served, strict=True)
            if kept
        ]
        old = np.zeros(len(run), np.intp) if run.numbers is None else run.numbers.astype(np.intp)
        kept_rows = slice(None) if unit.whole else np.flatnonzero(served[old])
        check = None if run.check is None else run.check[kept_rows]
        positions = run.positions[kept_rows].astype(np.int64)
        parts.append((run.primary[kept_rows], check, positions, new_numbers[old[kept_rows]]))
    primary, checks, positions, numbers = zip(*parts, strict=True)
    check = None if checks[0] is None else np.concatenate([c for c in checks if c is not None])
    return merged_run(
        files, np.concatenate(primary), check, np.concatenate(positions), np.concatenate(numbers)
    )
