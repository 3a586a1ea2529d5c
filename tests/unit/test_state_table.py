"""What a mirrored table remembers: as it was written, and as mirrors before this one wrote it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from cdc.errors import UnknownStateVersionError
from cdc.model import SchemaEvent, SchemaPlace, SourceColumn, SourceType
from cdc.state.key import TableKey
from cdc.state.lanes import Lanes
from cdc.state.source_identity import Identity, Moment, SourceIdentity
from cdc.state.table_state import TableState
from cdc.state.version import STATE_VERSION
from tests.unit.table_views import SCHEMA

CURRENT = {"_mirror_state_version": str(STATE_VERSION)}
DECIMAL = "org.apache.kafka.connect.data.Decimal"
POINT = "io.debezium.data.geometry.Point"
SINCE = "2026-11-17T20:44:47+00:00"

# The texts are those that the writers of a mirror without versions made of the state below.
OLD_TEXTS = {
    "_mirror_name": "shop",
    "_mirror_topic": "srv.public.naïve",
    "_mirror_key": '["id", "na\\u00efve"]',
    "_mirror_former_key": "[1, 3]",
    "_mirror_partitions": "12",
    "_mirror_key_forms": '["avro 7", "plain"]',
    "_mirror_lanes_since": "17",
    "_mirror_mixed_until": '{"1": 5, "0": 10}',
    "_mirror_rekeyed_since": "9",
    "_mirror_source": "7421/16384/16402",
    "_mirror_dropped": f'{{"since": "{SINCE}", "position": 500, "time": 1700000000000000}}',
    "_mirror_replaced": f'{{"since": "{SINCE}", "position": null, "time": null}}',
    "_mirror_stale_rows": "true",
    "_mirror_schema_log": (
        '[{"kind":"create","column":"","place":[0,3,70,1700000000000000],"text":"CREATE TABLE",'
        f'"when":"{SINCE}","new_schema":0}},'
        '{"kind":"add_column","column":"note","place":[1,9,80,null],"default":"x",'
        '"text":"ADD COLUMN note string AFTER na\\u00efve","when":"w","old_schema":0,'
        '"new_schema":1},'
        '{"kind":"change_type","column":"price","place":[1,9,-1,null],"to":"price_20261117",'
        f"\"type\":\"('bytes', '{DECIMAL}', (('scale', '2'),), '', [])\",\"text\":\"RENAME\","
        '"when":"","old_schema":1,"new_schema":2},'
        '{"kind":"drop_table","column":"","place":[0,0,-1,null],'
        '"text":"DROP TABLE at the source: stays","when":"w"}]'
    ),
    "_mirror_backfill": '{"note": "x", "\\u00fc": "1"}',
    "_mirror_identities": '{"b": 2, "id": 1, "na\\u00efve": 3}',
    "_mirror_types": (
        '{"price":[{"kind":"int32"},'
        f'{{"kind":"bytes","logical":"{DECIMAL}",'
        '"parameters":[["scale","2"],["connect.decimal.precision","5"]]}],'
        '"tags":[{"kind":"array","element":{"kind":"string",'
        '"logical":"io.debezium.data.Enum","parameters":[["allowed","\\u00e9,b"]]}}],'
        f'"at":[{{"kind":"struct","logical":"{POINT}",'
        '"fields":[["x",{"kind":"double"}],["wkb",{"kind":"bytes"}]]}]}'
    ),
    "_mirror_former": '["srv.public.na\\u00efve", 41]',
}
OLD_STATE = TableState(
    mirror="shop",
    topic="srv.public.naïve",
    key=TableKey(("id", "naïve"), frozenset({3, 1})),
    lanes=Lanes(
        partition_count=12,
        key_forms=frozenset({"plain", "avro 7"}),
        any_until=17,
        moving_until={1: 5, 0: 10},
        rekeyed_until=9,
    ),
    source=SourceIdentity(
        Identity("7421/16384", 16402),
        dropped=Moment(SINCE, 500, 1_700_000_000_000_000),
        replaced=Moment(SINCE),
        stale_rows=True,
    ),
    events=(
        SchemaEvent(
            "create",
            "",
            SchemaPlace(0, 3, 70, 1_700_000_000_000_000),
            text="CREATE TABLE",
            when=SINCE,
            new_schema=0,
        ),
        SchemaEvent(
            "add_column",
            "note",
            SchemaPlace(1, 9, 80),
            default="x",
            text="ADD COLUMN note string AFTER naïve",
            when="w",
            old_schema=0,
            new_schema=1,
        ),
        SchemaEvent(
            "change_type",
            "price",
            SchemaPlace(1, 9),
            to="price_20261117",
            type=SourceType("bytes", DECIMAL, (("scale", "2"),)).whole,
            text="RENAME",
            old_schema=1,
            new_schema=2,
        ),
        SchemaEvent(
            "drop_table", "", SchemaPlace(0, 0), text="DROP TABLE at the source: stays", when="w"
        ),
    ),
    backfill={"note": "x", "ü": "1"},
    identities={"naïve": 3, "id": 1, "b": 2},
    types={
        "price": (
            SourceType("int32"),
            SourceType("bytes", DECIMAL, (("scale", "2"), ("connect.decimal.precision", "5"))),
        ),
        "tags": (
            SourceType(
                "array",
                element=SourceType("string", "io.debezium.data.Enum", (("allowed", "é,b"),)),
            ),
        ),
        "at": (
            SourceType(
                "struct",
                POINT,
                fields=(
                    SourceColumn("x", SourceType("double")),
                    SourceColumn("wkb", SourceType("bytes")),
                ),
            ),
        ),
    },
    former=("srv.public.naïve", 41),
    version=0,
)

NAMES = st.text(max_size=6)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
MAYBE_NUMBERS = st.none() | NUMBERS
KINDS = st.text(min_size=1, max_size=6)
LOGICAL = st.none() | KINDS
PARAMETERS = st.lists(st.tuples(NAMES, NAMES), max_size=2).map(tuple)
TYPES = st.recursive(
    st.builds(SourceType, KINDS, LOGICAL, PARAMETERS),
    lambda inner: st.builds(
        SourceType,
        KINDS,
        LOGICAL,
        PARAMETERS,
        st.none() | inner,
        st.lists(st.builds(SourceColumn, NAMES, inner), max_size=2).map(tuple),
    ),
    max_leaves=4,
)
PLACES = st.builds(SchemaPlace, NUMBERS, NUMBERS, NUMBERS, MAYBE_NUMBERS)
EVENTS = st.builds(
    SchemaEvent,
    NAMES,
    NAMES,
    PLACES,
    *(st.none() | NAMES for _ in ("to", "default", "type")),
    NAMES,
    NAMES,
    MAYBE_NUMBERS,
    MAYBE_NUMBERS,
)
MOMENTS = st.none() | st.builds(Moment, NAMES, MAYBE_NUMBERS, MAYBE_NUMBERS)
IDENTITIES = st.none() | st.builds(Identity, KINDS, MAYBE_NUMBERS)
STATES = st.builds(
    TableState,
    mirror=st.none() | NAMES,
    topic=st.none() | NAMES,
    key=st.builds(
        TableKey, st.lists(NAMES, max_size=3).map(tuple), st.frozensets(NUMBERS, max_size=3)
    ),
    lanes=st.builds(
        Lanes,
        MAYBE_NUMBERS,
        st.frozensets(NAMES, max_size=3),
        MAYBE_NUMBERS,
        st.dictionaries(NUMBERS, NUMBERS, max_size=3),
        MAYBE_NUMBERS,
    ),
    source=st.builds(SourceIdentity, IDENTITIES, MOMENTS, MOMENTS, st.booleans()),
    events=st.lists(EVENTS, max_size=3).map(tuple),
    backfill=st.dictionaries(NAMES, NAMES, max_size=3),
    identities=st.dictionaries(NAMES, NUMBERS, max_size=3),
    types=st.dictionaries(NAMES, st.lists(TYPES, max_size=2).map(tuple), max_size=2),
    former=st.none() | st.tuples(NAMES, NUMBERS),
)


def read(properties: Mapping[str, str], schema: Schema = SCHEMA) -> TableState:
    return TableState.read(properties, schema, "shop.orders")


@settings(max_examples=60, deadline=None)
@given(state=STATES)
def test_a_state_is_read_as_it_was_written(state: TableState) -> None:
    assert read({**state.properties, **CURRENT}) == state


@settings(max_examples=40, deadline=None)
@given(before=STATES, after=STATES)
def test_the_changes_to_a_state_make_it_of_another(before: TableState, after: TableState) -> None:
    after = replace(after, mirror=before.mirror, topic=before.topic)  # a table keeps its owner

    properties = {**before.properties, **CURRENT}
    changes = before.changes_to(after)

    assert read({**properties, **changes}) == after
    assert all(properties.get(name) != text for name, text in changes.items())


def test_an_older_mirrors_texts_are_read_right() -> None:
    assert read(OLD_TEXTS) == OLD_STATE


@pytest.mark.parametrize("name", OLD_TEXTS)
def test_an_older_mirrors_texts_are_written_as_they_were(name: str) -> None:
    assert OLD_STATE.properties[name] == OLD_TEXTS[name]


def test_nothing_else_is_written() -> None:
    assert OLD_STATE.properties.keys() == OLD_TEXTS.keys()


def test_a_table_that_is_brought_up_to_date_gets_its_version_and_nothing_new() -> None:
    old = read(OLD_TEXTS)

    written = {**OLD_TEXTS, **old.changes_to(old)}

    assert written == {**OLD_TEXTS, **CURRENT}
    assert read(written) == replace(old, version=STATE_VERSION)


def test_a_table_without_a_key_gets_that_of_its_required_columns_with_the_version() -> None:
    schema = Schema(
        NestedField(1, "b", LongType(), required=True),
        NestedField(2, "note", StringType(), required=False),
        NestedField(3, "a", LongType(), required=True),
    )
    owner = {"_mirror_name": "shop", "_mirror_topic": "t"}

    old = read(owner, schema)

    assert (old.key.columns, old.version) == (("b", "a"), 0)
    assert old.changes_to(old) == {**owner, **CURRENT, "_mirror_key": '["b", "a"]'}


def test_an_older_table_that_forgets_something_forgets_it_with_the_version() -> None:
    old = read(OLD_TEXTS)

    changes = old.changes_to(replace(old, backfill={}))

    assert changes["_mirror_backfill"] == "{}"
    assert changes.items() >= CURRENT.items()


def test_a_table_that_is_up_to_date_and_stays_as_it_is_is_not_written() -> None:
    state = replace(OLD_STATE, version=STATE_VERSION)

    assert state.changes_to(replace(state)) == {}


@pytest.mark.parametrize(
    ("changed", "texts"),
    [
        ({"backfill": {}}, {"_mirror_backfill": "{}"}),
        ({"backfill": {"note": "y"}}, {"_mirror_backfill": '{"note": "y"}'}),
        (
            {"lanes": replace(OLD_STATE.lanes, moving_until={})},
            {"_mirror_mixed_until": "{}"},
        ),
        (
            {"source": replace(OLD_STATE.source, dropped=None)},
            {"_mirror_dropped": ""},
        ),
        (
            {"topic": "t", "key": replace(OLD_STATE.key, columns=("b",))},
            {"_mirror_topic": "t", "_mirror_key": '["b"]'},
        ),
    ],
)
def test_only_what_differs_is_written(changed: dict[str, Any], texts: dict[str, str]) -> None:
    state = replace(OLD_STATE, version=STATE_VERSION)

    assert state.changes_to(replace(state, **changed)) == texts


def test_what_older_mirrors_wrote_when_something_was_over_says_nothing() -> None:
    over = {"_mirror_backfill": "{}", "_mirror_mixed_until": "{}", "_mirror_dropped": ""}

    assert read({**CURRENT, **over}) == TableState()


def test_a_table_that_no_mirror_made_remembers_nothing() -> None:
    assert read({"write.format.default": "parquet"}) == TableState(version=0)


def test_a_table_of_a_newer_mirror_is_refused() -> None:
    with pytest.raises(UnknownStateVersionError) as caught:
        read({**OLD_TEXTS, "_mirror_state_version": "2"})

    error = caught.value
    assert (error.table, error.found, error.known) == ("shop.orders", 2, STATE_VERSION)
    assert not error.retryable


def test_what_a_table_did_is_noted_behind_what_it_did_before() -> None:
    first, second, third = (
        SchemaEvent("add_column", name, SchemaPlace(0, 1)) for name in ("a", "b", "c")
    )

    assert TableState(events=(first,)).noted(second, third).events == (first, second, third)


def test_properties_are_texts_that_every_catalog_can_hold() -> None:
    properties = OLD_STATE.properties

    assert all(isinstance(text, str) for text in properties.values())
    # The topic is written as it is, all that is JSON in ASCII.
    del properties["_mirror_topic"]
    assert all(text.isascii() for text in properties.values())
    assert json.loads(properties["_mirror_former"]) == ["srv.public.naïve", 41]
