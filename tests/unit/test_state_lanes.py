"""Which partition's keys a data file may hold, and when keys move between partitions."""

from dataclasses import replace

import pytest

from cdc.model import LiveFile, PartitionMark
from cdc.state.lanes import Lanes

ENDS = {0: 10, 1: 20, 2: 0}
PLAIN, AVRO = frozenset({"plain"}), frozenset({"avro 7"})
BEFORE = Lanes(partition_count=2, key_forms=PLAIN, any_until=3, moving_until={0: 4})


def file(sequence: int, lane: int | None = 1) -> LiveFile:
    return LiveFile(f"file:/{sequence}.parquet", sequence, 1, lane)


# More partitions


def test_a_topic_that_grew_moves_keys_up_to_what_it_holds_now() -> None:
    lanes = BEFORE.with_partitions(ENDS, 7, has_rows=True)

    assert lanes == replace(BEFORE, partition_count=3, any_until=7, moving_until=ENDS)


@pytest.mark.parametrize("ends", [{0: 10, 1: 20}, {0: 10}])
def test_a_topic_that_did_not_grow_moves_none(ends: dict[int, int]) -> None:
    lanes = BEFORE.with_partitions(ends, 7, has_rows=True)

    assert lanes == replace(BEFORE, partition_count=len(ends))


def test_a_topic_that_is_looked_at_for_the_first_time_has_not_grown() -> None:
    assert Lanes().with_partitions(ENDS, 7, has_rows=True) == Lanes(partition_count=3)


def test_a_table_without_rows_has_no_key_that_could_move() -> None:
    lanes = BEFORE.with_partitions(ENDS, 7, has_rows=False)

    assert lanes == replace(BEFORE, partition_count=3)


def test_a_topic_that_grew_is_noted_once() -> None:
    once = BEFORE.with_partitions(ENDS, 7, has_rows=True)

    later = {partition: end + 5 for partition, end in ENDS.items()}
    assert once.with_partitions(later, 9, has_rows=True) == once


# Other keys' bytes


def test_the_first_form_of_keys_moves_none() -> None:
    assert Lanes().with_key_forms(PLAIN, {}, 7) == Lanes(key_forms=PLAIN)


def test_another_form_of_keys_moves_them() -> None:
    lanes = BEFORE.with_key_forms(AVRO, ENDS, 7)

    assert lanes == replace(BEFORE, key_forms=PLAIN | AVRO, any_until=7, moving_until=ENDS)


def test_two_forms_at_once_move_keys_between_them() -> None:
    lanes = Lanes().with_key_forms(PLAIN | AVRO, ENDS, 7)

    assert lanes == Lanes(key_forms=PLAIN | AVRO, any_until=7, moving_until=ENDS)


@pytest.mark.parametrize("forms", [PLAIN, AVRO, PLAIN | AVRO, frozenset[str]()])
def test_forms_that_are_known_move_none(forms: frozenset[str]) -> None:
    known = replace(BEFORE, key_forms=PLAIN | AVRO)

    assert known.with_key_forms(forms, ENDS, 7) == known


# Another key, and another topic


@pytest.mark.parametrize(("narrower", "rekeyed"), [(True, None), (False, 7)])
def test_another_key_is_in_other_partitions_and_the_index_knows_it_if_it_is_narrower(
    narrower: bool, rekeyed: int | None
) -> None:
    lanes = BEFORE.with_key(7, narrower=narrower)

    assert lanes == replace(BEFORE, any_until=7, rekeyed_until=rekeyed)


def test_a_narrower_key_takes_nothing_back() -> None:
    assert Lanes(rekeyed_until=5).with_key(7, narrower=True).rekeyed_until == 5


def test_another_topic_has_other_partitions_and_nothing_of_the_old_one_to_wait_for() -> None:
    before = replace(BEFORE, rekeyed_until=5)

    assert before.with_topic(8, 7) == replace(
        before, partition_count=8, any_until=7, moving_until={}
    )


# Until when keys move


@pytest.mark.parametrize(
    ("marks", "moving"),
    [
        ({}, True),
        ({0: 10}, True),  # nothing of the other one yet
        ({0: 10, 1: 19}, True),
        ({0: 9, 1: 20}, True),
        ({0: 10, 1: 20}, False),  # nobody waits for an empty partition
        ({0: 11, 1: 99, 2: 5}, False),
    ],
)
def test_keys_move_until_every_partition_is_read_up(marks: dict[int, int], moving: bool) -> None:
    lanes = Lanes(moving_until=ENDS)

    assert lanes.keys_moving({p: PartitionMark(end) for p, end in marks.items()}) is moving


def test_keys_that_never_moved_do_not_move() -> None:
    assert not Lanes().keys_moving({})
    assert not Lanes(moving_until={0: 0}).keys_moving({})


# Data files


def test_files_of_before_keys_moved_may_hold_keys_of_any_partition() -> None:
    files = [file(6), file(7), file(8), file(8, None)]

    assert Lanes(any_until=7).of(files) == (file(6, None), file(7, None), file(8), file(8, None))


def test_without_a_move_files_hold_what_their_names_say() -> None:
    files = (file(0), file(8))

    assert Lanes().of(files) == files


@pytest.mark.parametrize(
    ("until", "sequences", "found"),
    [
        (7, (8, 9), False),
        (7, (8, 7), True),
        (7, (6,), True),
        (7, (), False),
        (None, (0, 8), False),
    ],
)
def test_files_under_another_key_are_found_by_their_sequence(
    until: int | None, sequences: tuple[int, ...], found: bool
) -> None:
    lanes = Lanes(rekeyed_until=until)

    assert lanes.has_rekeyed(file(sequence) for sequence in sequences) is found


# What tables keep


@pytest.mark.parametrize(
    ("properties", "lanes"),
    [
        ({}, Lanes()),
        ({"_mirror_partitions": "12"}, Lanes(partition_count=12)),
        ({"_mirror_lanes_since": "0"}, Lanes(any_until=0)),
        ({"_mirror_mixed_until": '{"10": 5}'}, Lanes(moving_until={10: 5})),
        ({"_mirror_mixed_until": "{}"}, Lanes()),
        ({"_mirror_rekeyed_since": "4"}, Lanes(rekeyed_until=4)),
        ({"_mirror_key_forms": '["plain"]'}, Lanes(key_forms=PLAIN)),
    ],
)
def test_each_property_says_one_thing(properties: dict[str, str], lanes: Lanes) -> None:
    assert Lanes.read(properties) == lanes
    if "{}" not in properties.values():
        assert dict(lanes.properties) == properties
