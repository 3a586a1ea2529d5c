"""One task of the write step, from record batches to files and reports."""

import pickle
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cdc.config import DeleteKind, ResolvedRule
from cdc.errors import SpreadKeyError
from cdc.model import (
    NO_POSITION,
    Account,
    Cutoff,
    Failed,
    FileKind,
    PartitionMark,
    Unplanned,
    Written,
)
from cdc.runtime.task.write_task import WriteTask
from connectors import DIALECTS
from tests.unit.messages import (
    MADE_AT,
    ORDERS,
    Table,
    column,
    delete,
    insert,
    record_batch,
    snapshot_row,
    tombstone,
    truncate,
    update,
)
from tests.unit.write_tasks import (
    EQUALITY,
    INVOICES,
    ORDERS_SOURCE,
    POSTGRES,
    WIDER,
    Tables,
    orders,
    replaces,
    rows_in,
    run,
    run_one,
    unplanned,
    write_one,
    written,
)


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


def test_inserts_become_one_file_of_rows(tables: Tables) -> None:
    report = run_one(orders(1, 2, 3, start=5), tables.plan())

    done = written(report)
    assert rows_in(done) == [(1, "n1"), (2, "n2"), (3, "n3")]
    assert [file.kind for file in done.files] == [FileKind.DATA]
    assert (report.first_offset, report.next_offset, done.position) == (5, 8, 1007)
    assert done.account == Account(read=3, applied=3)
    assert not replaces(done)


def test_changes_of_a_key_across_record_batches_collapse(tables: Tables) -> None:
    messages = [
        insert({"id": 1, "name": "a"}, offset=0),
        insert({"id": 2, "name": "b"}, offset=1),
        update({"id": 1, "name": "c"}, offset=2),
        delete({"id": 2}, offset=3),
        tombstone({"id": 2}, offset=4),
    ]

    done = write_one(messages, tables.plan(), size=1)

    assert rows_in(done) == [(1, "c")]
    assert done.account == Account(read=5, applied=2, superseded=3)
    assert done.account.balanced


@pytest.mark.parametrize("name", DIALECTS)
def test_an_insert_after_a_snapshot_replaces_its_row_unless_the_snapshot_is_exact(
    name: str, tables: Tables
) -> None:
    dialect = replace(POSTGRES, exact_snapshot=DIALECTS[name].exact_snapshot)
    # SQL Server and MongoDB send what was inserted while the snapshot ran a second time.
    plan = tables.plan(marks={0: PartitionMark(1, 1000)}, rule=EQUALITY)
    other = replace(plan, decode=replace(plan.decode, dialect=dialect))

    done = write_one([insert({"id": 1, "name": "a"}, offset=1)], other)

    assert replaces(done) is not DIALECTS[name].exact_snapshot


@pytest.mark.parametrize(
    ("deletes", "kind"),
    [
        (DeleteKind.EQUALITY, FileKind.EQUALITY_DELETES),
        (DeleteKind.POSITIONAL, FileKind.DELETED_KEYS),
    ],
)
def test_the_keys_to_remove_are_written_as_the_table_deletes(
    tables: Tables, deletes: DeleteKind, kind: FileKind
) -> None:
    messages = [
        update({"id": 1, "name": "a"}, offset=0),
        delete({"id": 2}, offset=1),
        insert({"id": 3, "name": "c"}, offset=2),
    ]

    done = write_one(messages, tables.plan(rule=ResolvedRule(deletes=deletes)))

    assert rows_in(done, kind) == [(1,), (2,)]
    assert rows_in(done) == [(1, "a"), (3, "c")]
    assert replaces(done)


def test_the_bounds_of_the_changed_keys_are_told(tables: Tables) -> None:
    done = write_one([*orders(7, 3, 5), delete({"id": 99}, offset=3)], tables.plan())

    assert done.key_bounds == {"id": (3, 99)}


def test_only_keys_that_bounds_help_with_have_them(tables: Tables) -> None:
    columns = (
        column("name", "string", optional=False),
        column("flag", "boolean", optional=False),
        column("at", "int64", optional=False, logical="io.debezium.time.MicroTimestamp"),
    )
    table = Table(columns, key=("name", "flag", "at"))
    rows = [{"name": name, "flag": True, "at": 0} for name in ("b", "é", "a")]

    done = write_one(
        [insert(row, table=table, offset=n) for n, row in enumerate(rows)], tables.plan(table)
    )

    assert done.key_bounds == {"name": ("a", "é")}


