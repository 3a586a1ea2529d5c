"""Messages without schemas from several versions of their table, in one chunk."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cdc.decode.schemaless import SchemalessGroup, split_schemaless
from cdc.model import SourceColumn, SourceType
from cdc.model.column_types import ColumnTypes, KnownColumns, known_columns
from tests.unit.messages import ORDERS, source_values

INT, TEXT = SourceType("int32"), SourceType("string")
VARIABLE = SourceType(
    "struct", fields=(SourceColumn("scale", INT), SourceColumn("value", SourceType("bytes")))
)
MANY = 400  # more than are ever looked at one by one without a reason


def columns(**types: SourceType) -> tuple[SourceColumn, ...]:
    return tuple(SourceColumn(name, kind) for name, kind in types.items())


def message(after: dict[str, Any] | None, before: dict[str, Any] | None = None) -> bytes:
    op = "d" if after is None else "c"
    source = {**source_values(ORDERS, 7), "note": None}
    value = {"before": before, "after": after, "source": source, "op": op, "note": None}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def split(messages: Sequence[bytes], known: KnownColumns) -> list[SchemalessGroup]:
    payloads = pa.array(messages, pa.binary())
    found = list(split_schemaless(payloads, np.arange(len(messages)), known))
    assert all(isinstance(item, SchemalessGroup) for item in found)
    return [item for item in found if isinstance(item, SchemalessGroup)]


def versions(messages: Sequence[bytes], known: KnownColumns) -> dict[tuple[str, ...], list[int]]:
    """Give the rows of each version by its columns; none of them has a guess in it."""
    found = {}
    for group in split(messages, known):
        assert not group.inferred
        row = next(part.type.fields for part in group.type.fields if part.name == "after")
        found[tuple(column.name for column in row)] = group.rows.tolist()
    return found


DECLARED = known_columns(declared=columns(id=INT, v=INT, note=TEXT, w=INT))


@pytest.mark.parametrize("count", [3, MANY])
def test_a_column_that_is_not_there_is_told_from_one_that_is_null(count: int) -> None:
    old = [message({"id": n, "v": None, "note": None}) for n in range(count)]
    new = [message({"id": n, "note": None}) for n in range(count)]

    found = versions([*old, *new], DECLARED)

    assert found == {
        ("id", "v", "note"): list(range(count)),
        ("id", "note"): list(range(count, 2 * count)),
    }


def test_a_version_between_two_others_is_found_however_short_it_was() -> None:
    whole = [message({"id": n, "v": None, "note": "x"}) for n in range(MANY)]
    whole[MANY // 2 + 1] = message({"id": 1, "note": '"v":'})

    found = versions(whole, DECLARED)

    assert found["id", "note"] == [MANY // 2 + 1]
    assert len(found["id", "v", "note"]) == MANY - 1


def test_columns_come_in_the_order_of_their_own_version() -> None:
    one, other = {"id": 1, "v": 2}, {"v": 2, "w": 3, "id": 1}

    assert list(versions([message(one), message(other)], DECLARED)) == [
        ("id", "v"),
        ("v", "w", "id"),
    ]


def test_a_name_within_a_text_or_another_block_is_no_column() -> None:
    messages = [message({"id": n, "v": None, "note": None}) for n in range(MANY)]
    messages += [message({"id": n, "v": None}) for n in range(MANY)]  # a note has the source block

    found = versions(messages, DECLARED)

    assert {names: len(rows) for names, rows in found.items()} == {
        ("id", "v", "note"): MANY,
        ("id", "v"): MANY,
    }


def test_a_member_of_a_struct_is_no_column() -> None:
    known = known_columns(declared=columns(id=INT, price=VARIABLE, value=INT))
    price = {"scale": 1, "value": "AQ=="}
    old = [message({"id": n, "price": price, "value": None}) for n in range(MANY)]
    new = [message({"id": n, "price": price}) for n in range(MANY)]

    found = versions([*old, *new], known)

    assert {names: len(rows) for names, rows in found.items()} == {
        ("id", "price", "value"): MANY,
        ("id", "price"): MANY,
    }


def test_a_delete_belongs_to_the_version_that_its_image_has() -> None:
    row = {"id": 1, "v": None, "note": None}
    messages = [message(row) if n % 2 else message(None, row) for n in range(MANY)]

    assert list(versions(messages, DECLARED)) == [("id", "v", "note")]


def test_deletes_alone_do_not_tell_that_a_column_is_gone() -> None:
    (group,) = split([message(None, {"id": 1})] * 3, DECLARED)

    assert group.inferred


def test_a_column_without_values_of_which_nobody_knows_is_named() -> None:
    (group,) = split([message({"id": 1, "x": None, "note": "a"})], DECLARED)

    assert group.inferred
    assert group.untyped == ("x",)


def test_guesses_are_made_from_all_versions_together() -> None:
    messages = [message({"id": 1, "x": 5}), message({"id": 2}), message({"id": 3, "x": 0.5})]

    (group,) = split(messages, {})

    row = next(part.type.fields for part in group.type.fields if part.name == "after")
    assert {column.name: column.type.kind for column in row} == {"id": "int64", "x": "double"}


@pytest.mark.parametrize("count", [3, MANY])
def test_the_value_tells_which_of_two_types_a_message_is_of(count: int) -> None:
    known = {"id": ColumnTypes(INT), "v": ColumnTypes(INT, others=(TEXT,))}
    old = [message({"id": n, "v": n if n % 2 else None}) for n in range(count)]
    new = [message({"id": n, "v": str(n)}) for n in range(count)]

    found = {}
    for group in split([*old, *new], known):
        row = next(part.type.fields for part in group.type.fields if part.name == "after")
        found[row[1].type.kind] = group.rows.tolist()

    assert found == {"int32": list(range(count)), "string": list(range(count, 2 * count))}


def test_a_null_is_read_in_the_type_that_the_table_has() -> None:
    known = {"id": ColumnTypes(INT), "v": ColumnTypes(INT, others=(TEXT,))}

    found = split([message({"id": 1, "v": "x"}), message({"id": 2, "v": None})], known)

    kinds = {
        group.rows.tolist()[0]: next(
            part.type.fields for part in group.type.fields if part.name == "after"
        )[1].type.kind
        for group in found
    }
    assert kinds == {0: "string", 1: "int32"}


def test_nulls_of_a_tinyint_are_booleans_where_its_other_values_are() -> None:
    known = known_columns(declared=columns(id=INT, on=SourceType("int16"), x=INT))
    messages = [message({"id": 1, "on": None}), message({"id": 2, "on": True, "x": 1})]

    kinds = [
        next(part.type.fields for part in group.type.fields if part.name == "after")[1].type.kind
        for group in split(messages, known)
    ]

    assert kinds == ["boolean", "boolean"]
