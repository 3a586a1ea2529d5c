"""Rows of data files, as the table has its columns now."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from cdc.index.key_codes import FIELD_ID

OpenFile = Callable[[str], pa.NativeFile]


def read_rows(
    open_file: OpenFile,
    paths: Sequence[str],
    files: npt.NDArray[np.int64],
    positions: npt.NDArray[np.int64],
    schema: pa.Schema,
) -> pa.Table:
    """Read single rows of data files.

    Args:
        open_file: Opens a data file by its path.
        paths: The data files.
        files: For each row to read, the number of its file among them.
        positions: The rows' numbers in their files.
        schema: The columns to read, with their field ids in the metadata. What a file has under an
            id is cast to the type here; what it does not have is null.

    Returns:
        The rows in the order in which they were asked for.
    """
    order = np.lexsort((positions, files))
    parts = [schema.empty_table()]
    for number in np.unique(files):
        wanted = order[files[order] == number]
        with open_file(paths[number]) as source:
            parts.extend(
                _rows_at(pq.ParquetFile(source, pre_buffer=True), positions[wanted], schema)
            )
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_tables(parts).take(pa.array(back))


def _rows_at(
    file: pq.ParquetFile, positions: npt.NDArray[np.int64], schema: pa.Schema
) -> Iterator[pa.Table]:
    """Read rows whose numbers ascend."""
    start = 0
    for group in range(file.num_row_groups):
        end = start + file.metadata.row_group(group).num_rows
        low, high = np.searchsorted(positions, [start, end])
        if high > low:
            within = pa.array(positions[low:high] - start)
            yield _read_group(file, group, schema).take(within)
        start = end
    if len(positions) and positions[-1] >= start:
        raise IndexError(f"a file of {start} rows has no row {positions[-1]}")


def row_groups(source: pa.NativeFile, schema: pa.Schema) -> Iterator[pa.Table]:
    """Read some columns of a data file, one row group after the other."""
    file = pq.ParquetFile(source, pre_buffer=True)
    for group in range(file.num_row_groups):
        yield _read_group(file, group, schema)


def _read_group(file: pq.ParquetFile, group: int, schema: pa.Schema) -> pa.Table:
    names = [_name_of(wanted, file.schema_arrow) for wanted in schema]
    read = file.read_row_group(group, columns=[name for name in names if name is not None])
    rows = file.metadata.row_group(group).num_rows
    columns = [
        pa.chunked_array([pa.nulls(rows, wanted.type)])
        if name is None
        else pa.chunked_array(
            [fitted(chunk, wanted.type) for chunk in read[name].chunks], wanted.type
        )
        for name, wanted in zip(names, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _name_of(wanted: pa.Field, there: Iterable[pa.Field]) -> str | None:
    """Find a field by its id; by its name only where a file has no ids at all."""
    ids = {(field.metadata or {}).get(FIELD_ID): field.name for field in there}
    if ids.keys() - {None}:
        return ids.get((wanted.metadata or {}).get(FIELD_ID, b""))
    return wanted.name if any(field.name == wanted.name for field in there) else None


def fitted(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Give values another type, at any depth by the ids of fields and not by their names."""
    if not pa.types.is_nested(wanted):
        return values if values.type == wanted else values.cast(wanted)
    if values.offset:
        values = values.take(pa.array(np.arange(len(values))))  # below, parts need whole arrays
    if pa.types.is_struct(wanted):
        there = list(values.type)
        names = [_name_of(field, there) for field in wanted]
        parts = [
            pa.nulls(len(values), field.type)
            if name is None
            else fitted(values.field(name), field.type)
            for name, field in zip(names, wanted, strict=True)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=values.is_null())
    if pa.types.is_map(wanted):
        keys = fitted(values.keys, wanted.key_type)
        items = fitted(values.items, wanted.item_type)
        return pa.MapArray.from_arrays(
            values.offsets, keys, items, type=wanted, mask=values.is_null()
        )
    parts = fitted(values.values, wanted.value_type)
    return pa.ListArray.from_arrays(values.offsets, parts, type=wanted, mask=values.is_null())
