"""What a mirror remembers as a whole, in the properties of its quarantine."""

from dataclasses import replace

import pytest

from cdc.errors import UnknownStateVersionError
from cdc.model import TableName
from cdc.state.left_topics import LeftTable, LeftTopic, left_topics_property, read_left_topics
from cdc.state.mirror_state import MirrorState, quarantined_text, read_quarantined
from cdc.state.parked import ParkedTable, parked_property, read_parked
from cdc.state.version import STATE_VERSION

# The texts are those that the writers of a mirror without versions made of these.
PARKED = (
    ParkedTable("srv.public.a", "shop.a", 'ö "x"', "w", {0: 4, 11: 7}),
    ParkedTable("srv.b", None, "r", "w"),
)
PARKED_TEXT = (
    '[{"topic":"srv.public.a","table":"shop.a","reason":"\\u00f6 \\"x\\"","since":"w",'
    '"offsets":{"0":4,"11":7}},'
    '{"topic":"srv.b","table":null,"reason":"r","since":"w","offsets":{}}]'
)
RENAMED = LeftTopic(
    "srv.old",
    {0: 4, 11: 7},
    (LeftTable("u", TableName(("shop",), "old"), "file:/x", TableName(("shop",), "new")),),
    "now",
    "srv.new",
    2,
    done=True,
)
DROPPED = LeftTopic(
    "srv.gone",
    {0: 1},
    (
        LeftTable("v", TableName(("a", "b"), "gone"), "file:/y"),
        LeftTable("w", TableName((), "gone_log"), "file:/z"),
    ),
    "now",
    position=9,
    time=1_700_000_000_000_000,
)
LEFT_TEXT = (
    '[{"topic":"srv.old","offsets":{"0":4,"11":7},"tables":[{"uuid":"u","name":["shop","old"],'
    '"location":"file:/x","new_name":["shop","new"]}],"when":"now","successor":"srv.new",'
    '"width":2,"position":null,"time":null,"done":true},'
    '{"topic":"srv.gone","offsets":{"0":1},"tables":[{"uuid":"v","name":["a","b","gone"],'
    '"location":"file:/y","new_name":null},{"uuid":"w","name":["gone_log"],"location":"file:/z",'
    '"new_name":null}],"when":"now","successor":null,"width":0,"position":9,'
    '"time":1700000000000000,"done":false}]'
)
MARKS = {"srv.public.a shop.a": {0: 4, 11: 7}, "srv.b None": {0: 1}}
MARKS_TEXT = '{"srv.public.a shop.a": {"0": 4, "11": 7}, "srv.b None": {"0": 1}}'
OLD_TEXTS = {
    "_mirror_name": "shop",
    "_mirror_quarantined": MARKS_TEXT,
    "_mirror_parked": PARKED_TEXT,
    "_mirror_retired": LEFT_TEXT,
}


def test_parked_tables_are_read_and_written_as_older_mirrors_did() -> None:
    assert read_parked(OLD_TEXTS) == PARKED
    assert [table.since for table in read_parked(OLD_TEXTS)] == ["w", "w"]
    assert parked_property(PARKED) == {"_mirror_parked": PARKED_TEXT}


def test_where_nothing_was_ever_parked_nothing_is() -> None:
    assert read_parked({}) == read_parked(parked_property([])) == ()


def test_a_table_that_is_parked_anew_for_the_same_reason_is_the_same() -> None:
    assert replace(PARKED[0], since="later") == PARKED[0]
    assert replace(PARKED[0], offsets={0: 5}) != PARKED[0]
    assert replace(PARKED[0], reason="another") != PARKED[0]


@pytest.mark.parametrize(
    ("parked", "offsets", "holds"),
    [
        (PARKED[0], {11: 7, 0: 4}, True),
        (PARKED[0], {0: 5, 11: 7}, False),
        (PARKED[0], {0: 4}, False),
        (PARKED[0], {}, False),
        # A topic without a table is nowhere.
        (PARKED[1], {}, True),
        (PARKED[1], {0: 9}, True),
    ],
)
def test_a_table_that_went_on_is_not_parked(
    parked: ParkedTable, offsets: dict[int, int], holds: bool
) -> None:
    assert parked.holds_at(offsets) is holds


def test_left_topics_are_read_and_written_as_older_mirrors_did() -> None:
    found = read_left_topics(OLD_TEXTS)

    assert found == {"srv.old": RENAMED, "srv.gone": DROPPED}
    assert [topic.done for topic in found.values()] == [True, False]
    assert left_topics_property([RENAMED, DROPPED]) == {"_mirror_retired": LEFT_TEXT}


def test_a_topic_that_is_finished_is_the_same_topic() -> None:
    assert replace(DROPPED, done=True) == DROPPED


@pytest.mark.parametrize(
    ("ends", "over"),
    [
        ({0: 4, 11: 7}, True),
        ({0: 4}, True),
        ({0: 0, 11: 0, 12: 0}, True),  # a partition that never had anything
        ({}, True),
        ({0: 5, 11: 7}, False),
        ({0: 4, 11: 7, 12: 1}, False),
    ],
)
def test_a_topic_is_over_until_something_comes(ends: dict[int, int], over: bool) -> None:
    assert RENAMED.is_over(ends) is over


def test_offsets_in_quarantine_are_read_and_written_as_older_mirrors_did() -> None:
    assert read_quarantined(OLD_TEXTS) == MARKS
    assert quarantined_text(MARKS) == MARKS_TEXT
    assert read_quarantined({}) == {}


def test_a_mirror_remembers_all_that_its_quarantine_says() -> None:
    assert MirrorState.read(OLD_TEXTS, "shop._mirror_quarantine") == MirrorState(
        mirror="shop",
        quarantined=MARKS,
        parked=PARKED,
        left={"srv.old": RENAMED, "srv.gone": DROPPED},
        version=0,
    )


def test_a_mirror_whose_quarantine_is_new_remembers_nothing() -> None:
    current = {"_mirror_name": "shop", "_mirror_state_version": str(STATE_VERSION)}

    assert MirrorState.read(current, "t") == MirrorState(mirror="shop")
    assert MirrorState.read({}, "t") == MirrorState(version=0)


def test_the_quarantine_of_a_newer_mirror_is_refused() -> None:
    newer = {**OLD_TEXTS, "_mirror_state_version": str(STATE_VERSION + 1)}

    with pytest.raises(UnknownStateVersionError) as caught:
        MirrorState.read(newer, "shop._mirror_quarantine")

    assert caught.value.table == "shop._mirror_quarantine"
