"""A topic that gets more partitions, so that keys go on in another one."""

from dataclasses import replace

import pytest
from pyspark.sql import functions as F

from cdc.errors import TopicGrewError
from cdc.model import Account
from cdc.runtime.stream.passes import spread_over_tasks
from cdc.runtime.tables.mirrored_table import keys_moving
from tests.spark.bench import Bench
from tests.spark.conftest import IN_EACH_WAY
from tests.unit.messages import Table, column, delete, insert, update

pytestmark = IN_EACH_WAY


def rows(bench: Bench, table: Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in bench.rows(f"{table.server}.orders")]


def test_a_key_that_moved_to_another_partition_leaves_no_second_row(
    bench: Bench, table: Table
) -> None:
    bench.apply(*(insert({"id": n, "name": "old"}, table=table, offset=n) for n in range(4)))
    bench.note_partitions(table.topic, {0: 4})

    with pytest.raises(TopicGrewError):
        bench.apply(update({"id": 1, "name": "moved"}, table=table, partition=1, offset=0))
    bench.note_partitions(table.topic, {0: 6, 1: 2})
    progress = bench.apply(
        # The newer changes are in the partition with the smaller offsets.
        update({"id": 1, "name": "newest"}, table=table, partition=1, offset=0, lsn=2000),
        delete({"id": 2}, table=table, partition=1, offset=1, lsn=2001),
        update({"id": 1, "name": "before"}, table=table, offset=4, lsn=1500),
        update({"id": 2, "name": "before"}, table=table, offset=5, lsn=1501),
    )

    assert rows(bench, table) == [(0, "old"), (1, "newest"), (3, "old")]
    assert progress.account.balanced
    assert progress.account.read == 4

    assert not keys_moving(bench.table(table.topic))
    bench.apply(
        update({"id": 3, "name": "later"}, table=table, partition=1, offset=2),
        update({"id": 1, "name": "last"}, table=table, partition=1, offset=3),
        update({"id": 0, "name": "kept"}, table=table, offset=6),
    )
    assert rows(bench, table) == [(0, "kept"), (1, "last"), (3, "later")]


def test_partitions_that_stay_as_they_are_write_nothing(bench: Bench, table: Table) -> None:
    bench.apply(insert({"id": 1}, table=table, offset=0))
    bench.note_partitions(table.topic, {0: 1, 1: 0})
    location = bench.table(table.topic).table.java.operations().current().metadataFileLocation()

    bench.note_partitions(table.topic, {0: 9, 1: 3})

    now = bench.table(table.topic).table.java.operations().current().metadataFileLocation()
    assert now == location


def test_a_key_that_is_written_otherwise_and_so_moved_leaves_no_second_row(
    bench: Bench, table: Table
) -> None:
    """Kafka Connect chooses the partition by all bytes of a key, its schema among them."""
    narrow = replace(table, columns=(column("id", "int32", optional=False), *table.columns[1:]))
    bench.apply(
        insert({"id": 1, "name": "old"}, table=narrow, offset=0, lsn=10),
        insert({"id": 2, "name": "old"}, table=narrow, partition=1, offset=0, lsn=11),
    )

    progress = bench.apply(
        update({"id": 1, "name": "before"}, table=narrow, offset=1, lsn=20),
        delete({"id": 1}, table=table, partition=1, offset=1, lsn=30),
        update({"id": 2, "name": "newest"}, table=table, offset=2, lsn=31),
        insert({"id": 3, "name": "new"}, table=table, offset=3, lsn=32),
    )

    assert progress.account.balanced
    assert rows(bench, table) == [(2, "newest"), (3, "new")]
    assert not keys_moving(bench.table(table.topic))
    bench.apply(update({"id": 2, "name": "last"}, table=table, offset=4, lsn=40))
    assert rows(bench, table) == [(2, "last"), (3, "new")]


def test_another_topics_records_are_not_brought_into_the_task_of_one_whose_keys_move(
    bench: Bench, table: Table
) -> None:
    other = replace(table, name="invoices")
    bench.apply(
        *(insert({"id": n, "name": "old"}, table=table, offset=n) for n in range(3)),
        *(
            insert({"id": n, "name": "old"}, table=other, partition=n % 2, offset=n // 2)
            for n in range(4)
        ),
    )
    bench.note_partitions(table.topic, {0: 3})
    bench.note_partitions(table.topic, {0: 5, 1: 3})
    bench.note_partitions(other.topic, {0: 2, 1: 2})
    messages = [
        update({"id": 1, "name": "newest"}, table=table, partition=1, offset=0, lsn=2000),
        delete({"id": 2}, table=table, partition=1, offset=1, lsn=2001),
        insert({"id": 5, "name": "new"}, table=table, partition=1, offset=2, lsn=2002),
        update({"id": 1, "name": "before"}, table=table, offset=3, lsn=1500),
        update({"id": 2, "name": "before"}, table=table, offset=4, lsn=1501),
        update({"id": 0, "name": "first"}, table=other, offset=2, lsn=1502),
        update({"id": 0, "name": "second"}, table=other, offset=3, lsn=1503),
        delete({"id": 1}, table=other, partition=1, offset=2, lsn=1504),
    ]

    progress = bench.apply(*messages)

    assert rows(bench, table) == [(0, "old"), (1, "newest"), (5, "new")]
    found = [tuple(row.values()) for row in bench.rows(f"{table.server}.invoices")]
    assert found == [(0, "second"), (2, "old"), (3, "old")]
    assert progress.account == Account(read=8, applied=5, superseded=3)
    spread = spread_over_tasks(bench.frame(messages), {table.topic}, most_tasks=4)
    tasks = spread.select("topic", "partition", "offset", F.spark_partition_id().alias("task"))
    read = [(r.task, r.topic, r.partition, r.offset) for r in tasks.collect()]
    mine = {task for task, topic, *_ in read if topic == table.topic}
    others = {(task, partition) for task, topic, partition, _ in read if topic == other.topic}
    assert len(mine) == 1
    assert len({task for task, _ in others}) == 2
    assert not mine & {task for task, _ in others}
    assert sorted(record[1:] for record in read) == sorted(
        (m.topic, m.partition, m.offset) for m in messages
    )
    for partition in {record[:3] for record in read}:
        offsets = [record[3] for record in read if record[:3] == partition]
        assert offsets == sorted(offsets)
