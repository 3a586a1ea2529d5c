"""What columns messages without a schema have, and of what type each of them is.

Some messages are parsed, and say what to expect of the others. Then a fast reader takes them all,
and fails at any field or value that is not as expected: in ever smaller parts, until few messages
are left that must be looked at one by one.

Where all types are declared, messages with other columns are another version of their table, and
kept apart. Where one is a guess they are kept together, since all of them say something about it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.inference import (
    EXACT_BITS,
    EXACT_DIGITS,
    Kind,
    fits,
    join,
    kind_of,
    type_by_value,
)
from cdc.decode.json_payloads import FEW, has_map, json_type, read_fast
from cdc.decode.messages import BadMessage, Rows
from cdc.decode.parts import in_parts
from cdc.decode.row_names import all_have
from cdc.decode.shapes import (
    RAW_KINDS,
    Shape,
    envelope_fields,
    object_or_empty,
    parsed_object,
    row_of,
    shape_of,
)
from cdc.model import SourceType
from cdc.model.column_types import KnownColumns

# So many messages of a part are looked at to know what to expect of it.
SAMPLES: Final = 16
# Numbers of more digits than a double has.
LONG_NUMBER: Final = "|".join(
    rf"\d{{{count}}}\.\d{{{EXACT_DIGITS + 1 - count}}}" for count in range(1, EXACT_DIGITS + 1)
)


@dataclass(frozen=True, slots=True)
class Sort:
    """What messages are that go together; of those whose types are guesses the shape alone."""

    shape: Shape
    names: tuple[str, ...] | None = None  # the columns, in their order
    # The types of those that have had several, as the values tell.
    types: tuple[SourceType, ...] = ()


@dataclass(slots=True)
class Findings:
    """The messages of one sort, and what was found in their rows."""

    kinds: dict[str, Kind] = field(default_factory=dict)  # of each column, in the order met
    indexes: list[Rows] = field(default_factory=list)
    odd: list[int] = field(default_factory=list)  # the indexes of what was looked at one by one
    deletes: bool = True  # all of them; a column that they do not have need not be gone
    table: pa.Table | None = None  # of the messages, if the fast reader took them all
    # Of the columns of rows as they were before a change, which decide no type.
    old_kinds: dict[str, Kind] = field(default_factory=dict)

    def note(self, kinds: Mapping[str, Kind], old: Mapping[str, Kind] | None = None) -> None:
        """Add what was seen in the columns of a row, or of many."""
        for found, seen in ((self.kinds, kinds), (self.old_kinds, old or {})):
            for name, kind in seen.items():
                found[name] = join(found.get(name, Kind.NULL), kind)


@dataclass(frozen=True, slots=True)
class _Part:
    """Messages that the fast reader took at once."""

    sort: Sort
    kinds: Mapping[str, Kind]
    table: pa.Table


class Survey:
    """Goes through messages, and finds out what they are and what columns they have."""

    def __init__(self, payloads: pa.Array, known: KnownColumns) -> None:
        self.declared = {name for name, types in known.items() if types.declared}
        self._inferred = {n: t.inferred for n, t in known.items() if t.inferred and not t.declared}
        self._several = {name for name, types in known.items() if types.others}
        self._known = known
        self.findings: dict[Sort, Findings] = {}
        self.bad_messages: list[BadMessage] = []
        self._payloads = payloads

    def run(self) -> None:
        """Look at all messages."""
        count = len(self._payloads)
        if count and self._is_nested():
            self._look_at_each(np.arange(count))
            return
        for start, size, part in in_parts(count, self._read_at_once, smallest=FEW):
            indexes = np.arange(start, start + size)
            if part is None:
                self._look_at_each(indexes)
                continue
            findings = self.findings.setdefault(part.sort, Findings())
            findings.indexes.append(indexes)
            findings.table = part.table if size == count else None
            findings.note(part.kinds)
            findings.deletes &= part.sort.shape is Shape.CHANGE and (
                part.table["after"].null_count == size
            )

    def known_type(self, name: str, kind: Kind) -> SourceType | None:
        """Give the type of a column that is known beforehand."""
        found = type_by_value(self._known[name], kind) if name in self._known else None
        # MySQL's catalog says tinyint(1) of a column that its log may have as a boolean.
        if found is not None and found.kind == "int16" and self._is_boolean(name, kind):
            return SourceType("boolean")
        return found

    def _is_boolean(self, name: str, kind: Kind) -> bool:
        """Say whether values are true or false; of nulls the other messages tell."""
        if kind is not Kind.NULL:
            return kind is Kind.BOOLEAN
        kinds = (found.kinds.get(name) for found in self.findings.values())
        return any(kind is Kind.BOOLEAN for kind in kinds)

    def _samples(self, start: int, count: int) -> list[dict[str, Any]]:
        number = max(2, min(SAMPLES, count // 8))
        indexes = np.unique(np.linspace(start, start + count - 1, number).astype(np.int64))
        return [parsed_object(self._payloads[index].as_py()) for index in indexes.tolist()]

    def _is_nested(self) -> bool:
        """Say whether most rows hold objects or arrays to be kept as text: no reader does that."""
        try:
            samples = self._samples(0, len(self._payloads))
        except (ValueError, RecursionError):
            return False
        nested = [
            any(kind_of(v) is Kind.NESTED for n, v in row.items() if n not in self.declared)
            for row in (row_of(sample, shape_of(sample)) for sample in samples)
        ]
        return 2 * sum(nested) > len(nested)

    def _read_at_once(self, start: int, count: int) -> _Part | None:
        """Read messages as some of them suggest, if all are like these."""
        try:
            samples = self._samples(start, count)
            shape = shape_of(samples[0])
            if any(shape_of(sample) is not shape for sample in samples):
                return None
            fields, kinds = self._expected(samples, shape)
            sort = self._common_sort(samples, shape, kinds)
        except (ValueError, RecursionError):
            return None
        payloads = self._payloads.slice(start, count)
        table = read_fast(payloads, pa.schema(fields), others="error")
        if table is None or (shape is not Shape.PLAIN and table["source"].null_count):
            return None
        if sort.names is not None and not all_have(sort.names, table, payloads, samples[0], shape):
            return None
        part = _Part(sort, kinds, table)
        return None if self._has_strange_nulls(part) else self._checked(part, payloads)

    def _has_strange_nulls(self, part: _Part) -> bool:
        """Say whether nulls stand among values of a type that is not the table's own yet.

        They may come from before the column had that type, and belong to the one before.
        """
        strange = [
            name
            for name, kind in part.kinds.items()
            if name in self._several and self.known_type(name, kind) != self._known[name].declared
        ]
        if not strange:
            return False
        if part.sort.shape is not Shape.CHANGE:
            return any(part.table[name].null_count for name in strange)
        row = part.table["after"].combine_chunks()
        return any(row.field(row.type.get_field_index(name)).null_count for name in strange)

    def _common_sort(
        self, samples: list[dict[str, Any]], shape: Shape, kinds: Mapping[str, Kind]
    ) -> Sort:
        """Give what messages are, as far as some of them tell.

        Raises:
            ValueError: They are not all the same.
        """
        if len({self._names(row_of(sample, shape)) for sample in samples}) > 1:
            raise ValueError("some have other columns")
        if any(kinds.get(name) is Kind.MIXED for name in self._several):
            raise ValueError("some have other types")
        return self._sort(shape, kinds)

    def _sort(self, shape: Shape, kinds: Mapping[str, Kind]) -> Sort:
        """Say what a message is whose row has values of these kinds."""
        names = self._names(kinds)
        if names is None:
            return Sort(shape)
        several = [name for name in names if name in self._several]
        types = (self.known_type(name, kinds[name]) for name in several)
        return Sort(shape, names, tuple(kind for kind in types if kind is not None))

    def _names(self, row: Iterable[str]) -> tuple[str, ...] | None:
        """Give the columns of a row if the types of all are declared; no columns say nothing."""
        names = tuple(row)
        return names if names and all(name in self.declared for name in names) else None

    def _expected(
        self, samples: list[dict[str, Any]], shape: Shape
    ) -> tuple[dict[str, pa.DataType], dict[str, Kind]]:
        """Give the raw types under which messages can be read, and what their columns are.

        Raises:
            ValueError: The samples do not tell, or what they tell cannot be read at once.
        """
        if shape is Shape.DOCUMENT:
            return envelope_fields(samples, pa.string()), {}
        found = Findings()
        for sample in samples:
            row = row_of(sample, shape)
            found.note({name: kind_of(value) for name, value in row.items()})
        if not found.kinds:
            raise ValueError("rows without columns")
        types = {name: self._raw_type(name, kind) for name, kind in found.kinds.items()}
        if shape is Shape.PLAIN:
            return types, found.kinds
        return envelope_fields(samples, pa.struct(list(types.items()))), found.kinds

    def _raw_type(self, name: str, kind: Kind) -> pa.DataType:
        known = self.known_type(name, kind)
        if known is not None and known.kind != "boolean":
            raw = json_type(known)
            if has_map(raw):
                raise ValueError(f"{name} has a map inside")
            return raw
        if kind not in RAW_KINDS:
            raise ValueError(f"{name} is {kind.value}")
        return pa.bool_() if known is not None else RAW_KINDS[kind]

    def _checked(self, part: _Part, payloads: pa.Array) -> _Part | None:
        """Look whether numbers are surely what is written: a reader of doubles rounds silently."""
        kinds = dict(part.kinds)
        changes = part.sort.shape is Shape.CHANGE
        row = part.table["after"].combine_chunks() if changes else None
        doubles = False
        for name, kind in part.kinds.items():
            if name in self.declared:
                continue
            column = part.table[name] if row is None else pc.struct_field(row, name)
            if not (pa.types.is_int64(column.type) or pa.types.is_float64(column.type)):
                continue
            ends = pc.min_max(column).as_py()
            largest = max(abs(ends["min"] or 0), abs(ends["max"] or 0))
            if pa.types.is_int64(column.type):
                kinds[name] = Kind.LONG if largest > 1 << EXACT_BITS else kind
                continue
            if largest >= 1 << EXACT_BITS:
                return None
            doubles = True
        if doubles and pc.any(pc.match_substring_regex(payloads, LONG_NUMBER)).as_py():
            return None
        return _Part(part.sort, kinds, part.table)

    def _look_at_each(self, indexes: Rows) -> None:
        texts = self._payloads.take(pa.array(indexes)).to_pylist()
        for index, text in zip(indexes.tolist(), texts, strict=True):
            try:
                message = parsed_object(text)
            except (ValueError, RecursionError) as error:
                self.bad_messages.append(BadMessage(index, f"it is not a JSON object: {error}"))
                continue
            if not message:
                self.bad_messages.append(BadMessage(index, "it is an object without fields"))
                continue
            shape = shape_of(message)
            kinds = {name: kind_of(value) for name, value in row_of(message, shape).items()}
            misfit = next((n for n, t in self._inferred.items() if not fits(kinds.get(n), t)), None)
            if misfit is not None:
                self.bad_messages.append(BadMessage(index, self._misfit(misfit, kinds[misfit])))
                continue
            findings = self.findings.setdefault(self._sort(shape, kinds), Findings())
            findings.odd.append(index)
            findings.deletes &= shape is Shape.CHANGE and not message["after"]
            before = message.get("before") if shape is Shape.CHANGE else None
            old = {name: kind_of(value) for name, value in object_or_empty(before).items()}
            findings.note(kinds, old)

    def _misfit(self, name: str, kind: Kind) -> str:
        return (
            f"its {name} is {kind.value}, which does not fit {self._inferred[name]}, the type that "
            "was inferred from other values"
        )
