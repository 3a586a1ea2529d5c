"""What is older than a cutoff, whatever the cause of it."""

import pytest

from cdc.model import NO_POSITION, Cutoff, CutoffCause, PartitionMark, cutoffs_in_order

OWN, OTHER = 0, 1
TRUNCATE = Cutoff(OWN, offset=5, position=500, time=50)


def test_cutoffs_are_ordered_by_offset_in_a_partition_and_else_by_position() -> None:
    early, failed_over = Cutoff(0, offset=1, position=50), Cutoff(0, offset=2, position=10)
    other = Cutoff(1, offset=0, position=40)

    assert cutoffs_in_order([failed_over, other, early, other]) == (other, early, failed_over)


@pytest.mark.parametrize(
    ("pending", "covered"),
    [
        (Cutoff(OTHER, 9, 500, 50), True),
        (Cutoff(OTHER, 9, 499, 50), False),
        (Cutoff(OTHER, 9, 600, 49), False),  # a failover: the later time rules
        (Cutoff(OTHER, 9, 600), True),
        (Cutoff(OWN, 9, 600, 60), False),  # what came in between is for this one
    ],
)
def test_a_truncate_that_comes_late_is_covered_by_a_later_one(
    pending: Cutoff, covered: bool
) -> None:
    assert pending.covers(TRUNCATE) is covered


@pytest.mark.parametrize(
    ("cutoff", "partition", "mark", "past"),
    [
        (TRUNCATE, OWN, PartitionMark(6, 500), False),  # it is the last record applied
        (TRUNCATE, OWN, PartitionMark(7, 1), True),
        (TRUNCATE, OTHER, PartitionMark(99, 500), False),
        (TRUNCATE, OTHER, PartitionMark(1, 501), True),
        (Cutoff.replaced(500, 50), OWN, PartitionMark(99, 500), False),
        (Cutoff.replaced(500, 50), OWN, PartitionMark(1, 501), True),
        # The first row of the snapshot is at offset 6.
        (Cutoff.before_snapshot(OWN, 6, 501, 50), OWN, PartitionMark(6, 9), False),
        (Cutoff.before_snapshot(OWN, 6, 501, 50), OWN, PartitionMark(7, 9), True),
    ],
)
def test_a_partition_is_past_a_cutoff_once_it_has_something_newer(
    cutoff: Cutoff, partition: int, mark: PartitionMark, past: bool
) -> None:
    assert cutoff.is_past(partition, mark) is past


def test_a_cutoff_is_over_when_no_other_partition_can_bring_what_is_older() -> None:
    marks = {OWN: PartitionMark(6, 500), OTHER: PartitionMark(9, 500)}

    assert not TRUNCATE.is_over([OWN, OTHER], marks)
    assert TRUNCATE.is_over([OWN, OTHER], {**marks, OTHER: PartitionMark(9, 501)})
    assert not TRUNCATE.is_over([OWN, OTHER, 2], {**marks, OTHER: PartitionMark(9, 501)})
    assert TRUNCATE.is_over([OWN], {})


@pytest.mark.parametrize(
    ("snapshot", "done"),
    [
        ((501, 50), True),  # it is the snapshot of that place
        ((501, None), True),
        ((500, 50), False),
        ((900, 50), False),  # another one of the same time is no newer
        ((2, 51), True),  # a failover: the later time rules
        ((NO_POSITION, None), False),
    ],
)
def test_a_new_snapshot_is_done_once_the_table_has_it_or_a_newer_one(
    snapshot: tuple[int, int | None], done: bool
) -> None:
    assert Cutoff.before_snapshot(OWN, 6, 501, 50).is_done(snapshot) is done


def test_all_rows_of_a_snapshot_are_right_behind_its_cutoff() -> None:
    cutoff = Cutoff.before_snapshot(OWN, offset=6, position=501, time=50)

    assert (cutoff.begin, cutoff.is_reload) == ((501, 50), True)
    assert cutoff == TRUNCATE
    assert not TRUNCATE.is_reload


def test_a_ledgers_entry_says_what_is_older_and_not_why() -> None:
    replaced = Cutoff.replaced(500, None)

    assert TRUNCATE.entry == [0, 5, 500, 50]
    assert replaced.entry == [-1, 0, 500, None]
    for cutoff in (TRUNCATE, replaced, Cutoff.before_snapshot(OWN, 6, 501, 50)):
        assert Cutoff.from_entry(cutoff.entry) == cutoff
    assert Cutoff.from_entry(replaced.entry).cause is CutoffCause.REPLACED