@pytest.mark.parametrize("size", [1, 2, 3, 99])
def test_each_topic_partition_of_a_task_has_its_own_report(tables: Tables, size: int) -> None:
    messages = [
        *orders(1, 2),
        *orders(3, start=7, partition=1),
        *orders(4, 5, table=INVOICES),
        *orders(6, table=INVOICES, partition=1),
    ]

    reports = run(messages, tables.plan(), tables.plan(INVOICES), size=size)

    found = [(r.topic, r.partition, r.first_offset, r.next_offset) for r in reports]
    assert found == [
        ("srv.public.orders", 0, 0, 2),
        ("srv.public.orders", 1, 7, 8),
        ("srv.public.invoices", 0, 0, 2),
        ("srv.public.invoices", 1, 0, 1),
    ]
    done = [written(report) for report in reports]
    assert [[row[0] for row in rows_in(part)] for part in done] == [[1, 2], [3], [4, 5], [6]]
    assert all(part.account.balanced for part in done)


def test_empty_record_batches_are_passed_over_and_a_report_is_one_binary_row(
    tables: Tables,
) -> None:
    task = WriteTask(POSTGRES, {ORDERS.topic: (tables.plan(),)}, frozenset())
    batches = [record_batch([]), record_batch(orders(1)), record_batch([])]

    (batch,) = task(batches)

    assert (batch.schema, batch.num_rows) == (pa.schema([("report", pa.binary())]), 1)
    assert pickle.loads(batch.column(0)[0].as_py()).outcome.account.read == 1


def test_an_unknown_topic_is_unplanned_with_its_table_and_schema(tables: Tables) -> None:
    report = run_one(orders(1, 2))

    met = unplanned(report)
    assert met.table == ORDERS_SOURCE
    assert [[c.name for c in schema.columns] for schema in met.schemas] == [["id", "name"]]
    assert [schema.key for schema in met.schemas] == [("id",)]
    assert (report.first_offset, report.next_offset) == (0, 2)


def test_a_new_column_is_unplanned_and_nothing_of_its_topic_is_written(tables: Tables) -> None:
    messages = [
        *orders(1, 2),
        insert({"id": 3, "name": "n3", "size": 1}, table=WIDER, offset=2),
        *orders(4, start=3),
        *orders(9, table=INVOICES),
    ]

    new, other = run(messages, tables.plan(), tables.plan(INVOICES), size=1)

    assert [len(schema.columns) for schema in unplanned(new).schemas] == [3]
    assert new.next_offset == 4
    assert rows_in(written(other)) == [(9, "n9")]
    assert len(tables.files) == 1


def test_after_the_table_has_followed_old_and_new_rows_are_written(tables: Tables) -> None:
    messages = [
        *orders(1),
        insert({"id": 2, "name": "n2", "size": 5}, table=WIDER, offset=1),
        *orders(3, start=2),
    ]

    done = write_one(messages, tables.plan(WIDER, ORDERS), size=1)

    found = [file.path for file in done.files]
    rows = pq.read_table(found[0]).to_pylist()
    assert sorted((row["id"], row["size"]) for row in rows) == [(1, None), (2, 5), (3, None)]


def test_a_truncate_is_unplanned_first(tables: Tables) -> None:
    messages = [*orders(1), truncate(offset=1, lsn=50), *orders(2, start=2)]

    report = run_one(messages, tables.plan(), size=1)

    assert report.outcome == Unplanned(ORDERS_SOURCE, (), (Cutoff(0, 1, 50, MADE_AT),))
    assert tables.files == []


def test_a_planned_truncate_leaves_only_what_came_after_it(tables: Tables) -> None:
    messages = [
        *orders(1, 2),
        truncate(offset=2, lsn=50),
        update({"id": 1, "name": "again"}, offset=3),
        tombstone({"id": 7}, offset=4),
    ]

    done = write_one(messages, tables.plan(cutoffs=(Cutoff(0, 2, 50, MADE_AT),)), size=2)

    assert rows_in(done) == [(1, "again")]
    assert not replaces(done)  # the truncate has emptied the table
    assert done.account == Account(read=5, applied=2, superseded=3)


def test_a_planned_truncate_of_another_partition_counts_by_position(tables: Tables) -> None:
    messages = [
        insert({"id": 1, "name": "before"}, offset=90, lsn=49, partition=1),
        insert({"id": 2, "name": "after"}, offset=91, lsn=51, partition=1),
    ]

    done = write_one(messages, tables.plan(cutoffs=(Cutoff(0, 2, 50, MADE_AT),)))

    assert rows_in(done) == [(2, "after")]
    assert done.account == Account(read=2, applied=1, superseded=1)


