"""What a cutoff asks of a table's ledgers."""

from collections.abc import Iterable, Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdc.model import EARLIEST, Cutoff, CutoffCause, PartitionMark
from cdc.state.cutoffs import new_snapshot, newest_snapshot, pending, replacement, rewind
from cdc.state.ledger import Ledger
from cdc.state.source_identity import Moment

OWN, OTHER, THIRD = 0, 1, 2
TRUNCATE = Cutoff(OWN, offset=5, position=500, time=50)
Place = tuple[int, int | None]


def a_ledger(
    marks: Mapping[int, PartitionMark] | None = None, snapshot: Place | None = None
) -> Ledger:
    return Ledger("shop", "t", 1, marks or {}, snapshot=snapshot)


def begun(position: int, time: int | None, offset: int = 9) -> Cutoff:
    """Make the cutoff of a snapshot whose rows are at a position."""
    return Cutoff.before_snapshot(OWN, offset, position, time)


def history(*past: Mapping[int, PartitionMark]) -> list[Ledger]:
    """Make ledgers, newest first."""
    return [a_ledger(marks) for marks in past]


def only(ledgers: Iterable[Ledger]) -> Iterator[Ledger]:
    """Give some ledgers of a long history, behind which nobody may look."""
    yield from ledgers
    pytest.fail("it reads on, though it knows")


# New snapshots


@pytest.mark.parametrize("ledger", [None, a_ledger(), a_ledger(snapshot=(10, 1))])
def test_where_no_snapshot_begins_there_is_none(ledger: Ledger | None) -> None:
    assert new_snapshot(ledger, []) is None


def test_the_first_snapshot_ever_has_nothing_before_it() -> None:
    assert new_snapshot(None, [begun(10, 1)]) is None


def test_of_two_snapshots_in_the_first_batch_the_second_counts() -> None:
    assert new_snapshot(None, [begun(10, 1), begun(50, 5)]) == begun(50, 5)


def test_a_table_from_before_snapshots_were_noted_takes_the_next_for_a_new_one() -> None:
    assert new_snapshot(a_ledger(), [begun(50, 5)]) == begun(50, 5)


@pytest.mark.parametrize(
    ("known", "found", "is_new"),
    [
        ((10, 1), begun(50, 5), True),
        ((50, 5), begun(50, 5), False),  # the same one goes on
        ((50, 4), begun(50, 5), False),
        ((50, 5), begun(10, 4), False),  # an old one that is read again
        ((50, 5), begun(10, 6), True),  # a failover to smaller positions
        ((50, 5), begun(60, 5), True),
        ((50, None), begun(60, 5), True),
        ((50, 5), begun(60, None), False),  # nothing tells that it is newer
        ((50, None), begun(60, None), True),
    ],
)
def test_a_snapshot_is_new_if_it_is_another_one_and_not_older(
    known: Place, found: Cutoff, is_new: bool
) -> None:
    assert new_snapshot(a_ledger(snapshot=known), [found]) == (found if is_new else None)


def test_of_several_snapshots_the_newest_is_told() -> None:
    found = new_snapshot(a_ledger(snapshot=(10, 1)), [begun(50, 5), begun(70, 7)])

    assert found == begun(70, 7)
    assert found.cause is CutoffCause.NEW_SNAPSHOT


@pytest.mark.parametrize(
    ("known", "cutoffs", "newest"),
    [
        (None, [], None),
        ((10, 1), [], (10, 1)),
        (None, [begun(50, 5)], (50, 5)),
        (None, [begun(50, None)], (50, None)),
        ((10, 1), [begun(50, 5), begun(70, 7)], (70, 7)),
        ((10, 1), [begun(70, 7), begun(50, 5)], (70, 7)),
        ((70, 7), [begun(50, 5)], (70, 7)),
        ((70, 7), [begun(10, 7)], (10, 7)),  # of the same time the later one
        ((70, 7), [begun(90, None)], (70, 7)),
        ((70, None), [begun(10, None)], (10, None)),
        ((10, 1), [Cutoff.replaced(49, 5)], (50, 5)),
    ],
)
def test_a_table_knows_the_place_of_its_newest_snapshot(
    known: Place | None, cutoffs: list[Cutoff], newest: Place | None
) -> None:
    assert newest_snapshot(known, cutoffs) == newest


