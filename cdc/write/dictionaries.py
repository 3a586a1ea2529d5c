"""Which columns of a Parquet file are worth a dictionary.

Parquet writes one for every column unless told otherwise. Where nearly all values differ, as in
keys and times, it costs a third of the time of a large file and a fifth of the size of a small one.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

BLOCKS: Final = 10
BLOCK: Final = 100  # neighbours: values that repeat often come close to each other


def dictionary_columns(table: pa.Table) -> list[str]:
    """Name the columns, as Parquet does, whose values repeat; nested ones are not looked at."""
    names: list[str] = []
    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_nested(field.type):
            names.extend(_leaves(field.name, field.type))
        elif _repeats(column):
            names.append(field.name)
    return names


def _repeats(column: pa.ChunkedArray) -> bool:
    """Judge by a sample whether at most every second value is a new one."""
    size = len(column)
    sample = column
    if size > BLOCKS * BLOCK:
        starts = [place * (size - BLOCK) // (BLOCKS - 1) for place in range(BLOCKS)]
        sample = pa.chunked_array([c for s in starts for c in column.slice(s, BLOCK).chunks])
    looked = len(sample)
    doubles = looked - len(sample.unique())
    # Of n values drawn from d, about n² / 2d are doubles.
    return 2 * doubles > looked or doubles * size > looked * looked


def _leaves(path: str, kind: pa.DataType) -> Iterator[str]:
    if pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", kind.key_type)
        yield from _leaves(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for member in kind:
            yield from _leaves(f"{path}.{member.name}", member.type)
    else:
        yield path
