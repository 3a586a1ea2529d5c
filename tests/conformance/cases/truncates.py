"""TRUNCATE, which concerns every partition of the topic but stands in one of them."""

from tests.conformance.case import case
from tests.conformance.source import Source


@case("F69", "F70")
def truncate_empties_the_table(s: Source) -> None:
    """INSERT 1 and 2; in the next batch TRUNCATE."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.truncate()
    s.holds()


@case("F69", "F70")
def truncate_wipes_what_was_before_it_and_keeps_what_comes_after(s: Source) -> None:
    """INSERT 1; then in one batch UPDATE 1, TRUNCATE, INSERT 3, INSERT 1 again."""
    s.insert(1, "old")
    s.batch()
    s.update(1, "wiped")
    s.truncate()
    s.insert(3, "new")
    s.insert(1, "again")
    s.holds((1, "again"), (3, "new"))


@case("F69")
def changes_go_on_after_a_truncate(s: Source) -> None:
    """INSERT 1 and 2; TRUNCATE; INSERT 1; in a later batch UPDATE 1, INSERT 2."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.truncate()
    s.insert(1, "a2")
    s.batch()
    s.update(1, "a3")
    s.insert(2, "b2")
    s.holds((1, "a3"), (2, "b2"))


@case("F69")
def second_truncate_of_a_batch_counts_too(s: Source) -> None:
    """INSERT 1; then in one batch TRUNCATE, INSERT 2, TRUNCATE, INSERT 3."""
    s.insert(1, "a")
    s.batch()
    s.truncate()
    s.insert(2, "b")
    s.truncate()
    s.insert(3, "c")
    s.holds((3, "c"))


@case("F69")
def truncate_wipes_the_older_rows_of_other_partitions(s: Source) -> None:
    """Rows in two partitions; TRUNCATE comes in the one, changes on both its sides in the other."""
    s.insert(1, "old", partition=0)
    s.insert(2, "old", partition=1)
    s.batch()
    s.insert(3, "wiped", partition=1)
    s.truncate(partition=0)
    s.insert(4, "new", partition=1)
    s.insert(1, "new", partition=0)
    s.holds((4, "new"), (1, "new"))


@case("F69")
def older_changes_that_another_partition_brings_after_a_truncate_are_wiped(s: Source) -> None:
    """INSERT 2, UPDATE 3, TRUNCATE, INSERT 4; partition 1 lags: its changes come a batch later."""
    s.insert(1, "old", partition=0)
    s.insert(3, "old", partition=1)
    s.batch()
    with s.late():
        s.insert(2, "wiped", partition=1)
        s.update(3, "wiped", partition=1)
    s.truncate(partition=0)
    s.batch()
    s.insert(4, "new", partition=1)
    s.holds((4, "new"))


@case("F69")
def newer_rows_that_another_partition_brought_before_a_truncate_stay(s: Source) -> None:
    """TRUNCATE, INSERT 3, INSERT 2 again; partition 0 lags: the truncate comes a batch later."""
    s.insert(1, "old", partition=0)
    s.insert(2, "old", partition=1)
    s.batch()
    with s.late():
        s.truncate(partition=0)
    s.insert(3, "new", partition=1)
    s.insert(2, "new", partition=1)
    s.batch()
    s.insert(4, "new", partition=0)
    s.holds((2, "new"), (3, "new"), (4, "new"))


@case("F69")
def truncate_that_is_redelivered_keeps_the_rows_after_it(s: Source) -> None:
    """INSERT 1; TRUNCATE; INSERT 2; the connector restarts and writes the last two again."""
    s.insert(1, "a")
    s.batch()
    sent = [s.truncate(), s.insert(2, "b")]
    s.batch()
    s.redeliver(*sent)
    s.insert(3, "c")
    s.holds((2, "b"), (3, "c"))