def test_of_two_planned_truncates_the_last_one_counts(tables: Tables) -> None:
    messages = [truncate(offset=0, lsn=10), *orders(1, start=1), truncate(offset=2, lsn=50)]
    planned = Cutoff(0, 0, 10, MADE_AT), Cutoff(0, 2, 50, MADE_AT)

    done = write_one(messages, tables.plan(cutoffs=planned))

    assert done.files == ()
    assert done.account == Account(read=3, applied=1, superseded=2)


def test_a_truncate_after_the_planned_one_is_unplanned_again(tables: Tables) -> None:
    messages = [truncate(offset=0, lsn=10), *orders(1, start=1), truncate(offset=2, lsn=50)]

    report = run_one(messages, tables.plan(cutoffs=(Cutoff(0, 0, 10, MADE_AT),)))

    assert Cutoff(0, 2, 50, MADE_AT) in unplanned(report).truncates


@pytest.mark.parametrize("size", [1, 2, 4, 99])
def test_what_the_ledger_has_already_is_counted_and_not_applied(tables: Tables, size: int) -> None:
    messages = [
        *orders(1, 2),
        truncate(offset=2),
        tombstone({"id": 1}, offset=3),
        *orders(5, 6, start=4),
    ]

    report = run_one(messages, tables.plan(marks={0: PartitionMark(5, 1003)}), size=size)

    done = written(report)
    assert rows_in(done) == [(6, "n6")]
    assert done.account == Account(read=6, applied=1, duplicates=5)
    assert (report.first_offset, report.next_offset) == (0, 6)


def test_a_batch_of_duplicates_alone_writes_nothing(tables: Tables) -> None:
    done = write_one(orders(1, 2, 3), tables.plan(marks={0: PartitionMark(3, 2000)}))

    assert done.account == Account(read=3, duplicates=3)
    assert (done.files, done.position) == ((), NO_POSITION)


def test_the_mark_of_another_partition_does_not_count(tables: Tables) -> None:
    done = write_one(orders(1, partition=1), tables.plan(marks={0: PartitionMark(100, 2000)}))

    assert done.account == Account(read=1, applied=1)


def test_a_redelivered_insert_replaces_the_row_it_made(tables: Tables) -> None:
    messages = [
        insert({"id": 1, "name": "again"}, offset=100, lsn=500),
        insert({"id": 2, "name": "new"}, offset=101, lsn=501),
    ]
    plan = tables.plan(marks={0: PartitionMark(100, 500)}, rule=EQUALITY)

    done = write_one(messages, plan)

    assert rows_in(done, FileKind.EQUALITY_DELETES) == [(1,)]


def test_in_an_empty_table_nothing_needs_removing(tables: Tables) -> None:
    messages = [snapshot_row({"id": 1, "name": "a"}), delete({"id": 2}, offset=1)]

    done = write_one(messages, tables.plan(empty=True, rule=EQUALITY))

    assert [file.kind for file in done.files] == [FileKind.DATA]
    assert not replaces(done)
    assert done.account == Account(read=2, applied=2)


@pytest.mark.parametrize("size", [1, 99])
def test_a_parked_topic_is_passed_over(tables: Tables, size: int) -> None:
    messages = [*orders(1, 2), *orders(3, table=INVOICES), *orders(4, start=2, partition=1)]

    reports = run(
        messages,
        tables.plan(),
        tables.plan(INVOICES),
        parked=frozenset({ORDERS.topic}),
        size=size,
    )

    assert [report.topic for report in reports] == [INVOICES.topic]


def test_tombstones_alone_are_counted(tables: Tables) -> None:
    messages = [tombstone({"id": n}, offset=n) for n in range(3)]

    done = write_one(messages, tables.plan())

    assert done.account == Account(read=3, superseded=3)
    assert done.files == ()


def test_a_key_that_kafka_does_not_order_by_is_refused(tables: Tables) -> None:
    plan = tables.plan()
    assert plan.decode.table is not None
    table = replace(plan.decode.table, config_key=("id",))
    keyed = replace(plan, decode=replace(plan.decode, table=table))
    messages = [insert({"id": 1, "name": "a"}), insert({"id": 1, "name": "b"}, partition=1)]

    first, second = run(messages, keyed)

    assert isinstance(first.outcome, Written)
    assert isinstance(second.outcome, Failed)
    assert isinstance(second.outcome.error, SpreadKeyError)
