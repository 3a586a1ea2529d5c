"""Whole columns at once, and where that fails, in ever smaller parts down to the rows at fault."""

from collections.abc import Callable, Iterator
from typing import TypeVar

# Halving would read a batch with one bad row in every thousand a dozen times.
FAN_OUT = 16

T = TypeVar("T")


def in_parts(
    count: int, attempt: Callable[[int, int], T | None], *, smallest: int = 1, start: int = 0
) -> Iterator[tuple[int, int, T | None]]:
    """Try rows together, and again in smaller parts where it fails.

    Args:
        count: The number of rows.
        attempt: Does the work for rows from a start on, so many; None if it cannot.
        smallest: Rows that are not parted any more.
        start: The first row.

    Yields:
        Start, count and result of each part in its order; no result where even few rows failed.
    """
    if not count:
        return
    result = attempt(start, count)
    if result is not None or count <= smallest:
        yield start, count, result
        return
    step = max(smallest, -(-count // FAN_OUT))
    for first in range(start, start + count, step):
        size = min(step, start + count - first)
        yield from in_parts(size, attempt, smallest=smallest, start=first)
