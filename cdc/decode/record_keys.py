"""Key columns as the records' keys hold them: whole for every change, deletes included."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.decode_plan import DecodePlan
from cdc.decode.messages import BadMessage, BadRecords, Mask, MessageGroup, Rows
from cdc.decode.schemaless import SchemalessGroup, by_columns
from cdc.decode.table_values import table_values
from cdc.decode.wire import split
from cdc.model import SourceColumn, SourceType
from cdc.model.column_types import known_columns

OF_KEY = "of its key: "


@dataclass(slots=True)
class KeyColumn:
    """A key column as the records' keys hold it: the rows asked for, and what was found."""

    rows: Rows
    pieces: list[tuple[Rows, SourceType, pa.Array]] = field(default_factory=list)


class RecordKeys:
    """The keys of a chunk of records."""

    def __init__(self, keys: pa.Array, plan: DecodePlan, bad_records: BadRecords) -> None:
        self._keys, self._plan, self._bad_records = keys, plan, bad_records

    def present(self, rows: Rows) -> Mask:
        """Say which of some records have a key."""
        found: Mask = self._keys.take(pa.array(rows)).is_valid().to_numpy(zero_copy_only=False)
        return found

    def same_as_before(self, rows: Rows) -> Mask:
        """Say which of some records have the key of the record before them, and are not first."""
        keys = pc.equal(
            self._keys.take(pa.array(rows)), self._keys.take(pa.array(np.maximum(rows - 1, 0)))
        )
        same: Mask = pc.fill_null(keys, False).to_numpy(zero_copy_only=False) & (rows > 0)
        return same

    def split(self, rows: Rows, columns: tuple[SourceColumn, ...] = ()) -> Iterator[MessageGroup]:
        """Split the keys of some rows; one without a schema has the types of the row's columns."""
        known = known_columns(self._plan.columns, declared=columns)
        messages = self._keys
        if len(rows) != len(messages):
            messages = messages.take(pa.array(rows))
        for item in split(messages, rows, self._plan.wire, known):
            if isinstance(item, BadMessage):
                self._bad_records.add([BadMessage(item.row, OF_KEY + item.reason)])
            elif isinstance(item, SchemalessGroup):
                yield from by_columns(item)
            else:
                yield item

    def columns(
        self,
        rows: Rows,
        row: tuple[SourceColumn, ...],
        names: Mapping[str, str] | None = None,
    ) -> dict[str, KeyColumn]:
        """Read the key columns that the table has from the keys of some records.

        Args:
            rows: The records.
            row: The columns of their rows, which may say more of a type.
            names: The table's names for the messages' columns, where they differ.
        """
        table = self._plan.table
        assert table is not None
        columns: dict[str, KeyColumn] = {}
        for group in self.split(rows[self.present(rows)], row):
            called = {c.name: (names or {}).get(c.name, c.name) for c in group.type.fields}
            known = [c for c in group.type.fields if called[c.name] in table.schema.names]
            raw = group.read(known)
            found = group.rows[raw.indexes]
            self._bad_records.add(raw.bad_messages, group.rows, OF_KEY)
            for column in known:
                part = columns.setdefault(called[column.name], KeyColumn(rows))
                kind = self._type(replace(column, name=called[column.name]), row)
                part.pieces.append((found, kind, raw.table[column.name].combine_chunks()))
        return columns

    def values(self, part: KeyColumn, column: pa.Field) -> pa.Array:
        """Convert the values of one key column, in the order of the rows they were asked for."""
        order, arrays = [], []
        for rows, source, raw in part.pieces:
            array, bad_messages = table_values(raw, source, column, self._plan)
            self._bad_records.add(bad_messages, rows, OF_KEY)
            order.append(rows)
            arrays.append(array)
        found = np.concatenate(order)
        if not len(found):
            return pa.nulls(len(part.rows), column.type)
        by_row = np.argsort(found)
        indexes = np.searchsorted(found[by_row], part.rows)
        inside = np.minimum(indexes, len(found) - 1)
        there = found[by_row][inside] == part.rows
        index = pa.array(by_row[inside], mask=~there)
        return pa.concat_arrays(arrays).take(index)

    def _type(self, sent: SourceColumn, row: tuple[SourceColumn, ...]) -> SourceType:
        """Give a key column's type as the row has it, where that says more.

        The name of a source type comes with rows only: of the key alone nobody could tell that
        its -1 is the greatest number without a sign.
        """
        own, known = sent.type, (c for schema in self._plan.known for c in schema.columns)
        fuller = (
            column.type
            for column in row or known
            if column.name == sent.name
            and (column.type.kind, column.type.logical) == (own.kind, own.logical)
            and set(column.type.parameters) >= set(own.parameters)
        )
        return max(fuller, key=lambda kind: len(kind.parameters), default=own)
