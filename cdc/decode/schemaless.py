"""JSON messages without a schema, in groups that read like those of messages with one.

The types come from what is known beforehand; only those of other columns are inferred.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.inference import Kind, is_text, type_of
from cdc.decode.json_payloads import json_schema, read_payloads
from cdc.decode.messages import BadMessage, RawColumns, Rows
from cdc.decode.shapes import Shape
from cdc.decode.survey import Findings, Sort, Survey
from cdc.model import SourceColumn, SourceType
from cdc.model.column_types import KnownColumns

TEXT: Final = SourceType("string")
EMPTY: Final = SourceType("struct")

_value = json.JSONDecoder().raw_decode
_SPACE = re.compile(r"[ \t\r\n:,]*")


@dataclass(frozen=True, slots=True)
class SchemalessGroup:
    """Messages of one shape; their type is made of what is known and what was found."""

    type: SourceType
    rows: Rows
    payloads: pa.Array
    inferred: bool  # the type of some column is a guess, or there may be more columns
    untyped: tuple[str, ...] = ()  # columns without a value, of which nobody says the type
    table: pa.Table | None = None  # what has been read already

    def read(self, fields: Sequence[SourceColumn]) -> RawColumns:
        """Read some fields of every message; one that is absent is null."""
        schema = json_schema(fields)
        columns = [] if self.table is None else [_part(self.table, f) for f in schema]
        if self.table is None or any(column is None for column in columns):
            return read_payloads(self.payloads, schema)
        return RawColumns(np.arange(len(self.rows)), pa.Table.from_arrays(columns, schema=schema))


def by_columns(group: SchemalessGroup) -> Iterator[SchemalessGroup]:
    """Part keys by the columns that they have.

    One that is null is written as such: one that is not there belongs to another key.
    """
    fields = group.type.fields
    # A quote within a text is escaped: with the colon behind it, it can only end a name.
    names = (f"{encode_basestring(field.name)}:".encode() for field in fields)
    there = [pc.match_substring(group.payloads, pattern=name) for name in names]
    found = np.column_stack([mask.to_numpy(zero_copy_only=False) for mask in there])
    # Where no name is found, the messages are laid out in a way that no converter has.
    if found.all() or not found.any(axis=1).all():
        yield group
        return
    kinds, members = np.unique(found, axis=0, return_inverse=True)
    for number, kind in enumerate(kinds.tolist()):
        indexes = np.flatnonzero(members.reshape(-1) == number)
        columns = tuple(field for field, has in zip(fields, kind, strict=True) if has)
        yield SchemalessGroup(
            SourceType("struct", fields=columns),
            group.rows[indexes],
            group.payloads.take(pa.array(indexes)),
            group.inferred,
            group.untyped,
        )


def split_schemaless(
    payloads: pa.Array, rows: Rows, known: KnownColumns
) -> Iterator[SchemalessGroup | BadMessage]:
    """Split JSON texts, each an object that stands for a value or a key, by what they are."""
    survey = Survey(payloads, known)
    survey.run()
    yield from (BadMessage(int(rows[b.row]), b.reason) for b in survey.bad_messages)
    for sort, findings in survey.findings.items():
        yield _group(sort, findings, survey, payloads, rows)


def _group(
    sort: Sort, findings: Findings, survey: Survey, payloads: pa.Array, rows: Rows
) -> SchemalessGroup:
    shape = sort.shape
    columns, untyped, quoted = [], [], set()
    for name, kind in findings.kinds.items():
        found = survey.known_type(name, kind) or type_of(kind)
        if found is None:
            untyped.append(name)
            continue
        columns.append(SourceColumn(name, found))
        texts = is_text(kind) and is_text(findings.old_kinds.get(name, Kind.NULL))
        if name not in survey.declared and found.kind == "string" and not texts:
            quoted.add(name)
    if quoted:
        payloads = _with_quotes(payloads, findings.odd, quoted, shape)
    indexes = np.concatenate([*findings.indexes, np.array(findings.odd, np.int64)])
    indexes.sort()
    return SchemalessGroup(
        _type(shape, columns),
        rows[indexes],
        payloads if len(indexes) == len(payloads) else payloads.take(pa.array(indexes)),
        shape is not Shape.DOCUMENT and (sort.names is None or findings.deletes),
        tuple(untyped),
        findings.table,
    )


def _type(shape: Shape, columns: list[SourceColumn]) -> SourceType:
    """Describe a message as its schema would."""
    if shape is Shape.PLAIN:
        return SourceType("struct", fields=tuple(columns))
    row = TEXT if shape is Shape.DOCUMENT else SourceType("struct", fields=tuple(columns))
    parts = {"op": TEXT, "source": EMPTY, "after": row}
    return SourceType("struct", fields=tuple(SourceColumn(n, t) for n, t in parts.items()))


def _part(table: pa.Table, field: pa.Field) -> pa.Array | None:
    """Find a field among what has been read; None if it was read under another type."""
    if field.name not in table.column_names:
        return pa.nulls(len(table), field.type)
    return _shaped(table[field.name].combine_chunks(), field.type)


def _shaped(array: pa.Array, kind: pa.DataType) -> pa.Array | None:
    if array.type.equals(kind):
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), kind)
    if not (pa.types.is_struct(array.type) and pa.types.is_struct(kind)):
        return None
    if not kind.num_fields:
        return pa.array([{} if there else None for there in array.is_valid().to_pylist()], kind)
    members = []
    for member in kind:
        if array.type.get_field_index(member.name) < 0:
            members.append(pa.nulls(len(array), member.type))
            continue
        part = _shaped(pc.struct_field(array, member.name), member.type)
        if part is None:
            return None
        members.append(part)
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(members, fields=list(kind), mask=mask)


def _with_quotes(payloads: pa.Array, indexes: list[int], names: set[str], shape: Shape) -> pa.Array:
    """Write what is no text in columns of text as the text that it is written in."""
    changed = [
        _quoted(text.decode(), names, shape).encode()
        for text in payloads.take(pa.array(indexes, pa.int64())).to_pylist()
    ]
    mask = np.zeros(len(payloads), bool)
    mask[indexes] = True
    return pc.replace_with_mask(payloads, pa.array(mask), pa.array(changed, payloads.type))


def _quoted(text: str, names: set[str], shape: Shape) -> str:
    starts = [0]
    if shape is Shape.CHANGE:
        starts = [begin for name, begin, _ in _members(text, 0) if name in ("before", "after")]
    pieces, done = [], 0
    for start in starts:
        if not text.startswith("{", start):
            continue
        for name, begin, end in _members(text, start):
            if name in names and text[begin] not in '"n':  # a text stays one, and null is null
                pieces += [text[done:begin], encode_basestring(text[begin:end])]
                done = end
    return "".join([*pieces, text[done:]])


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Find the members of the object that begins somewhere in a text that is surely JSON.

    Yields:
        Each name, and where its value begins and ends.
    """
    position = _behind_space(text, start + 1)
    while text[position] != "}":
        name, position = _value(text, position)
        begin = _behind_space(text, position)
        _, end = _value(text, begin)
        yield name, begin, end
        position = _behind_space(text, end)


def _behind_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position
