"""Tables: partitions, other writers, several of them at once, and records that are no good."""

from collections.abc import Callable
from datetime import datetime, timedelta

from tests.conformance.case import ITEMS, Case, add, case
from tests.conformance.source import Source
from tests.unit.messages import Table, column

PLACES = Table((*ITEMS.columns, column("region", "string")))
EVENTS = Table((*ITEMS.columns, column("at", "int64", logical="io.debezium.time.MicroTimestamp")))
DAY = 86_400_000_000


def _moves(s: Source, here: object, there: object) -> None:
    """A row goes from one partition to the other, one stays, one is deleted by its key alone."""
    s.insert(1, "a", here)
    s.insert(2, "b", here)
    s.insert(3, "c", there)
    s.insert(4, "d", None)
    s.batch()
    s.update(1, "a2", there)
    s.delete(3)
    s.update(4, "d2", here)
    s.batch()
    s.update(1, "a3", None)
    s.delete(2)
    s.holds((1, "a3", None), (4, "d2", here))


@case("B16", "B17", "B18", table=PLACES, rule={"partition": ["region"]})
def row_that_moves_between_identity_partitions_is_there_once(s: Source) -> None:
    """Partitioned by region: UPDATE moves row 1 from eu to us, then to null; rows are deleted."""
    _moves(s, "eu", "us")


@case("B16", "B17", "B18", table=PLACES, rule={"partition": ["truncate(2, region)"]})
def row_that_moves_between_truncate_partitions_is_there_once(s: Source) -> None:
    """Partitioned by the first two letters of region: the same story."""
    _moves(s, "eu-west", "us-east")


@case("B16", "B17", "B18", table=PLACES, rule={"partition": ["bucket(4, region)"]})
def row_that_moves_between_bucket_partitions_is_there_once(s: Source) -> None:
    """Partitioned by a hash of region: the same story."""
    _moves(s, "eu", "us")


def _moves_in_time(unit: str) -> Callable[[Source], None]:
    def tell(s: Source) -> None:
        _moves(s, 400 * DAY + 1, 800 * DAY + 5)

    tell.__name__ = f"row_that_moves_between_{unit}_partitions_is_there_once"
    tell.__doc__ = f"Partitioned by the {unit} of a timestamp: the same story."
    return tell


for _unit in ("year", "month", "day", "hour"):
    add(
        Case(
            _moves_in_time(_unit),
            ("B16", "B17", "B18"),
            table=EVENTS,
            rule={"partition": [f"{_unit}(at)"]},
            formats=("json", "avro"),
            readings={"at": lambda micros: datetime(1970, 1, 1) + timedelta(microseconds=micros)},
        )
    )


@case("B17", table=PLACES, rule={"partition": ["region"]})
def changed_partition_fields_leave_no_stale_row(s: Source) -> None:
    """Rows by region; then the fields become bucket(4, id); rows of before are changed, deleted."""
    s.insert(1, "a", "eu")
    s.insert(2, "b", "eu")
    s.insert(3, "c", "us")
    s.batch()
    s.update(1, "a2", "us")
    s.batch()
    s.repartition("bucket(4, id)")
    s.update(1, "a3", "eu")
    s.delete(2)
    s.insert(4, "d", "us")
    s.batch()
    s.update(3, "c2", "eu")
    s.delete(4)
    s.holds((1, "a3", "eu"), (3, "c2", "eu"))


@case(table=PLACES, rule={"partition": []})
def partition_fields_may_come_later(s: Source) -> None:
    """Rows without partitions; then they are partitioned by region; rows of before are changed."""
    s.insert(1, "a", "eu")
    s.insert(2, "b", "us")
    s.insert(3, "c", "us")
    s.batch()
    s.batch()
    s.repartition("region")
    s.update(1, "a2", "us")
    s.delete(2)
    s.batch()
    s.update(1, "a3", "eu")
    s.holds((1, "a3", "eu"), (3, "c", "us"))


