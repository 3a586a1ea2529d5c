"""Messages from before a change of columns fill the columns that there are now."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cdc.decode.envelope import Layout, RawChanges
from cdc.decode.schema_versions import (
    ColumnMapping,
    column_mapping,
    events_before,
    renamed,
    renamed_schema,
    with_defaults,
)
from cdc.model import Form, SchemaEvent, SchemaPlace, SourceColumn, SourceSchema, SourceType

INT, TEXT = SourceType("int32"), SourceType("string")
SCHEMA = SourceSchema((SourceColumn("id", INT), SourceColumn("a", INT)), ("id",))


def event(
    kind: str, column: str, position: int = 50, time: int | None = 5, **more: Any
) -> SchemaEvent:
    return SchemaEvent(kind, column, SchemaPlace(0, 0, position, time), **more)


def raw(*places: tuple[int, int | None]) -> RawChanges:
    """Make changes of some positions and times in microseconds."""
    count = len(places)
    return RawChanges(
        Layout(Form.ENVELOPE, SCHEMA.columns),
        np.arange(count),
        pa.array(["u"] * count),
        pa.array([position for position, _ in places], pa.int64()),
        pa.array([time for _, time in places], pa.timestamp("us", "UTC")),
        pa.array([{"id": n, "a": n * 10} for n in range(count)]),
    )


@pytest.mark.parametrize(
    ("position", "time", "before"),
    [
        (10, 1, 0),
        (49, 5, 0),
        (50, 5, 1),
        (70, 6, 1),
        (90, 7, 2),
        (10, 6, 1),  # a failover between the two events, which the time tells
        (10, 99, 2),  # and one after both
        (10, None, 0),
        (-1, 1, 2),  # nobody knows: taken for new
    ],
)
def test_the_events_before_a_change_are_counted_by_its_position(
    position: int, time: int | None, before: int
) -> None:
    events = (event("drop_column", "x", 50, 5), event("drop_column", "y", 90, 7))

    assert events_before(raw((position, time)), events).tolist() == [before]


def test_events_without_a_time_count_by_position_alone() -> None:
    assert events_before(raw((10, 99)), (event("drop_column", "x", 50, None),)).tolist() == [0]


def test_what_was_renamed_goes_under_the_new_name() -> None:
    later = (event("rename_column", "a", to="b"), event("rename_column", "b", to="c"))

    assert column_mapping(SCHEMA, later, ["id", "c"]) == ColumnMapping({"id": "id", "a": "c"}, {})


def test_what_was_dropped_goes_nowhere_even_if_the_name_came_back() -> None:
    later = (event("drop_column", "a"), event("add_column", "a", default="7"))

    assert column_mapping(SCHEMA, later, ["id", "a"]) == ColumnMapping({"id": "id"}, {"a": "7"})


def test_what_has_another_type_since_goes_under_the_dated_name() -> None:
    later = (event("change_type", "a", to="a_2026", type=TEXT.whole),)
    new = SourceSchema((SCHEMA.columns[0], SourceColumn("a", TEXT)), ("id",))

    assert column_mapping(SCHEMA, later, ["id", "a_2026", "a"]) == ColumnMapping(
        {"id": "id", "a": "a_2026"}, {}
    )
    assert column_mapping(new, later, ["id", "a_2026", "a"]) == ColumnMapping(
        {"id": "id", "a": "a"}, {}
    )


def test_a_column_that_came_later_holds_its_default_under_its_last_name() -> None:
    later = (
        event("add_column", "n", default="7"),
        event("add_column", "m"),
        event("rename_column", "n", to="k"),
        event("add_column", "gone", default="8"),
        event("drop_column", "gone"),
    )

    assert column_mapping(SCHEMA, later, ["id", "a", "k", "m"]) == ColumnMapping(
        {"id": "id", "a": "a"}, {"k": "7"}
    )


def test_a_column_that_the_table_never_had_makes_the_schema_a_new_one() -> None:
    assert column_mapping(SCHEMA, (event("create", ""),), ["id"]) is None


def test_rows_and_schemas_get_the_tables_names() -> None:
    names = {"id": "number"}

    rows = renamed(raw((1, 1), (2, 2)), names).row.to_pylist()

    assert rows == [{"number": 0}, {"number": 1}]
    assert renamed_schema(SCHEMA, names) == SourceSchema(
        (SourceColumn("number", INT),), ("number",)
    )


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.int32(), "7", 7),
        (pa.string(), "", ""),
        (pa.bool_(), "true", True),
        (pa.float64(), "0.1", 0.1),
        (pa.date32(), "2026-01-31", datetime(2026, 1, 31).date()),
        (pa.timestamp("us"), "2026-01-31 01:02:03.000004", datetime(2026, 1, 31, 1, 2, 3, 4)),
        (
            pa.timestamp("us", "UTC"),
            "2026-01-31 01:02:03Z",
            datetime(2026, 1, 31, 1, 2, 3, tzinfo=UTC),
        ),
    ],
    ids=str,
)
def test_a_default_becomes_the_columns_type(kind: pa.DataType, text: str, value: object) -> None:
    changes = pa.table({"id": [1, 2], "n": pa.nulls(2, kind)})

    assert with_defaults(changes, {"n": text})["n"].to_pylist() == [value, value]
