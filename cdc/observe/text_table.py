"""Tables for people."""

from collections.abc import Collection, Iterator, Sequence


def text_table(rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> Iterator[str]:
    """Write rows in columns; those of numbers stand to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if place in numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