@case()
def topic_may_get_more_partitions(s: Source) -> None:
    """Rows in partition 0; the topic grows: rows 2 and 3 are changed in partitions 1 and 2."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.insert(3, "c")
    s.batch()
    s.grow(3)
    s.update(1, "a2", partition=0)
    s.update(2, "b2", partition=1)
    s.delete(3, partition=2)
    s.insert(4, "d", partition=2)
    s.batch()
    s.update(2, "b3", partition=1)
    s.insert(3, "c3", partition=2)
    s.holds((1, "a2"), (2, "b3"), (3, "c3"), (4, "d"))


@case("H86", "H87")
def compaction_between_batches_changes_nothing(s: Source) -> None:
    """Rows changed over two batches; all files rewritten; rows of every batch changed, deleted."""
    for number in range(6):
        s.insert(number, "a")
    s.batch()
    s.update(1, "b")
    s.delete(2)
    s.batch()
    s.compact()
    s.update(1, "c")
    s.update(3, "c")
    s.delete(4)
    s.insert(2, "c")
    s.batch()
    s.update(2, "d")
    s.delete(5)
    s.holds((0, "a"), (1, "c"), (2, "d"), (3, "c"))


@case("H86")
def compaction_of_many_partitions_changes_nothing(s: Source) -> None:
    """Rows from three Kafka partitions; rewritten into one file; each partition changes its own."""
    for number in range(9):
        s.insert(number, "a", partition=number % 3)
    s.batch()
    s.update(0, "b", partition=0)
    s.update(1, "b", partition=1)
    s.batch()
    s.compact()
    for number in range(9):
        if number < 6:
            s.update(number, "c", partition=number % 3)
        else:
            s.delete(number, partition=number % 3)
    s.holds(*((number, "c") for number in range(6)))


@case("C39", "B31")
def table_rolled_back_is_brought_up_again(s: Source) -> None:
    """Three batches; someone rolls the table back to the first; what came after is read again."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    second = [s.update(1, "a2"), s.insert(3, "c")]
    s.batch()
    s.roll_back(1)
    s.replay(*second)
    s.delete(2)
    s.batch()
    s.update(3, "c2")
    s.holds((1, "a2"), (3, "c2"))


@case("I89", formats=("json", "avro"))
def bad_record_is_set_aside_and_the_rest_goes_on(s: Source) -> None:
    """INSERT 1; a record that is no message; UPDATE 1; INSERT 3."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.update(1, "a2")
    s.garbage(2, "?")
    s.insert(3, "c")
    s.batch()
    s.update(2, "b2")
    s.holds((1, "a2"), (2, "b2"), (3, "c"))


@case("C33", "C34", formats=("json", "avro"))
def bad_table_is_set_aside_and_the_others_go_on(s: Source) -> None:
    """Two tables; a column of the second becomes another type; both go on with changes."""
    bad = s.beside("bad")
    s.insert(1, "a")
    bad.insert(1, "a")
    s.batch()
    s.update(1, "a2")
    bad.retype(column("name", "boolean"))
    bad.insert(2, True)
    s.batch()
    s.insert(2, "b")
    bad.insert(3, True)
    s.holds((1, "a2"), (2, "b"))
    bad.is_stopped()


@case(
    rule={
        "targets": [
            {"table": "{server}.{table}"},
            {"table": "{server}.{table}_marked", "mode": "mirror", "on_delete": "soft"},
            {"table": "{server}.{table}_log", "mode": "append"},
            {"table": "{server}.{table}_versions", "mode": "history"},
        ]
    },
)
def one_topic_fills_several_tables_in_one_pass(s: Source) -> None:
    """INSERT 1 and 2; UPDATE 1, DELETE 2; the same changes go to four tables of all modes."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.update(1, "a2")
    s.delete(2)
    s.insert(3, "c")
    s.batch()
    s.update(3, "c2")
    s.holds((1, "a2"), (3, "c2"))
