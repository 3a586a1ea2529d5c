"""A table's key, and what it did to follow its columns, as the table itself keeps them."""

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from cdc.config import ChangeKind
from cdc.dialect import ColumnFacts
from cdc.model import SchemaEvent, SchemaPlace
from cdc.state.column_identities import catalog_renames, identities_property, joined_identities
from cdc.state.key import TableKey
from cdc.state.schema_log import created, log_property, read_log, since, table_event

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "name", StringType(), required=False),
    NestedField(3, "region", LongType(), required=True),
)
LATER = Schema(
    NestedField(3, "zone", LongType(), required=False),  # its name has changed since
    NestedField(4, "region", LongType(), required=False),  # another column
)


def test_the_columns_of_a_key_that_changes_are_remembered_by_their_ids() -> None:
    key = TableKey(("id", "region")).changed(("name",), SCHEMA)

    assert key == TableKey(("name",), frozenset({1, 3}))
    assert key.former_columns(SCHEMA) == ("id", "region")
    assert key.former_columns(LATER) == ("zone",)


def test_a_key_that_changes_again_remembers_all_that_were_in_it() -> None:
    key = TableKey(("name",), frozenset({1})).changed(("id", "region"), SCHEMA)

    assert key == TableKey(("id", "region"), frozenset({1, 2}))


def test_a_key_says_what_was_in_it_only_if_something_was() -> None:
    assert dict(TableKey(("id",)).properties) == {"_mirror_key": '["id"]'}
    assert dict(TableKey((), frozenset({16, 9})).properties) == {
        "_mirror_key": "[]",
        "_mirror_former_key": "[9, 16]",
    }
    assert TableKey.read({}) == TableKey()


def facts(**identities: int | None) -> dict[str, ColumnFacts]:
    return {name: ColumnFacts(identity) for name, identity in identities.items()}


def test_what_the_catalog_says_is_added_to_what_it_said() -> None:
    assert joined_identities(facts(b=2, c=None), {"a": 1}, {}) == {"a": 1, "b": 2}


def test_a_renamed_column_keeps_its_number_under_its_new_name() -> None:
    assert joined_identities({}, {"a": 1, "b": 2}, {"a": "c"}) == {"c": 1, "b": 2}


def test_a_column_that_is_known_under_an_earlier_name_is_not_there_twice() -> None:
    # The catalog calls it c already; the table follows once a message does.
    assert joined_identities(facts(c=1), {"a": 1}, {}) == {"a": 1}


def test_another_column_of_the_same_name_takes_it() -> None:
    assert joined_identities(facts(a=9), {"a": 1}, {}) == {"a": 9}


def test_numbers_are_written_in_the_order_of_names() -> None:
    assert identities_property({"b": 2, "a": 3}) == {"_mirror_identities": '{"a": 3, "b": 2}'}


def test_where_nothing_is_gone_the_catalog_tells_all() -> None:
    found = catalog_renames(["id"], ["id", "new"], {"id": 1}, facts(id=1, new=2))

    assert (found.names, found.complete) == ({}, True)


def test_two_columns_that_changed_names_are_told_by_their_numbers() -> None:
    found = catalog_renames(["a", "b"], ["c", "d"], {"a": 1, "b": 2}, facts(c=2, d=1))

    assert (found.names, found.complete) == ({"a": "d", "b": "c"}, True)


def at(position: int, time: int | None = None) -> SchemaPlace:
    return SchemaPlace(0, 0, position, time)


def event(column: str, position: int, time: int | None = None) -> SchemaEvent:
    return SchemaEvent("add_column", column, at(position, time))


EVENTS = (event("a", 10, 1), event("b", 20, 2), event("c", 30, 3))


@pytest.mark.parametrize(
    ("place", "columns"),
    [
        (at(5, 1), "abc"),
        (at(10, 1), "bc"),  # the record that told of it is no older
        (at(15), "bc"),
        (at(29, 3), "c"),
        (at(30, 3), ""),
        (at(-1), ""),  # nobody knows: it counts as new
        (at(0), "abc"),
        (at(5, 9), ""),  # a failover to smaller positions: the time rules
        (at(15, 3), "c"),
    ],
)
def test_an_event_comes_after_a_place_that_is_before_it_in_the_log(
    place: SchemaPlace, columns: str
) -> None:
    assert "".join(event.column for event in since(place, EVENTS)) == columns


def test_events_without_a_time_are_told_by_position() -> None:
    assert since(at(5, 9), (event("a", 10),)) == (event("a", 10),)


def test_a_table_that_is_made_says_so() -> None:
    made = created(SchemaPlace(1, 2, 3, 4), "w")

    assert log_property([made]) == {
        "_mirror_schema_log": (
            '[{"kind":"create","column":"","place":[1,2,3,4],"text":"CREATE TABLE","when":"w",'
            '"new_schema":0}]'
        )
    }
    assert read_log(log_property([made])) == (made,)


def test_what_became_of_a_whole_table_says_nothing_of_its_schema() -> None:
    gone = table_event(ChangeKind.DROP_TABLE, "DROP TABLE", SchemaPlace(1, 2), "w")

    assert (gone.kind, gone.column, gone.text) == ("drop_table", "", "DROP TABLE")
    assert (gone.old_schema, gone.new_schema) == (None, None)
    assert read_log(log_property([gone])) == (gone,)
