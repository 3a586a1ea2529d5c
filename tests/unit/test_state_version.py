"""The version of what a table remembers, and the steps that lead to it."""

import json

import pytest
from pyiceberg.schema import Schema

from cdc.errors import UnknownStateVersionError
from cdc.state.version import (
    STATE_VERSION,
    STEPS,
    Properties,
    Step,
    first_properties,
    migrate,
    version_of,
)
from tests.unit.table_views import SCHEMA

VERSION = "_mirror_state_version"
OWNER = {"_mirror_name": "shop", "_mirror_topic": "srv.public.orders"}


def brought(properties: Properties, schema: Schema = SCHEMA) -> dict[str, str]:
    return migrate(properties, schema, "shop.orders")


def adds(name: str) -> Step:
    """Make a step that adds to a list what it is called."""

    def step(properties: Properties, schema: Schema) -> Properties:
        steps = json.loads(properties.get("steps", "[]"))
        return {**properties, "steps": json.dumps([*steps, name])}

    return step


def test_a_step_leads_from_every_version_to_the_next() -> None:
    assert sorted(STEPS) == list(range(STATE_VERSION))


def test_a_table_without_a_version_has_the_first_one() -> None:
    assert (version_of({}), version_of({VERSION: "3"})) == (0, 3)


def test_the_required_columns_of_an_old_table_are_its_key() -> None:
    assert brought(OWNER) == {**OWNER, VERSION: "1", "_mirror_key": '["id"]'}


@pytest.mark.parametrize("key", ['["name"]', "[]"])
def test_a_key_that_is_there_stays(key: str) -> None:
    old = {**OWNER, "_mirror_key": key}

    assert brought(old) == {**old, VERSION: "1"}


def test_a_table_that_is_up_to_date_stays_as_it_is() -> None:
    current = {**OWNER, VERSION: str(STATE_VERSION)}

    assert brought(current) == current


def test_done_twice_it_is_done_once() -> None:
    once = brought({**OWNER, "write.format.default": "parquet"})

    assert brought(once) == once
    assert once["write.format.default"] == "parquet"


def test_what_is_given_is_not_changed() -> None:
    old = dict(OWNER)

    brought(old)

    assert old == OWNER


def test_the_quarantine_has_no_key() -> None:
    quarantine = {"_mirror_name": "shop", "_mirror_quarantined": "{}"}

    # Its required columns are no key of it.
    assert brought(quarantine) == {**quarantine, VERSION: "1"}


@pytest.mark.parametrize("found", [STATE_VERSION + 1, STATE_VERSION + 7])
def test_a_newer_version_is_refused_by_name(found: int) -> None:
    with pytest.raises(UnknownStateVersionError) as caught:
        brought({**OWNER, VERSION: str(found)})

    error = caught.value
    assert (error.table, error.found, error.known) == ("shop.orders", found, STATE_VERSION)


@pytest.mark.parametrize("steps", [{}, {0: adds("zero")}, {1: adds("one")}])
def test_a_version_from_which_no_step_leads_on_is_refused_by_name(steps: dict[int, Step]) -> None:
    with pytest.raises(UnknownStateVersionError) as caught:
        migrate({}, SCHEMA, "shop.orders", steps=steps, version=2)

    error = caught.value
    assert (error.table, error.found, error.known) == ("shop.orders", 0, 2)


@pytest.mark.parametrize(
    ("found", "names"), [(0, ["zero", "one", "two"]), (1, ["one", "two"]), (2, ["two"])]
)
def test_steps_are_taken_in_their_order_from_the_version_that_is_found(
    found: int, names: list[str]
) -> None:
    steps = {2: adds("two"), 0: adds("zero"), 1: adds("one"), 3: adds("three")}

    done = migrate({VERSION: str(found)}, SCHEMA, "t", steps=steps, version=3)

    assert done == {VERSION: "3", "steps": json.dumps(names)}


def test_every_step_sees_the_version_that_it_leads_from() -> None:
    seen = []

    def step(properties: Properties, schema: Schema) -> Properties:
        seen.append((version_of(properties), schema))
        return {}  # what a step leaves out is gone, but not the version

    done = migrate({"old": "x"}, SCHEMA, "t", steps={0: step, 1: step}, version=2)

    assert seen == [(0, SCHEMA), (1, SCHEMA)]
    assert done == {VERSION: "2"}


def test_a_new_table_has_the_version_from_its_first_commit() -> None:
    assert first_properties("shop") == {VERSION: "1", "_mirror_name": "shop"}
    assert first_properties("shop", "srv.public.orders") == {VERSION: "1", **OWNER}
