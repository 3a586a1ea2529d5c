"""What a task of the write step does with records that cannot be applied as they are."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cdc.config import RecordFormat
from cdc.decode import Wire
from cdc.errors import MissingValueError
from cdc.model import MISSING, Account, Failed
from cdc.runtime.task.target_plan import QuarantinePlan
from tests.unit.messages import (
    ORDERS,
    Message,
    insert,
    update,
)
from tests.unit.write_tasks import (
    INVOICES,
    Tables,
    orders,
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


def with_bad_record() -> list[Message]:
    bad = orders(1, 2, 3)
    bad[1] = replace(bad[1], value=b"not json")
    return bad


@pytest.mark.parametrize("size", [1, 2, 99])
def test_the_first_bad_record_of_a_mirror_is_unplanned(tables: Tables, size: int) -> None:
    messages = [*with_bad_record(), *orders(4, table=INVOICES)]

    bad, other = run(messages, tables.plan(), tables.plan(INVOICES), size=size)

    assert unplanned(bad).quarantine
    assert bad.bad_record is not None and bad.bad_record.offset == 1
    assert (bad.first_offset, bad.next_offset) == (0, 3)
    assert rows_in(written(other)) == [(4, "n4")]
    assert written(other).account.balanced
    assert len(tables.files) == 1


@pytest.mark.parametrize("size", [1, 2, 99])
def test_a_bad_record_is_written_whole_and_the_others_are_applied(
    tables: Tables, size: int
) -> None:
    plan = tables.plan(quarantine=QuarantinePlan(tables.quarantine))

    done = write_one(with_bad_record(), plan, size=size)

    assert rows_in(done) == [(1, "n1"), (3, "n3")]
    assert done.account == Account(read=3, applied=2, quarantined=1)
    assert done.quarantined is not None
    (row,) = pq.read_table(done.quarantined.path).to_pylist()
    assert (row["topic"], row["partition"], row["offset"]) == (ORDERS.topic, 0, 1)
    assert (row["key"], row["value"]) == (with_bad_record()[1].key, b"not json")
    assert "JSON" in row["reason"]


def test_a_bad_record_that_is_in_quarantine_already_is_not_written_again(tables: Tables) -> None:
    plan = tables.plan(quarantine=QuarantinePlan(tables.quarantine, {0: 2}))

    done = write_one(with_bad_record(), plan)

    assert done.quarantined is None
    assert done.account == Account(read=3, applied=2, quarantined=1)


def test_the_schema_id_of_a_bad_avro_record_is_kept(tables: Tables) -> None:
    avro = replace(orders(1)[0], value=b"\x00\x00\x00\x01\x02rest")
    decode = replace(tables.plan().decode, wire=Wire(RecordFormat.JSON))
    plan = replace(tables.plan(quarantine=QuarantinePlan(tables.quarantine)), decode=decode)

    done = write_one([avro], plan)

    assert done.quarantined is not None
    assert pq.read_table(done.quarantined.path)["schema_id"].to_pylist() == [258]


def test_bad_records_of_a_topic_without_a_table_are_told_and_not_written(tables: Tables) -> None:
    report = run_one([replace(message, value=b"{}") for message in orders(1, 2)])

    assert written(report).quarantined is None
    assert report.bad_record is not None and report.bad_record.offset == 0


PLACEHOLDER = "__debezium_unavailable_value"


def test_a_value_left_out_comes_from_an_earlier_record_batch(tables: Tables) -> None:
    messages = [
        insert({"id": 1, "name": "long"}, offset=0),
        update({"id": 1, "name": PLACEHOLDER}, offset=1),
    ]

    assert rows_in(write_one(messages, tables.plan(), size=1)) == [(1, "long")]


def test_a_value_left_out_that_no_change_has_is_unsent(tables: Tables) -> None:
    messages = [
        update({"id": 1, "name": PLACEHOLDER}, offset=0),
        update({"id": 2, "name": "b"}, offset=1),
    ]

    unsent = unplanned(run_one(messages, tables.plan())).unsent

    assert unsent is not None
    assert unsent.values.to_pylist() == [{"id": 1, MISSING: ["name"]}]
    assert tables.files == []


def test_a_value_left_out_comes_from_the_tables_row(tables: Tables) -> None:
    rows = pa.table({"id": pa.array([1, 9], pa.int64()), "name": ["long", "other"]})
    messages = [
        update({"id": 1, "name": PLACEHOLDER}, offset=0),
        update({"id": 2, "name": "b"}, offset=1),
    ]

    done = write_one(messages, tables.plan(rows=rows))

    assert rows_in(done) == [(1, "long"), (2, "b")]
    assert done.account == Account(read=2, applied=2)


def test_a_value_left_out_of_a_row_that_the_table_does_not_have_fails_the_topic(
    tables: Tables,
) -> None:
    rows = pa.table({"id": pa.array([], pa.int64()), "name": pa.array([], pa.string())})

    report = run_one([update({"id": 1, "name": PLACEHOLDER})], tables.plan(rows=rows))

    assert isinstance(report.outcome, Failed)
    assert isinstance(report.outcome.error, MissingValueError)
    assert (report.outcome.error.column, tables.files) == ("name", [])


def test_a_value_left_out_by_a_change_that_does_not_last_is_not_needed(tables: Tables) -> None:
    messages = [
        update({"id": 1, "name": PLACEHOLDER}, offset=0),
        update({"id": 1, "name": "new"}, offset=1),
    ]

    assert rows_in(write_one(messages, tables.plan())) == [(1, "new")]
