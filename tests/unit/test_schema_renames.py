"""Columns with another name, told from those that are gone or new by the source's catalog."""

import json

import pytest

from cdc.dialect import ColumnFacts
from cdc.state.column_identities import (
    Renames,
    identities_property,
    joined_identities,
    read_identities,
    told_renames,
)
from cdc.state.names import IDENTITIES_PROPERTY


def facts(**identities: int | None) -> dict[str, ColumnFacts]:
    return {name: ColumnFacts(identity) for name, identity in identities.items()}


KNOWN = {"id": 1, "a": 2, "b": 3}


@pytest.mark.parametrize(
    ("source", "now", "expected"),
    [
        # a has the number of what is c now
        (["id", "c", "b"], facts(id=1, c=2, b=3), Renames({"a": "c"}, complete=True)),
        # a is gone, c is new
        (["id", "c", "b"], facts(id=1, c=4, b=3), Renames({}, complete=True)),
        # both at once
        (["id", "c", "d"], facts(id=1, c=2, d=5), Renames({"a": "c"}, complete=True)),
        # a became c, and d since: the message knows only of c
        (["id", "c", "b"], facts(id=1, d=2, b=3), Renames({"a": "c"}, complete=True)),
        # a and b live on under names that the message does not have: which is which?
        (["id", "x", "y"], facts(id=1, c=2, d=3), Renames({}, complete=False)),
        # a database that numbers no columns tells nothing
        (["id", "c", "b"], facts(id=None, c=None, b=None), Renames({}, complete=False)),
        (["id", "c", "b"], {}, Renames({}, complete=False)),
    ],
)
def test_the_catalog_tells_names_apart(
    source: list[str], now: dict[str, ColumnFacts], expected: Renames
) -> None:
    assert told_renames(["id", "a", "b"], source, KNOWN, now) == expected


def test_a_column_that_nobody_asked_about_before_may_have_been_renamed() -> None:
    found = told_renames(["id", "a"], ["id", "c"], {"id": 1}, facts(id=1, c=2))

    assert found == Renames({}, complete=False)


def test_what_the_catalog_says_is_kept_under_the_names_of_the_table() -> None:
    kept = read_identities(
        identities_property(joined_identities(facts(id=1, d=2, b=9, n=7), KNOWN, {"a": "c"}))
    )

    # c is d since, but the table does not know that yet; b is another column than it was.
    assert kept == {"id": 1, "c": 2, "b": 9, "n": 7}


def test_nothing_is_kept_where_nothing_is_known() -> None:
    assert identities_property({}) == {}
    assert read_identities({}) == {}
    assert json.loads(identities_property({"id": 1})[IDENTITIES_PROPERTY]) == {"id": 1}