# Another table of the same name


@pytest.mark.parametrize("replaced", [None, Moment("now"), Moment("now", time=50)])
def test_where_nobody_knows_the_place_nothing_is_cut_off(replaced: Moment | None) -> None:
    assert replacement(a_ledger(), replaced) is None


@pytest.mark.parametrize(
    ("known", "left"),
    [
        (None, True),
        ((10, 1), True),
        ((501, 50), False),  # it was done
        ((900, 51), False),  # a snapshot has replaced all rows since
        ((900, 50), True),
        ((900, None), True),
    ],
)
def test_rows_of_another_table_may_be_left_until_they_were_cut_off(
    known: Place | None, left: bool
) -> None:
    found = replacement(a_ledger(snapshot=known), Moment("now", 500, 50))

    assert found == (Cutoff.replaced(500, 50) if left else None)
    assert found is None or found.cause is CutoffCause.REPLACED


def test_a_new_table_of_a_name_that_another_had_is_kept_from_its_late_rows() -> None:
    assert replacement(None, Moment("now", 500)) == Cutoff.replaced(500, None)


# Partitions that are ahead


def test_where_no_partition_is_ahead_no_ledger_is_read() -> None:
    marks = {OWN: PartitionMark(6, 500), OTHER: PartitionMark(99, 500)}

    assert rewind(TRUNCATE, marks, only([]), {}) == {}
    assert rewind(TRUNCATE, {}, only([]), {}) == {}


def test_a_partition_that_is_ahead_starts_at_the_newest_ledger_that_was_not() -> None:
    marks = {OWN: PartitionMark(6, 500), OTHER: PartitionMark(9, 700)}
    past = history(
        {OWN: PartitionMark(6, 500), OTHER: PartitionMark(9, 700)},
        {OWN: PartitionMark(5, 400), OTHER: PartitionMark(7, 501)},
        {OWN: PartitionMark(4, 300), OTHER: PartitionMark(6, 500)},
    )

    assert rewind(TRUNCATE, marks, only(past), {}) == {OTHER: PartitionMark(6, 500)}


def test_in_its_own_partition_the_offset_tells_what_is_ahead() -> None:
    marks = {OWN: PartitionMark(9, 100)}  # a failover: the positions are smaller
    past = history({OWN: PartitionMark(7, 90)}, {OWN: PartitionMark(6, 900)})

    assert rewind(TRUNCATE, marks, only(past), {}) == {OWN: PartitionMark(6, 900)}


def test_each_partition_starts_at_its_own_ledger() -> None:
    marks = {partition: PartitionMark(50, 900) for partition in (OWN, OTHER, THIRD)}
    past = history(
        {OWN: PartitionMark(40, 800), OTHER: PartitionMark(41, 450), THIRD: PartitionMark(42, 800)},
        {OWN: PartitionMark(30, 700), OTHER: PartitionMark(31, 440), THIRD: PartitionMark(32, 430)},
        {OWN: PartitionMark(6, 499), OTHER: PartitionMark(5, 100), THIRD: PartitionMark(4, 100)},
    )

    assert rewind(TRUNCATE, marks, only(past), {}) == {
        OWN: PartitionMark(6, 499),
        OTHER: PartitionMark(41, 450),
        THIRD: PartitionMark(32, 430),
    }


@pytest.mark.parametrize(("first", "start"), [({}, EARLIEST), ({OTHER: 7}, 7), ({OWN: 7}, -2)])
def test_a_partition_that_was_not_met_yet_starts_where_the_topic_does(
    first: dict[int, int], start: int
) -> None:
    marks = {OTHER: PartitionMark(9, 700)}
    past = history({OWN: PartitionMark(4, 300)})

    assert rewind(TRUNCATE, marks, only(past), first) == {OTHER: PartitionMark(start)}


