"""Changes of one schema put into the columns of the table that they are for."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.before_images import usable
from cdc.decode.decode_plan import DecodePlan, TargetTable
from cdc.decode.envelope import RawChanges
from cdc.decode.messages import BadMessage, BadRecords, Mask, Rows
from cdc.decode.record_keys import RecordKeys
from cdc.decode.table_values import table_values
from cdc.decode.unavailable import unsent_values
from cdc.model import MISSING, OFFSET, OP, POSITION, TIME, Form, Op, SourceSchema


@dataclass(frozen=True, slots=True)
class ChangeTables:
    """What some changes have become; `moved` are the deletes of keys that their rows left."""

    changes: pa.Table
    moved: pa.Table | None = None


class Converter:
    """Converts the changes of a chunk; those whose values the table cannot have are bad records."""

    def __init__(
        self,
        offsets: pa.Array,
        keys: RecordKeys,
        plan: DecodePlan,
        table: TargetTable,
        bad_records: BadRecords,
    ) -> None:
        self._offsets, self._keys, self._plan = offsets, keys, plan
        self._table, self._bad_records = table, bad_records
        self._target: pa.Schema = table.schema

    def convert(
        self, raw: RawChanges, schema: SourceSchema, names: Mapping[str, str] | None = None
    ) -> ChangeTables:
        """Convert changes; a delete has its key, and the row as it was where that is asked for.

        Args:
            raw: The changes, in the table's names.
            schema: What their messages say of them, in the table's names.
            names: Those names by the messages' own, where they differ.
        """
        deleted = _mask(pc.equal(raw.op, Op.DELETE))
        images = self._images(raw, schema, deleted)
        arrays, unsent = self._rows(raw, schema, deleted, images)
        self._put_keys(arrays, raw, schema, deleted, names)
        for column in self._target:
            array = arrays[column.name]
            if not column.nullable and array.null_count:
                reason = f"its key column {column.name} has no value"
                self._note_bad(raw.rows[_mask(array.is_null())], reason)
        moved = self._moved(arrays, raw, schema, images)
        changes = self._changes(arrays, raw)
        if unsent:
            changes = changes.append_column(MISSING, _names_of(unsent))
        return ChangeTables(
            self._without_bad(changes, raw.rows),
            None if moved is None else self._without_bad(*moved),
        )

    def truncates(self, raw: RawChanges) -> pa.Table:
        """Make truncates changes without values."""
        arrays = {c.name: pa.nulls(len(raw.rows), c.type) for c in self._target}
        return self._changes(arrays, raw)

    def _not_in_keys(self, schema: SourceSchema) -> tuple[str, ...]:
        """Name the columns of the table's key that the records' keys do not have.

        The config may name another key, and so may records from before the key was changed.
        """
        if schema.form is Form.DOCUMENT:
            return ()
        return tuple(name for name in self._table.row_key if name not in schema.key)

    def _images(
        self, raw: RawChanges, schema: SourceSchema, deleted: Mask
    ) -> "tuple[pa.StructArray, Mask] | None":
        """Give the rows as they were, and which of them are worth something."""
        names = self._not_in_keys(schema)
        if raw.before is None or not (names or (self._table.images and deleted.any())):
            images = None
        else:
            images = raw.before, usable(raw.before, schema.key)
        if names and deleted.any():
            known = images[1] if images is not None else np.zeros(len(deleted), bool)
            self._note_bad(raw.rows[deleted & ~known], _no_image(names))
        return images

    def _rows(
        self,
        raw: RawChanges,
        schema: SourceSchema,
        deleted: Mask,
        images: "tuple[pa.StructArray, Mask] | None",
    ) -> tuple[dict[str, pa.Array], dict[str, Mask]]:
        """Convert the values of the rows, and say which of them the source did not send."""
        row = raw.row
        if schema.form is Form.FLAT and deleted.any():
            row = _without(row, deleted)  # a rewritten delete repeats the row as it was
        old = None
        if images is not None:
            chosen = deleted & images[1]
            old = images[0].take(pa.array(np.flatnonzero(chosen))) if chosen.any() else None
        kept = set(self._target.names if self._table.images else self._not_in_keys(schema))
        arrays, unsent = {}, {}
        for column in self._target:
            array, mask = self._values(row, raw.rows, schema, column)
            if mask is not None:
                unsent[column.name] = mask
                if column.name in self._table.key:
                    reason = f"its key column {column.name} was left out by the source"
                    self._note_bad(raw.rows[mask], reason)
            if old is not None and column.name in kept:
                array = self._with_old(array, old, raw.rows, chosen, schema, column)
            arrays[column.name] = array
        return arrays, unsent

    def _with_old(
        self,
        array: pa.Array,
        old: pa.StructArray,
        rows: Rows,
        chosen: Mask,
        schema: SourceSchema,
        column: pa.Field,
    ) -> pa.Array:
        """Give deletes the value that their row had; what the source did not send stays unknown."""
        values, unsent = self._values(old, rows[chosen], schema, column)
        if unsent is not None and column.name in self._not_in_keys(schema):
            self._note_bad(rows[chosen][unsent], _no_image((column.name,)))
        return pc.replace_with_mask(array, pa.array(chosen), values)

    def _values(
        self, row: pa.StructArray, rows: Rows, schema: SourceSchema, column: pa.Field
    ) -> tuple[pa.Array, Mask | None]:
        """Convert one column of some rows; null where they do not have it."""
        source = next((c.type for c in schema.columns if c.name == column.name), None)
        index = row.type.get_field_index(column.name)
        if source is None or index < 0:
            return pa.nulls(len(rows), column.type), None
        values = pc.struct_field(row, [index])  # by name, a dot in it would make a path
        unsent = unsent_values(values)
        if unsent is not None:
            values = pc.if_else(pa.array(unsent), None, values)
        array, bad_messages = table_values(values, source, column, self._plan)
        self._bad_records.add(bad_messages, rows)
        return array, unsent

    def _put_keys(
        self,
        arrays: dict[str, pa.Array],
        raw: RawChanges,
        schema: SourceSchema,
        deleted: Mask,
        names: Mapping[str, str] | None,
    ) -> None:
        """Take the keys of deletes, and of documents, from where they are always whole."""
        by_key = np.ones(len(deleted), bool) if schema.form is Form.DOCUMENT else deleted
        if not schema.key or not by_key.any():
            return
        keys = self._keys.columns(raw.rows[by_key], schema.columns, names)
        for column in self._target:
            if column.name in keys:
                values = self._keys.values(keys[column.name], column)
                array = arrays[column.name]
                arrays[column.name] = pc.replace_with_mask(array, pa.array(by_key), values)

    def _moved(
        self,
        arrays: Mapping[str, pa.Array],
        raw: RawChanges,
        schema: SourceSchema,
        images: "tuple[pa.StructArray, Mask] | None",
    ) -> tuple[pa.Table, Rows] | None:
        """Find updates that gave their row another key, and make the deletes of the old ones.

        Debezium does the same for the keys that it knows of; of the config's it does not.
        """
        if images is None or schema.form is not Form.ENVELOPE or not self._not_in_keys(schema):
            return None
        updated = np.flatnonzero(_mask(pc.equal(raw.op, Op.UPDATE)) & images[1])
        if not len(updated):
            return None
        old, rows = images[0].take(pa.array(updated)), raw.rows[updated]
        key = [column for column in self._target if column.name in self._table.row_key]
        before = {column.name: self._values(old, rows, schema, column)[0] for column in key}
        differs = np.zeros(len(updated), bool)
        for name, values in before.items():
            differs |= ~_same(values, arrays[name].take(pa.array(updated)))
        if not differs.any():
            return None
        chosen = pa.array(np.flatnonzero(differs))
        arrays = {
            column.name: before[column.name].take(chosen)
            if column.name in before
            else pa.nulls(len(chosen), column.type)
            for column in self._target
        }
        return self._changes(arrays, raw.take(updated[differs]).as_deletes()), rows[differs]

    def _changes(self, arrays: Mapping[str, pa.Array], raw: RawChanges) -> pa.Table:
        own = {
            OFFSET: self._offsets.take(pa.array(raw.rows)),
            OP: raw.op,
            POSITION: raw.position,
            TIME: raw.time,
        }
        columns = [arrays[name] for name in self._target.names]
        return pa.Table.from_arrays([*columns, *own.values()], [*self._target.names, *own])

    def _without_bad(self, table: pa.Table, rows: Rows) -> pa.Table:
        bad_rows = self._bad_records.rows
        return table.filter(pa.array(~np.isin(rows, bad_rows))) if bad_rows else table

    def _note_bad(self, rows: Rows, reason: str) -> None:
        self._bad_records.add(BadMessage(row, reason) for row in rows.tolist())


def _no_image(names: tuple[str, ...]) -> str:
    return (
        f"it is a delete that does not say which {', '.join(names)} its row had: let the database "
        "log whole rows (REPLICA IDENTITY FULL in PostgreSQL, binlog_row_image = FULL in MySQL)"
    )


def _names_of(unsent: Mapping[str, Mask]) -> pa.Array:
    """List for each row the columns that were not sent; null where it is whole."""
    count = len(next(iter(unsent.values())))
    names: list[list[str] | None] = [None] * count
    for name, mask in unsent.items():
        for index in np.flatnonzero(mask).tolist():
            names[index] = [*(names[index] or ()), name]
    return pa.array(names, pa.list_(pa.string()))


def _without(row: pa.StructArray, mask: Mask) -> pa.StructArray:
    """Take away some rows' values."""
    if not row.type.num_fields:
        return row
    gone = pa.array(mask | row.is_null().to_numpy(zero_copy_only=False))
    return pa.StructArray.from_arrays(
        [pc.struct_field(row, [index]) for index in range(row.type.num_fields)],
        fields=list(row.type),
        mask=gone,
    )


def _same(one: pa.Array, other: pa.Array) -> Mask:
    """Say where two columns have the same value; null is one."""
    return _mask(pc.or_kleene(pc.equal(one, other), pc.and_(one.is_null(), other.is_null())))


def _mask(values: pa.Array) -> Mask:
    mask: Mask = pc.fill_null(values, False).to_numpy(zero_copy_only=False).astype(bool)
    return mask
