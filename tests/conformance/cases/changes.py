"""Inserts, updates, deletes, snapshots and what may come twice."""

from tests.conformance.case import case
from tests.conformance.source import Source


@case("B22")
def inserted_rows_are_there(s: Source) -> None:
    """INSERT 1 and 2; in the next batch INSERT 3."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.insert(3, "c")
    s.holds((1, "a"), (2, "b"), (3, "c"))


@case("B22", "B23")
def updated_row_is_there_once_with_its_new_values(s: Source) -> None:
    """INSERT 1 and 2; in the next batch UPDATE 1. Row 2 is left alone."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.update(1, "a2")
    s.holds((1, "a2"), (2, "b"))


@case("B23")
def row_inserted_and_updated_in_one_batch_is_there_once(s: Source) -> None:
    """INSERT 1; UPDATE 1 in the same batch, the first of the table."""
    s.insert(1, "a")
    s.update(1, "a2")
    s.holds((1, "a2"))


@case("B22", "F72")
def deleted_row_is_gone(s: Source) -> None:
    """INSERT 1 and 2; in the next batch DELETE 1, of which only the key is logged."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.delete(1)
    s.holds((2, "b"))


@case("F68")
def deleted_row_is_gone_when_its_old_values_are_sent(s: Source) -> None:
    """INSERT 1 and 2; in the next batch DELETE 1 under REPLICA IDENTITY FULL."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.delete(1, "a")
    s.holds((2, "b"))


@case("F72")
def tombstone_after_a_delete_changes_nothing(s: Source) -> None:
    """INSERT 1 and 2; DELETE 1 with its tombstone; a batch of nothing but a tombstone."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.delete(1)
    s.tombstone(1)
    s.batch()
    s.tombstone(1)
    s.holds((2, "b"))


@case()
def snapshot_rows_are_there(s: Source) -> None:
    """The connector's snapshot reads rows 1 to 3, all at one log position."""
    for number in (1, 2, 3):
        s.snapshot(number, f"n{number}", position=10)
    s.holds((1, "n1"), (2, "n2"), (3, "n3"))


@case("C41")
def snapshot_over_several_batches_is_whole(s: Source) -> None:
    """A snapshot takes three batches; in the last one row 1 is updated as well."""
    for number in (1, 2, 3):
        s.snapshot(number, f"n{number}", position=10)
        s.batch()
    s.update(1, "new")
    s.holds((1, "new"), (2, "n2"), (3, "n3"))


@case("B26", "F73")
def second_snapshot_in_mid_stream_leaves_no_row_twice(s: Source) -> None:
    """Snapshot of 1 and 2; UPDATE 1; INSERT 3; then all rows are read by a snapshot once more."""
    s.snapshot(1, "a", position=10)
    s.snapshot(2, "b", position=10)
    s.batch()
    s.update(1, "a2")
    s.insert(3, "c")
    s.batch()
    s.snapshot(1, "a2", position=2_000)
    s.snapshot(2, "b", position=2_000)
    s.snapshot(3, "c", position=2_000)
    s.holds((1, "a2"), (2, "b"), (3, "c"))