@pytest.mark.parametrize(("first", "start"), [({}, EARLIEST), ({OTHER: 7}, 7)])
def test_where_the_history_ends_early_everything_is_read_again(
    first: dict[int, int], start: int
) -> None:
    marks = {OTHER: PartitionMark(9, 700), THIRD: PartitionMark(9, 700)}
    past = history(
        {OTHER: PartitionMark(8, 600), THIRD: PartitionMark(8, 600)},
        {OTHER: PartitionMark(7, 501), THIRD: PartitionMark(3, 400)},
    )

    assert rewind(TRUNCATE, marks, past, first) == {
        OTHER: PartitionMark(start),
        THIRD: PartitionMark(3, 400),
    }
    assert rewind(TRUNCATE, {OTHER: marks[OTHER]}, [], first) == {OTHER: PartitionMark(start)}


def test_what_is_of_no_partition_is_told_by_position_everywhere() -> None:
    marks = {OWN: PartitionMark(9, 500), OTHER: PartitionMark(9, 501)}
    past = history({OWN: PartitionMark(1, 100), OTHER: PartitionMark(8, 400)})

    assert rewind(Cutoff.replaced(500, None), marks, only(past), {}) == {
        OTHER: PartitionMark(8, 400)
    }


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 300)), min_size=1, max_size=8
)


@settings(max_examples=100, deadline=None)
@given(steps=STEPS, offset=st.integers(0, 12), position=st.integers(0, 900))
def test_nothing_newer_than_a_cutoff_is_left_out_and_no_more_is_read_than_that(
    steps: list[tuple[int, int, int]], offset: int, position: int
) -> None:
    """Ledgers only go forward; a rewind leads to a place that all of them had passed by then."""
    cutoff = Cutoff(OWN, offset, position)
    marks: dict[int, PartitionMark] = {}
    past = []
    for partition, records, further in steps:
        before = marks.get(partition, PartitionMark(0))
        after = PartitionMark(before.next_offset + records, before.position + further)
        marks = {**marks, partition: after}
        past.append(a_ledger(marks))

    found = rewind(cutoff, marks, reversed(past), {})

    assert found.keys() == {p for p, mark in marks.items() if cutoff.is_past(p, mark)}
    for partition, start in found.items():
        assert not cutoff.is_past(partition, start)
        kept = [ledger.partitions.get(partition, PartitionMark(EARLIEST)) for ledger in past]
        safe = [mark for mark in kept if not cutoff.is_past(partition, mark)]
        assert start == (safe[-1] if safe else PartitionMark(EARLIEST))


# Cutoffs that late changes may still be from before of


@pytest.mark.parametrize(
    ("marks", "count", "is_pending"),
    [
        ({OWN: PartitionMark(6, 500), OTHER: PartitionMark(9, 500)}, 2, True),
        ({OWN: PartitionMark(6, 500), OTHER: PartitionMark(9, 501)}, 2, False),
        ({OWN: PartitionMark(6, 500), OTHER: PartitionMark(9, 501)}, 3, True),  # one has nothing
        # Nobody has looked how many there are: those that are known count.
        ({OWN: PartitionMark(6, 500), OTHER: PartitionMark(9, 501)}, None, False),
        ({OWN: PartitionMark(6, 500), OTHER: PartitionMark(9, 500)}, None, True),
        ({OWN: PartitionMark(6, 500)}, 1, False),
        ({}, None, False),
    ],
)
def test_a_cutoff_is_kept_until_every_partition_is_past_it(
    marks: dict[int, PartitionMark], count: int | None, is_pending: bool
) -> None:
    assert pending(TRUNCATE, marks, count) == (TRUNCATE if is_pending else None)


def test_where_nothing_was_cut_off_nothing_is_kept() -> None:
    assert pending(None, {OWN: PartitionMark(6, 500)}, 2) is None
