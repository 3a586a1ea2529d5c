"""JSON messages without a schema: their columns are found in the messages themselves.

The types come from what is declared; only for columns that nobody declared they are inferred. A
fast reader takes whole arrays under exact types and fails at any field or value that it was not
told of. Only the messages around such a place are looked at one by one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.inference import (
    EXACT_BITS,
    EXACT_DIGITS,
    Kind,
    fits,
    is_text,
    join,
    kind_of,
    type_of,
)
from cdc.decode.json_messages import members_of
from cdc.decode.json_payloads import (
    FEW,
    Number,
    has_map,
    json_schema,
    json_type,
    read_fast,
    read_payloads,
)
from cdc.decode.messages import BadMessage, RawColumns, Rows
from cdc.decode.parts import in_parts
from cdc.model import Declared, SourceColumn, SourceType

ENVELOPE: Final = frozenset({"op", "source", "after"})
TEXT: Final = SourceType("string")
EMPTY: Final = SourceType("struct")
ADDED: Final = "__"  # how the fields begin that ExtractNewRecordState adds to a row
TRANSACTION: Final = pa.struct(
    [("id", pa.string()), ("total_order", pa.int64()), ("data_collection_order", pa.int64())]
)
# Fields of source blocks that are numbers where they are not null.
NUMBERS: Final = frozenset(
    [
        *("ts_ms", "ts_us", "ts_ns", "lsn", "txId", "xmin", "origin_lsn", "pos", "row", "thread"),
        *("server_id", "event_serial_no", "ord", "ssn", "redo_thread"),
    ]
)
# Numbers of more digits than a double has.
LONG_NUMBER: Final = "|".join(
    rf"\d{{{count}}}\.\d{{{EXACT_DIGITS + 1 - count}}}" for count in range(1, EXACT_DIGITS + 1)
)


class Shape(Enum):
    """What a message is."""

    CHANGE = "an envelope around a row"
    DOCUMENT = "an envelope around the text of a document"
    PLAIN = "a row, or a key"


@dataclass(frozen=True, slots=True)
class SchemalessGroup:
    """Messages of one shape; their type is made of what is declared and what was found."""

    type: SourceType
    rows: Rows
    payloads: pa.Array
    inferred: bool  # the type of some column is a guess
    table: pa.Table | None = None  # what has been read already

    def read(self, fields: Sequence[SourceColumn]) -> RawColumns:
        """Read some fields of every message; one that is absent is null."""
        schema = json_schema(fields)
        columns = [] if self.table is None else [_part(self.table, f) for f in schema]
        if self.table is None or any(column is None for column in columns):
            return read_payloads(self.payloads, schema)
        return RawColumns(np.arange(len(self.rows)), pa.Table.from_arrays(columns, schema=schema))


def split_schemaless(
    payloads: pa.Array, rows: Rows, declared: Declared
) -> Iterator[SchemalessGroup | BadMessage]:
    """Split JSON texts, each an object that stands for a value or a key, by what they are."""
    survey = _Survey(payloads, declared)
    survey.run()
    yield from (BadMessage(int(rows[b.row]), b.reason) for b in survey.bad)
    for shape, findings in survey.findings.items():
        yield findings.group(shape, payloads, rows, survey)


@dataclass(frozen=True, slots=True)
class _Part:
    """Messages that the fast reader took at once: all of one shape, with these columns."""

    shape: Shape
    kinds: Mapping[str, Kind]
    table: pa.Table


@dataclass(slots=True)
class _Findings:
    """The messages of one shape, and what was found in their rows."""

    kinds: dict[str, Kind] = field(default_factory=dict)  # of each column, in the order met
    places: list[Rows] = field(default_factory=list)
    table: pa.Table | None = None  # of the messages, if the fast reader took them all
    odd: list[int] = field(default_factory=list)  # the places that were looked at one by one

    def note(self, name: str, kind: Kind) -> None:
        self.kinds[name] = join(self.kinds.get(name, Kind.NULL), kind)

    def group(
        self, shape: Shape, payloads: pa.Array, rows: Rows, survey: "_Survey"
    ) -> SchemalessGroup:
        columns, quoted = [], set()
        for name, kind in self.kinds.items():
            found = survey.known.get(name) or type_of(kind)
            if found is None:
                continue
            columns.append(SourceColumn(name, found))
            if name not in survey.certain and found.kind == "string" and not is_text(kind):
                quoted.add(name)
        if quoted:
            payloads = _with_quotes(payloads, self.odd, quoted, shape)
        places = np.concatenate([*self.places, np.array(self.odd, np.int64)])
        places.sort()
        return SchemalessGroup(
            _type(shape, columns),
            rows[places],
            payloads if len(places) == len(payloads) else payloads.take(pa.array(places)),
            shape is not Shape.DOCUMENT and any(c.name not in survey.certain for c in columns),
            self.table,
        )


class _Survey:
    """Goes through messages, and finds out what they are and what columns they have."""

    def __init__(self, payloads: pa.Array, declared: Declared) -> None:
        self.certain = {column.name: column.type for column in declared.columns}
        self.guessed = {
            column.name: column.type
            for column in declared.guessed
            if column.name not in self.certain
        }
        self.known = self.guessed | self.certain
        self.findings: dict[Shape, _Findings] = {}
        self.bad: list[BadMessage] = []
        self._payloads = payloads
        self._raw = {name: json_type(kind) for name, kind in self.known.items()}
        self._doubles = {name for name, kind in self.guessed.items() if kind.kind == "double"}

    def run(self) -> None:
        count = len(self._payloads)
        for start, size, part in in_parts(count, self._read_at_once, smallest=FEW):
            places = np.arange(start, start + size)
            if part is None:
                self._look_at_each(places)
                continue
            findings = self.findings.setdefault(part.shape, _Findings())
            findings.places.append(places)
            findings.table = part.table if size == count else None
            for name, kind in part.kinds.items():
                findings.note(name, kind)

    def _read_at_once(self, start: int, count: int) -> _Part | None:
        """Read messages as the first of them suggests, if all are like it."""
        try:
            first = _parsed(self._payloads[start].as_py())
            shape = _shape(first)
            fields, kinds = self._expected(first, shape)
        except (ValueError, RecursionError):
            return None
        payloads = self._payloads.slice(start, count)
        table = read_fast(payloads, pa.schema(fields), others="error")
        if table is None:
            return None
        if shape is not Shape.PLAIN and table["source"].null_count:
            return None
        doubles = self._doubles & kinds.keys()
        if doubles and not self._exact(payloads, table, shape, doubles):
            return None
        return _Part(shape, kinds, table)

    def _expected(
        self, first: dict[str, Any], shape: Shape
    ) -> tuple[dict[str, pa.DataType], dict[str, Kind]]:
        """Give the raw types under which a message's like can be read, and what its columns are.

        Raises:
            ValueError: The message alone does not tell.
        """
        if shape is Shape.PLAIN:
            return self._columns(first)
        fields: dict[str, pa.DataType] = {}
        kinds: dict[str, Kind] = {}
        row: pa.DataType = pa.string()
        if shape is Shape.CHANGE:
            # Of a deleted row the names alone are of use.
            values = _object(first["after"]) or dict.fromkeys(_object(first.get("before")))
            columns, kinds = self._columns(values)
            row = pa.struct(list(columns.items()))
        for name, value in first.items():
            if name in ("before", "after"):
                fields[name] = row
            elif name == "transaction":
                fields[name] = TRANSACTION
            elif name == "source":
                block = {key: _scalar(key, part) for key, part in _object(value).items()}
                fields[name] = pa.struct(list(block.items()))
            else:
                fields[name] = pa.null() if value is None else _scalar(name, value)
        return fields, kinds

    def _columns(self, row: dict[str, Any]) -> tuple[dict[str, pa.DataType], dict[str, Kind]]:
        if not row:
            raise ValueError("a row without columns")
        types, kinds = {}, {}
        for name, value in row.items():
            kinds[name] = Kind.NULL
            if name in self._raw:
                if has_map(self._raw[name]):
                    raise ValueError("a map")
                types[name] = self._raw[name]
            elif value is None:
                types[name] = pa.null()
            elif name.startswith(ADDED):
                types[name], kinds[name] = _scalar(name, value), kind_of(value)
            else:
                raise ValueError("a column that nobody knows")
        return types, kinds

    def _exact(self, payloads: pa.Array, table: pa.Table, shape: Shape, names: set[str]) -> bool:
        """Say whether all doubles are surely what is written; of most a look at them tells."""
        row = table["after"].combine_chunks() if shape is Shape.CHANGE else None
        for name in names:
            column = table[name] if row is None else pc.struct_field(row, name)
            largest = pc.max(pc.abs(column)).as_py()
            if largest is not None and largest >= 1 << EXACT_BITS:
                return False
        return not pc.any(pc.match_substring_regex(payloads, LONG_NUMBER)).as_py()

    def _look_at_each(self, places: Rows) -> None:
        texts = self._payloads.take(pa.array(places)).to_pylist()
        for place, text in zip(places.tolist(), texts, strict=True):
            try:
                parsed = _parsed(text)
            except (ValueError, RecursionError) as error:
                self.bad.append(BadMessage(place, f"it is not a JSON object: {error}"))
                continue
            if not parsed:
                self.bad.append(BadMessage(place, "it is an object without fields"))
                continue
            shape = _shape(parsed)
            row: Any = parsed if shape is Shape.PLAIN else parsed["after"]
            if shape is Shape.CHANGE and row is None:
                row = dict.fromkeys(_object(parsed.get("before")))
            kinds = {name: kind_of(value) for name, value in _object(row).items()}
            misfit = next((n for n, t in self.guessed.items() if not fits(kinds.get(n), t)), None)
            if misfit is not None:
                self.bad.append(BadMessage(place, self._misfit(misfit, kinds[misfit])))
                continue
            findings = self.findings.setdefault(shape, _Findings())
            findings.odd.append(place)
            for name, kind in kinds.items():
                findings.note(name, kind)

    def _misfit(self, name: str, kind: Kind) -> str:
        return (
            f"its {name} is {kind.value}, which does not fit {self.guessed[name]}, the type that "
            "was inferred from other values"
        )


def _parsed(text: bytes) -> dict[str, Any]:
    parsed = json.loads(text, parse_float=Number)
    if not isinstance(parsed, dict):
        raise ValueError(f"it begins with {text[:20]!r}")
    return parsed


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _shape(message: dict[str, Any]) -> Shape:
    if not message.keys() >= ENVELOPE:
        return Shape.PLAIN
    after, before = message["after"], message.get("before")
    if isinstance(after, str) or (after is None and isinstance(before, str)):
        return Shape.DOCUMENT
    if after is None and "collection" in _object(message["source"]):
        return Shape.DOCUMENT
    return Shape.CHANGE


def _scalar(name: str, value: Any) -> pa.DataType:
    """Give the raw type of a field of the message itself.

    Raises:
        ValueError: It is nothing that Debezium writes there.
    """
    if name in NUMBERS:
        return pa.int64()
    types = {Kind.NULL: pa.string(), Kind.TEXT: pa.string(), Kind.BOOLEAN: pa.bool_()}
    types |= {Kind.INTEGER: pa.int64(), Kind.LONG: pa.int64(), Kind.SPECIAL: pa.string()}
    kind = kind_of(value)
    if kind not in types:
        raise ValueError(f"{name} is {kind.value}")
    return types[kind]


def _type(shape: Shape, columns: list[SourceColumn]) -> SourceType:
    """Describe a message as its schema would."""
    if shape is Shape.PLAIN:
        return SourceType("struct", fields=tuple(columns))
    row = TEXT if shape is Shape.DOCUMENT else SourceType("struct", fields=tuple(columns))
    parts = {"op": TEXT, "source": EMPTY, "after": row}
    return SourceType("struct", fields=tuple(SourceColumn(n, t) for n, t in parts.items()))


def _part(table: pa.Table, wanted: pa.Field) -> pa.Array | None:
    """Find a field among what has been read; None if it was read under another type."""
    if wanted.name not in table.column_names:
        return pa.nulls(len(table), wanted.type)
    return _shaped(table[wanted.name].combine_chunks(), wanted.type)


def _shaped(array: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    if array.type.equals(wanted):
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), wanted)
    if not (pa.types.is_struct(array.type) and pa.types.is_struct(wanted)):
        return None
    if not wanted.num_fields:
        return pa.array([{} if there else None for there in array.is_valid().to_pylist()], wanted)
    members = []
    for member in wanted:
        if array.type.get_field_index(member.name) < 0:
            members.append(pa.nulls(len(array), member.type))
            continue
        part = _shaped(pc.struct_field(array, member.name), member.type)
        if part is None:
            return None
        members.append(part)
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(members, fields=list(wanted), mask=mask)


def _with_quotes(payloads: pa.Array, places: list[int], names: set[str], shape: Shape) -> pa.Array:
    """Write what is no text in columns of text as the text that it is written in."""
    changed = [
        _quoted(text.decode(), names, shape).encode()
        for text in payloads.take(pa.array(places, pa.int64())).to_pylist()
    ]
    mask = np.zeros(len(payloads), bool)
    mask[places] = True
    return pc.replace_with_mask(payloads, pa.array(mask), pa.array(changed, payloads.type))


def _quoted(text: str, names: set[str], shape: Shape) -> str:
    members = members_of(text)
    if shape is Shape.PLAIN:
        return _object_text(
            {
                name: json.dumps(value, ensure_ascii=False)
                if name in names and value != "null" and not value.startswith('"')
                else value
                for name, value in members.items()
            }
        )
    if members["after"].startswith("{"):
        members["after"] = _quoted(members["after"], names, Shape.PLAIN)
    return _object_text(members)


def _object_text(members: Mapping[str, str]) -> str:
    pairs = (f"{json.dumps(name, ensure_ascii=False)}:{v}" for name, v in members.items())
    return "{" + ",".join(pairs) + "}"