@case("F73")
def rows_that_a_connector_which_began_anew_does_not_find_are_gone(s: Source) -> None:
    """Snapshot; UPDATE 1; the connector is lost, 2 and 5 deleted, 4 changed; a new snapshot."""
    s.begin_anew((1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e"))
    s.batch()
    s.update(1, "a2")
    s.batch()
    s.begin_anew((1, "a2"), (3, "c"), (4, "d2"), (6, "f"))
    s.batch()
    s.insert(2, "again")
    s.holds((1, "a2"), (2, "again"), (3, "c"), (4, "d2"), (6, "f"))


@case("F73")
def what_follows_a_new_snapshot_in_its_batch_is_applied_to_what_it_found(s: Source) -> None:
    """Snapshot of 1 to 4; UPDATE 3; a new snapshot of 1 to 3; then UPDATE 1, DELETE 2, INSERT 4."""
    s.begin_anew((1, "a"), (2, "b"), (3, "c"), (4, "d"))
    s.batch()
    s.update(3, "c2")
    s.update(4, "d2")
    s.begin_anew((1, "a"), (2, "b"), (3, "c2"))
    s.update(1, "a2")
    s.delete(2)
    s.insert(4, "d2")
    s.holds((1, "a2"), (3, "c2"), (4, "d2"))


@case("B26", "F73")
def changes_go_on_after_a_second_snapshot(s: Source) -> None:
    """Snapshot of 1 and 2; the same snapshot again; in that batch UPDATE 1 and DELETE 2."""
    s.snapshot(1, "a", position=10)
    s.snapshot(2, "b", position=10)
    s.batch()
    s.snapshot(1, "a", position=2_000)
    s.snapshot(2, "b", position=2_000)
    s.update(1, "a2", position=2_001)
    s.delete(2, position=2_002)
    s.holds((1, "a2"))


@case("B25")
def row_inserted_deleted_and_inserted_again_in_one_batch_has_its_last_values(s: Source) -> None:
    """INSERT 1; DELETE 1; INSERT 1 with other values, all in one batch."""
    s.insert(1, "first")
    s.delete(1)
    s.tombstone(1)
    s.insert(1, "again")
    s.holds((1, "again"))


@case("B25")
def row_deleted_and_inserted_again_over_two_batches_has_its_last_values(s: Source) -> None:
    """INSERT 1; in the next batch DELETE 1; in the third INSERT 1 with other values."""
    s.insert(1, "first")
    s.batch()
    s.delete(1)
    s.batch()
    s.insert(1, "again")
    s.holds((1, "again"))


@case("B25")
def known_row_deleted_and_inserted_again_in_one_batch_is_there_once(s: Source) -> None:
    """INSERT 1; in the next batch DELETE 1 and INSERT 1 with other values."""
    s.insert(1, "first")
    s.batch()
    s.delete(1)
    s.insert(1, "again")
    s.holds((1, "again"))


@case()
def row_inserted_and_deleted_in_one_batch_is_not_there(s: Source) -> None:
    """INSERT 1 and 2; in the next batch INSERT 3, UPDATE 3, DELETE 3."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.insert(3, "c")
    s.update(3, "c2")
    s.delete(3)
    s.holds((1, "a"), (2, "b"))


@case()
def update_of_a_row_never_seen_makes_the_row(s: Source) -> None:
    """INSERT 1; in the next batch UPDATE 2, whose insert was before the topic began."""
    s.insert(1, "a")
    s.batch()
    s.update(2, "b")
    s.holds((1, "a"), (2, "b"))


@case("F74")
def delete_of_a_row_never_seen_changes_nothing(s: Source) -> None:
    """INSERT 1; in the next batch DELETE 2, whose insert was before the topic began."""
    s.insert(1, "a")
    s.batch()
    s.delete(2)
    s.holds((1, "a"))


@case("F74")
def delete_before_its_insert_does_not_hide_the_row(s: Source) -> None:
    """DELETE 1 of a row never seen; INSERT 1 in the same batch; the same over two batches for 2."""
    s.delete(1)
    s.insert(1, "a")
    s.delete(2)
    s.batch()
    s.insert(2, "b")
    s.holds((1, "a"), (2, "b"))


@case("B20", "B21")
def changes_redelivered_within_a_batch_leave_one_row(s: Source) -> None:
    """INSERT 1, UPDATE 1, INSERT 2; the connector restarts and writes all three again."""
    sent = [s.insert(1, "a"), s.update(1, "a2"), s.insert(2, "b")]
    s.redeliver(*sent)
    s.holds((1, "a2"), (2, "b"))


@case("B20", "B21")
def changes_redelivered_in_a_later_batch_leave_one_row(s: Source) -> None:
    """INSERT 1 and 2, UPDATE 1, DELETE 2; all again in the next batch, with an INSERT of 3."""
    sent = [s.insert(1, "a"), s.insert(2, "b"), s.update(1, "a2"), s.delete(2)]
    s.batch()
    s.redeliver(*sent)
    s.insert(3, "c")
    s.holds((1, "a2"), (3, "c"))


@case("B20", "B21")
def redelivered_changes_that_straddle_two_batches_leave_one_row(s: Source) -> None:
    """INSERT 1, UPDATE 1, INSERT 2; redelivered, the first of them alone in a batch."""
    sent = [s.insert(1, "a"), s.update(1, "a2"), s.insert(2, "b")]
    s.batch()
    s.redeliver(sent[0])
    s.batch()
    s.redeliver(*sent[1:])
    s.holds((1, "a2"), (2, "b"))


@case("B27", "B28")
def failover_to_smaller_positions_loses_no_change(s: Source) -> None:
    """INSERT 1 and 2 at high log positions; a new primary UPDATEs 1, DELETEs 2 at low ones."""
    s.fail_over(900_000)
    s.insert(1, "before")
    s.insert(2, "before")
    s.batch()
    s.fail_over(5)
    s.update(1, "after")
    s.delete(2)
    s.insert(3, "after")
    s.holds((1, "after"), (3, "after"))


@case("B27", "B28", "B29")
def log_positions_do_not_order_changes_of_one_key(s: Source) -> None:
    """UPDATE 1 three times; by log position, also as text, the second would be the newest."""
    s.insert(1, "a", position=10)
    s.update(1, "b", position=1_000)
    s.update(1, "c", position=23)
    s.update(1, "d", position=123)
    s.holds((1, "d"))


@case("B30")
def many_changes_of_one_key_in_a_batch_leave_the_last(s: Source) -> None:
    """INSERT 1; in the next batch fifty UPDATEs of 1 with one of 2 among them."""
    s.insert(1, "0")
    s.insert(2, "0")
    s.batch()
    for number in range(1, 51):
        s.update(1, str(number))
        if number == 25:
            s.update(2, "25")
    s.holds((1, "50"), (2, "25"))


@case("B30")
def changes_at_the_same_time_are_ordered_by_their_offsets(s: Source) -> None:
    """One transaction, so one time: INSERT 1 and UPDATE 1 twice; in a later batch the same."""
    with s.at_one_time():
        s.insert(1, "a")
        s.update(1, "b")
        s.update(1, "c")
    s.batch()
    with s.at_one_time():
        s.update(1, "d")
        s.update(1, "b")
        s.update(1, "e")
    s.holds((1, "e"))


@case()
def clock_that_goes_back_does_not_order_changes(s: Source) -> None:
    """INSERT 1; the server's clock is set back an hour; UPDATE 1; UPDATE 1 again."""
    first = s.insert(1, "a")
    s.batch()
    s.update(1, "b", time=first.time - 3_600_000)
    s.update(1, "c", time=first.time - 3_500_000)
    s.holds((1, "c"))


@case("B20", "B31", "C45")
def replayed_batch_changes_nothing(s: Source) -> None:
    """Two batches; the tool is killed and reads both of them again, and then a third."""
    first = [s.insert(1, "a"), s.insert(2, "b")]
    s.batch()
    second = [s.update(1, "a2"), s.delete(2)]
    s.batch()
    s.restart()
    s.replay(*first, *second)
    s.batch()
    s.replay(*second)
    s.insert(3, "c")
    s.holds((1, "a2"), (3, "c"))


@case()
def empty_batch_changes_nothing(s: Source) -> None:
    """INSERT 1; two batches without a record of this table; UPDATE 1."""
    s.insert(1, "a")
    s.batch()
    s.batch()
    s.batch()
    s.update(1, "b")
    s.holds((1, "b"))


@case("B21")
def restart_between_batches_changes_nothing(s: Source) -> None:
    """INSERT 1 and 2; the tool is restarted; UPDATE 1 and DELETE 2; restarted; INSERT 2."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.update(1, "a2")
    s.delete(2)
    s.batch()
    s.restart()
    s.insert(2, "b2")
    s.update(1, "a3")
    s.holds((1, "a3"), (2, "b2"))
