"""Whether messages without a schema all have the same columns.

Debezium writes a column that is null as such: one that is not there belongs to another version of
the table. No reader of whole columns tells the two apart, so where a value is null the text itself
is searched for the name. A quote within a text is escaped there: with the colon behind it, it can
only end a name.
"""

import re
from collections.abc import Collection, Sequence
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.messages import Mask
from cdc.decode.shapes import Shape


def all_have(
    names: Sequence[str],
    table: pa.Table,
    payloads: pa.Array,
    sample: dict[str, Any],
    shape: Shape,
) -> bool:
    """Say whether all messages surely have these columns, in this order; in doubt they do not.

    Args:
        names: The columns; no message has any other.
        table: The messages as they were read.
        payloads: Their texts.
        sample: One of them.
        shape: What they all are.
    """
    if shape is Shape.PLAIN:
        return _named(names, table, payloads, "", "")
    after = table["after"].combine_chunks()
    there = after.is_valid().to_numpy(zero_copy_only=False)
    if not there.all():
        gone = pa.array(np.flatnonzero(~there))
        end = _behind("before", sample)
        if end is None or not _found(names, payloads.take(gone), '"before":{', end):
            return False
        after, payloads = after.filter(after.is_valid()), payloads.filter(after.is_valid())
    end = _behind("after", sample)
    if end is None:
        return not after.null_count and not _nulls(names, _members(after)).any()
    return _named(names, _members(after), payloads, '"after":{', end)


def _named(names: Sequence[str], rows: pa.Table, payloads: pa.Array, start: str, end: str) -> bool:
    """Look for the names of columns that are null somewhere, in the messages where one is."""
    odd = [name for name in names if rows[name].null_count]
    if not odd:
        return True
    # A member of a struct may have the name of a column: of such a one nobody can tell.
    if not _member_names(rows.schema).isdisjoint(odd):
        return False
    indexes = np.flatnonzero(_nulls(odd, rows))
    return _found(odd, payloads.take(pa.array(indexes)), start, end)


def _found(names: Sequence[str], payloads: pa.Array, start: str, end: str) -> bool:
    parts = (re.escape(f"{encode_basestring(name)}:") for name in names)
    pattern = f"(?s){re.escape(start)}.*{'.*'.join(parts)}.*{re.escape(end)}"
    return bool(pc.all(pc.match_substring_regex(payloads, pattern=pattern)).as_py())


def _behind(field: str, sample: dict[str, Any]) -> str | None:
    """Give what ends a field of the envelope: the name of the next one."""
    fields = list(sample)
    index = fields.index(field) + 1 if field in fields else len(fields)
    return f',"{fields[index]}":' if index < len(fields) else None


def _members(rows: pa.StructArray) -> pa.Table:
    return pa.Table.from_arrays(rows.flatten(), names=[member.name for member in rows.type])


def _nulls(names: Sequence[str], rows: pa.Table) -> Mask:
    nulls = np.zeros(len(rows), bool)
    for name in names:
        nulls |= rows[name].is_null().to_numpy()
    return nulls


def _member_names(fields: Collection[pa.Field]) -> set[str]:
    """Name the members of all structs, however deep."""
    found: set[str] = set()
    for field in fields:
        kind = field.type
        while pa.types.is_list(kind):
            kind = kind.value_type
        if pa.types.is_struct(kind):
            found |= {member.name for member in kind} | _member_names(list(kind))
    return found
