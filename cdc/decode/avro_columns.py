"""Which raw columns are asked for, and how they are made of what the reader gives."""

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.avro_container import Container, ContainerError
from cdc.decode.avro_schema import AvroType
from cdc.decode.messages import RAW, raw_type
from cdc.model import SourceColumn, SourceType

PLAIN: Final = RAW | {"bytes": pa.binary()}
# Asked for as the second, the first loses nothing.
WIDENED: Final = {(pa.int32(), pa.int64()), (pa.float32(), pa.float64())}


class UnlikeError(ValueError):
    """A field that is asked for as something else than the writer wrote."""


def avro_type(source: SourceType) -> pa.DataType:
    """Give the Arrow type of a raw Avro column."""
    return raw_type(source, pa.binary())


def raw_schema(fields: Sequence[SourceColumn]) -> pa.Schema:
    """Give the schema of the raw columns."""
    return pa.schema([(field.name, avro_type(field.type)) for field in fields])


def check_alike(fields: Sequence[SourceColumn], written: SourceType, path: str = "") -> None:
    """See that every field is asked for as what it was written as, if it was written at all.

    Raises:
        UnlikeError: A field was written as something else.
    """
    types = {field.name: field.type for field in written.fields}
    for field in fields:
        if field.name in types:
            _check_alike(field.type, types[field.name], f"{path}{field.name}")


def _check_alike(asked: SourceType, written: SourceType, path: str) -> None:
    if asked.kind == written.kind == "struct":
        check_alike(asked.fields, written, f"{path}.")
    elif asked.kind == written.kind == "map":
        for part, other in zip(asked.fields, written.fields, strict=True):
            _check_alike(part.type, other.type, f"{path}.{part.name}")
    elif asked.element is not None and written.element is not None:
        _check_alike(asked.element, written.element, f"{path}[]")
    else:
        pair = PLAIN.get(written.kind), PLAIN.get(asked.kind)
        if None in pair or (pair[0] != pair[1] and pair not in WIDENED):
            raise UnlikeError(f"its field {path} is {written}, and {asked} is expected")


class ColumnPlan:
    """How some fields of a writer schema are read: of which columns, and how they are made."""

    def __init__(
        self, container: Container, schema: AvroType, fields: Sequence[SourceColumn]
    ) -> None:
        self.needed: list[str] = []
        self._container = container
        self._schema = raw_schema(fields)
        self._makers = [self._maker(schema, field, (field.name,)) for field in fields]

    def make(self, table: pa.Table) -> pa.Table:
        """Make the raw columns of what was read.

        Raises:
            ContainerError: A value is none of its type, in a row that is not named.
        """
        arrays = [maker(table) for maker in self._makers]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _maker(
        self, record: AvroType, field: SourceColumn, path: tuple[str, ...]
    ) -> Callable[[pa.Table], pa.Array]:
        part = dict(record.fields).get(field.name)
        type_ = avro_type(field.type)
        if part is None:
            return lambda table: pa.nulls(table.num_rows, type_)
        if part.kind == "record":
            makers = [
                self._maker(part, member, (*path, member.name)) for member in field.type.fields
            ]
            return lambda table: _struct([make(table) for make in makers], type_, table.num_rows)
        column = self._container.columns[path]
        if column not in self.needed:
            self.needed.append(column)
        return lambda table: _raw(table[column].chunk(0), part, field.type)


def _struct(members: list[pa.Array], type_: pa.StructType, length: int) -> pa.Array:
    return pa.Array.from_buffers(type_, length, [None], children=members)


def _raw(array: pa.Array, schema: AvroType, asked: SourceType) -> pa.Array:
    """Turn a column that the reader gave into a raw one: its names, its fields, its types."""
    if array.offset:
        array = array.take(pa.array(range(len(array))))
    schema = schema.present or schema
    type_ = avro_type(asked)
    if schema.kind == "enum":
        return _symbols(array, schema.symbols)
    if schema.kind == "record":
        members = {name: (index, part) for index, (name, part) in enumerate(schema.fields)}
        children = []
        for field in asked.fields:
            if field.name in members:
                index, part = members[field.name]
                children.append(_raw(array.field(index), part, field.type))
            else:
                children.append(pa.nulls(len(array), avro_type(field.type)))
        return _rebuilt(array, type_, children, buffers=1)
    if schema.kind == "array" and asked.element is not None:
        return _rebuilt(array, type_, [_raw(array.values, schema.item, asked.element)], buffers=2)
    if schema.kind == "array":
        entries = _raw(array.values, schema.item, SourceType("struct", fields=asked.fields))
        if entries.field(0).null_count:
            raise ContainerError("a map has an entry without a key")
        keys, items = entries.flatten()
        return _rebuilt(array, type_, [_entries(keys, items, type_)], buffers=2)
    if schema.kind == "map":
        items = _raw(array.items, schema.item, asked.fields[1].type)
        return _rebuilt(array, type_, [_entries(array.keys, items, type_)], buffers=2)
    return array if array.type == type_ else array.cast(type_)


def _entries(keys: pa.Array, items: pa.Array, type_: pa.MapType) -> pa.Array:
    fields = [type_.key_field, type_.item_field]
    return pa.StructArray.from_arrays([keys, items], fields=fields)


def _rebuilt(
    array: pa.Array, type_: pa.DataType, children: list[pa.Array], buffers: int
) -> pa.Array:
    """Give an array other children, its nulls and offsets being what they were."""
    own = array.buffers()[:buffers]
    return pa.Array.from_buffers(type_, len(array), own, array.null_count, 0, children)


def _symbols(numbers: pa.Array, symbols: tuple[str, ...]) -> pa.Array:
    bounds = pc.min_max(numbers).as_py()
    if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < len(symbols):
        raise ContainerError("an enum has a symbol that its schema does not name")
    values = pa.array(symbols, pa.string())
    return pa.DictionaryArray.from_arrays(numbers, values).cast(pa.string())
