"""What columns messages without a schema have, and of what type each of them is.

Some messages are parsed, and say what to expect of the others. Then a fast reader takes them all,
and fails at any field or value that is not as expected: in ever smaller parts, until few messages
are left that must be looked at one by one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.inference import EXACT_BITS, EXACT_DIGITS, Kind, fits, join, kind_of
from cdc.decode.json_payloads import FEW, has_map, json_type, read_fast
from cdc.decode.messages import BadMessage, Rows
from cdc.decode.parts import in_parts
from cdc.decode.shapes import (
    RAW_KINDS,
    Shape,
    envelope_fields,
    object_or_empty,
    parsed_object,
    row_of,
    shape_of,
)
from cdc.model import Declared, SourceType

# So many messages of a part are looked at to know what to expect of it.
SAMPLES: Final = 16
# Numbers of more digits than a double has.
LONG_NUMBER: Final = "|".join(
    rf"\d{{{count}}}\.\d{{{EXACT_DIGITS + 1 - count}}}" for count in range(1, EXACT_DIGITS + 1)
)


@dataclass(slots=True)
class Findings:
    """The messages of one shape, and what was found in their rows."""

    kinds: dict[str, Kind] = field(default_factory=dict)  # of each column, in the order met
    places: list[Rows] = field(default_factory=list)
    odd: list[int] = field(default_factory=list)  # the places that were looked at one by one
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

    shape: Shape
    kinds: Mapping[str, Kind]
    table: pa.Table


class Survey:
    """Goes through messages, and finds out what they are and what columns they have."""

    def __init__(self, payloads: pa.Array, declared: Declared) -> None:
        self.certain = {column.name: column.type for column in declared.columns}
        self.guessed = {
            column.name: column.type
            for column in declared.guessed
            if column.name not in self.certain
        }
        self.findings: dict[Shape, Findings] = {}
        self.bad: list[BadMessage] = []
        self._payloads = payloads
        known = self.guessed | self.certain
        self._raw = {name: json_type(kind) for name, kind in known.items()}

    def run(self) -> None:
        """Look at all messages."""
        count = len(self._payloads)
        if count and self._is_nested():
            self._look_at_each(np.arange(count))
            return
        for start, size, part in in_parts(count, self._read_at_once, smallest=FEW):
            places = np.arange(start, start + size)
            if part is None:
                self._look_at_each(places)
                continue
            findings = self.findings.setdefault(part.shape, Findings())
            findings.places.append(places)
            findings.table = part.table if size == count else None
            findings.note(part.kinds)

    def declared_type(self, name: str, kind: Kind) -> SourceType | None:
        """Give the type of a column that is known beforehand."""
        found = self.certain.get(name) or self.guessed.get(name)
        # MySQL's catalog says tinyint(1) of a column that its log may have as a boolean.
        if found is not None and found.kind == "int16" and kind is Kind.BOOLEAN:
            return SourceType("boolean")
        return found

    def _samples(self, start: int, count: int) -> list[dict[str, Any]]:
        number = max(2, min(SAMPLES, count // 8))
        places = np.unique(np.linspace(start, start + count - 1, number).astype(np.int64))
        return [parsed_object(self._payloads[place].as_py()) for place in places.tolist()]

    def _is_nested(self) -> bool:
        """Say whether most rows hold objects or arrays to be kept as text: no reader does that."""
        try:
            samples = self._samples(0, len(self._payloads))
        except (ValueError, RecursionError):
            return False
        nested = [
            any(kind_of(v) is Kind.NESTED for n, v in row.items() if n not in self.certain)
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
        except (ValueError, RecursionError):
            return None
        payloads = self._payloads.slice(start, count)
        table = read_fast(payloads, pa.schema(fields), others="error")
        if table is None or (shape is not Shape.PLAIN and table["source"].null_count):
            return None
        return self._checked(_Part(shape, kinds, table), payloads)

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
        declared = self.declared_type(name, kind)
        if declared is not None and declared.kind != "boolean":
            if has_map(self._raw[name]):
                raise ValueError(f"{name} has a map inside")
            return self._raw[name]
        if kind not in RAW_KINDS:
            raise ValueError(f"{name} is {kind.value}")
        return pa.bool_() if declared is not None else RAW_KINDS[kind]

    def _checked(self, part: _Part, payloads: pa.Array) -> _Part | None:
        """Look whether numbers are surely what is written: a reader of doubles rounds silently."""
        kinds = dict(part.kinds)
        row = part.table["after"].combine_chunks() if part.shape is Shape.CHANGE else None
        doubles = False
        for name, kind in part.kinds.items():
            if name in self.certain:
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
        return _Part(part.shape, kinds, part.table)

    def _look_at_each(self, places: Rows) -> None:
        texts = self._payloads.take(pa.array(places)).to_pylist()
        for place, text in zip(places.tolist(), texts, strict=True):
            try:
                message = parsed_object(text)
            except (ValueError, RecursionError) as error:
                self.bad.append(BadMessage(place, f"it is not a JSON object: {error}"))
                continue
            if not message:
                self.bad.append(BadMessage(place, "it is an object without fields"))
                continue
            shape = shape_of(message)
            kinds = {name: kind_of(value) for name, value in row_of(message, shape).items()}
            misfit = next((n for n, t in self.guessed.items() if not fits(kinds.get(n), t)), None)
            if misfit is not None:
                self.bad.append(BadMessage(place, self._misfit(misfit, kinds[misfit])))
                continue
            findings = self.findings.setdefault(shape, Findings())
            findings.odd.append(place)
            before = message.get("before") if shape is Shape.CHANGE else None
            old = {name: kind_of(value) for name, value in object_or_empty(before).items()}
            findings.note(kinds, old)

    def _misfit(self, name: str, kind: Kind) -> str:
        return (
            f"its {name} is {kind.value}, which does not fit {self.guessed[name]}, the type that "
            "was inferred from other values"
        )
