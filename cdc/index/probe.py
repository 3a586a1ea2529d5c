"""Keys looked up in one run."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cdc.index.key_codes import Codes
from cdc.index.run_file import Run

Ints = npt.NDArray[np.int64]
NOT_SERVED = -1
# Searching costs by the number of things searched for, so the shorter side is searched for.
MUCH_SHORTER = 8


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A run, and which of its files it answers for in one lookup."""

    run: Run
    files: Ints  # for each of the run's files its number in the lookup, or NOT_SERVED
    sequences: Ints  # of the run's files
    rows: int  # of the files it answers for

    @property
    def whole(self) -> bool:
        """Whether it answers for all of its files."""
        return bool((self.files != NOT_SERVED).all())


@dataclass(frozen=True, slots=True)
class Hits:
    """Rows that have one of the keys: the key's number, the file's, the position, the sequence."""

    rows: Ints
    files: Ints
    positions: Ints
    sequences: Ints


def probe(unit: Unit, sorted_codes: Codes) -> Hits:
    """Find the places of keys in one run.

    Of a key's rows it gives at least all those of the greatest sequence that a served file has.
    """
    run = unit.run
    if not len(run) or not len(sorted_codes):
        return _hits(unit, np.empty(0, np.int64), np.empty(0, np.int64))
    asked = _candidates(run.primary, sorted_codes.primary)
    primary = sorted_codes.primary[asked]
    first = np.searchsorted(run.primary, primary)
    at_end = first == len(run)
    first[at_end] = 0
    met = (run.primary[first] == primary) & ~at_end
    asked, first = asked[met], first[met]
    certain = _is_certain(unit, sorted_codes, asked, first)
    # Mostly the first row is the newest and the only one; the others are looked at row by row.
    open_rows, open_at = _all_of(run, asked[~certain], first[~certain])
    kept = _same_check(run, sorted_codes, open_rows, open_at) & _served(unit, open_at)
    return _hits(
        unit,
        np.concatenate([asked[certain], open_rows[kept]]),
        np.concatenate([first[certain], open_at[kept]]),
    )


def _candidates(there: Ints, sought: Ints) -> Ints:
    """Leave out keys that cannot be in a run: beyond its bounds, or between all of its codes."""
    least = int(np.searchsorted(sought, there[0], "left"))
    greatest = int(np.searchsorted(sought, there[-1], "right"))
    if len(there) * MUCH_SHORTER > greatest - least:
        return np.arange(least, greatest)
    # Codes may repeat on both sides, so ranges are marked and not single places.
    starts = np.bincount(np.searchsorted(sought, there, "left"), minlength=len(sought) + 1)
    ends = np.bincount(np.searchsorted(sought, there, "right"), minlength=len(sought) + 1)
    return np.flatnonzero(np.cumsum(starts - ends)[:-1])


def _is_certain(unit: Unit, sought: Codes, asked: Ints, first: Ints) -> npt.NDArray[np.bool_]:
    """Tell where a code's first row is the whole answer."""
    run = unit.run
    following = np.minimum(first + 1, len(run) - 1)
    alone = (following == first) | (run.primary[following] != run.primary[first])
    if run.numbers is not None:
        newest = unit.sequences[run.numbers[first]]
        alone |= unit.sequences[run.numbers[following]] < newest
    certain: npt.NDArray[np.bool_] = (
        alone & _same_check(run, sought, asked, first) & _served(unit, first)
    )
    return certain


def _all_of(run: Run, asked: Ints, first: Ints) -> tuple[Ints, Ints]:
    """Give every row of some codes, with the key that asked for it."""
    counts = np.searchsorted(run.primary, run.primary[first], "right") - first
    starts = np.cumsum(counts) - counts
    within = np.arange(int(counts.sum())) - np.repeat(starts, counts)
    return np.repeat(asked, counts), np.repeat(first, counts) + within


def _same_check(run: Run, sought: Codes, asked: Ints, at: Ints) -> npt.NDArray[np.bool_]:
    if run.check is None or sought.check is None:
        return np.ones(len(at), np.bool_)
    same: npt.NDArray[np.bool_] = run.check[at] == sought.check[asked]
    return same


def _served(unit: Unit, at: Ints) -> npt.NDArray[np.bool_]:
    served: npt.NDArray[np.bool_] = unit.files[_numbers(unit.run, at)] != NOT_SERVED
    return served


def _numbers(run: Run, at: Ints) -> npt.NDArray[np.intp]:
    if run.numbers is None:
        return np.zeros(len(at), np.intp)
    return run.numbers[at].astype(np.intp)


def _hits(unit: Unit, rows: Ints, at: Ints) -> Hits:
    numbers = _numbers(unit.run, at)
    positions = unit.run.positions[at].astype(np.int64)
    return Hits(rows, unit.files[numbers], positions, unit.sequences[numbers])
