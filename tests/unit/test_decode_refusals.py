"""Messages that must be refused, or taken, although the fast path would do otherwise."""

import hashlib
import json
import pickle
import subprocess
import sys
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cdc.decode import DecodedChanges, DecodePlan, Wire, decode_changes
from cdc.decode.json_payloads import read_payloads
from cdc.errors import (
    ManyTablesError,
)
from cdc.model import MISSING, BadRecord, Failed, Outcome, PartitionReport, Unplanned, Written
from cdc.runtime.task.target_plan import KeyRouting, TargetPlan
from cdc.runtime.task.write_task import WriteTask
from cdc.write import FileWriter
from connectors import DIALECTS
from tests.unit.avro_messages import AvroTopic
from tests.unit.messages import (
    CONNECT_DECIMAL,
    ORDERS,
    PRECISION,
    Block,
    Message,
    Table,
    arrays,
    base64_of,
    column,
    decimal,
    delete,
    insert,
    planned,
    record_batch,
    truncate,
    update,
)
from tests.unit.registry_server import served

POSTGRES, MYSQL = DIALECTS["postgres"], DIALECTS["mysql"]
GOOD = insert({"id": 1, "name": "a"}, offset=10)
OTHER = insert({"id": 2, "name": "b"}, offset=11)
PLAN = planned([GOOD], POSTGRES)
PLACEHOLDER = "__debezium_unavailable_value"
VARIABLE_SCALE: Block = column(
    "n",
    "struct",
    logical="io.debezium.data.VariableScaleDecimal",
    fields=[column("scale", "int32"), column("value", "bytes")],
)


def decode(*messages: Message, plan: DecodePlan = PLAN) -> DecodedChanges:
    return decode_changes(0, *arrays(messages), plan)


def bad_offsets(decoded: DecodedChanges) -> list[int]:
    return [record.offset for record in decoded.bad_records]


def with_column(block: Block, value: Any, *, op: Any = insert) -> Message:
    table = Table((*ORDERS.columns, block))
    message: Message = op({"id": 1, block["field"]: value}, table=table, offset=11)
    return message


def write(folder: Path, plan: DecodePlan, *batches: list[Message]) -> Outcome:
    assert plan.table is not None
    key = tuple(field.name for field in plan.table.schema if not field.nullable)
    writer = FileWriter(str(folder), plan.table.schema, {})
    topic = TargetPlan(decode=plan, key=key, writer=writer, routing=KeyRouting(1))
    task = WriteTask(POSTGRES, {plan.topic: (topic,)}, frozenset())
    (batch,) = task([record_batch(batch) for batch in batches])
    report: PartitionReport = pickle.loads(batch.column(0)[0].as_py())
    return report.outcome


# A message that brings the process down, or another exception than a deliberate one.


@pytest.mark.parametrize("part", ["value", "key"])
def test_a_payload_of_null_does_not_crash_the_process(part: str) -> None:
    code = f"""
from dataclasses import replace
from tests.unit.messages import *
from connectors import DIALECTS
dialect = DIALECTS["postgres"]
good = [delete({{"id": n}}, offset=10 + n) for n in range(2)]
plan = planned(good, dialect)
whole = good[0].{part}
bad = replace(good[0], {part}=whole.split(b',"payload":')[0] + b',"payload":null}}')
print([record.offset for record in decode_changes(0, *arrays([bad, good[1]]), plan).bad_records])
"""
    root = Path(__file__).parents[2]

    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "[10]\n")


@pytest.mark.parametrize("part", ["value", "key"])
def test_a_schema_nested_too_deep_is_refused(part: str) -> None:
    deep = b'{"schema":' + b"[" * 100_000 + b"}"

    assert bad_offsets(
        decode(GOOD, replace(OTHER, key=deep) if part == "key" else replace(OTHER, value=deep))
    ) == [11]


@pytest.mark.parametrize("schema", [b'"text"', b"5", b"[]"])
def test_a_key_whose_schema_is_no_object_is_refused(schema: bytes) -> None:
    key = b'{"schema":' + schema + b',"payload":{"id":2}}'

    assert bad_offsets(decode(GOOD, replace(OTHER, key=key))) == [11]


def test_a_column_name_that_is_no_text_is_refused() -> None:
    assert OTHER.value is not None
    value = OTHER.value.replace(b'"field":"name"', b'"field":"n\\ud800"')

    assert bad_offsets(decode(GOOD, replace(OTHER, value=value))) == [11]


def test_a_delete_by_a_numeric_key_without_a_scale_is_decoded() -> None:
    table = Table(({**VARIABLE_SCALE, "field": "id"}, column("v", "string")))
    id_ = {"scale": 1, "value": decimal(15)}
    messages = [insert({"id": id_, "v": "x"}, table=table), delete({"id": id_}, table=table)]

    decoded = decode(*messages, plan=planned(messages, POSTGRES))

    assert decoded.changes[0]["id"].to_pylist() == ["1.5", "1.5"]


@pytest.mark.parametrize(
    "message",
    [
        with_column(VARIABLE_SCALE, {"scale": 2, "value": decimal(10**5000)}),
        with_column(
            column(
                "n", "bytes", logical=CONNECT_DECIMAL, parameters={"scale": "2", PRECISION: "99"}
            ),
            decimal(10**5000),
        ),
    ],
    ids=["variable", "fixed"],
)
def test_a_number_of_five_thousand_digits_becomes_text(message: Message) -> None:
    decoded = decode(message, plan=planned([message], POSTGRES))

    assert decoded.changes[0]["n"].to_pylist() == ["1" + "0" * 4998 + ".00"]


def test_a_binary_log_file_with_too_great_a_number_is_refused() -> None:
    table = Table(connector="mysql")
    file = {"file": "binlog.99999999999999999999"}
    messages = [insert({"id": 1}, table=table), insert({"id": 2}, table=table, source=file)]

    decoded = decode(*messages, plan=planned(messages[:1], MYSQL))

    assert bad_offsets(decoded) == [0]
    assert sum(len(part) for part in decoded.changes) == 1


def test_a_row_without_its_key_is_refused() -> None:
    assert bad_offsets(decode(GOOD, insert({"id": None, "name": "x"}, offset=11))) == [11]


def test_a_delete_without_its_key_is_refused() -> None:
    assert bad_offsets(decode(GOOD, delete({"id": None}, offset=11))) == [11]


@pytest.mark.parametrize("days", [-2440588, 2147483647])
def test_a_date_of_any_year_may_be_a_key(days: int, tmp_path: Path) -> None:
    block = column("id", "int32", optional=False, logical="io.debezium.time.Date")
    message = insert({"id": days, "v": "x"}, table=Table((block, column("v", "string"))))

    outcome = write(tmp_path, planned([message], POSTGRES), [message])

    assert isinstance(outcome, Written)
    assert outcome.account.applied == 1


# Values that are wrong in the table without a word.


@pytest.mark.parametrize(
    ("block", "value"),
    [
        (column("b", "bytes"), base64_of(PLACEHOLDER.encode())),
        (column("b", "array", items={"type": "string", "optional": True}), [PLACEHOLDER]),
        (
            column("b", "array", items={"type": "bytes", "optional": True}),
            [base64_of(PLACEHOLDER.encode())],
        ),
        (
            column("b", "array", items={"type": "int32", "optional": True}),
            list(PLACEHOLDER.encode()),
        ),
        (
            column("b", "array", items={"type": "string", "optional": True}),
            [str(uuid.UUID(bytes=hashlib.md5(PLACEHOLDER.encode()).digest(), version=3))],
        ),
        (
            column("b", "string", logical="io.debezium.data.Json"),
            json.dumps({PLACEHOLDER: PLACEHOLDER}),
        ),
    ],
    ids=["bytes", "texts", "list of bytes", "numbers", "uuids", "hstore"],
)
@pytest.mark.parametrize("wire", ["json", "avro"])
def test_the_placeholder_for_an_unsent_value_is_found_in_every_form(
    block: Block, value: Any, wire: str
) -> None:
    message, topic = with_column(block, value, op=update), AvroTopic()
    plan = planned([message], POSTGRES)
    if wire == "avro":
        message = topic.write(message)

    with served(topic.schemas) as url:
        decoded = decode(message, plan=replace(plan, wire=Wire(registry={"url": url})))

    (row,) = decoded.changes[0].to_pylist()
    assert (row["b"], row[MISSING]) == (None, ["b"])


@pytest.mark.parametrize("number", [b"1.5", b"-0.5", b"1e-3"])
def test_a_fraction_in_a_whole_number_column_is_refused(number: bytes) -> None:
    payloads = pa.array([b'{"a":1}', b'{"a":' + number + b"}"])

    read = read_payloads(payloads, pa.schema([("a", pa.int64())]))

    assert [bad.row for bad in read.bad_messages] == [1]
    assert read.table["a"].to_pylist() == [1]


def test_bytes_that_are_no_utf8_are_refused() -> None:
    assert OTHER.value is not None
    value = OTHER.value.replace(b'"name":"b"', b'"name":"\xff\xfe"')

    assert bad_offsets(decode(GOOD, replace(OTHER, value=value))) == [11]


def test_a_change_that_does_not_say_its_table_is_refused() -> None:
    assert GOOD.value is not None
    whole = json.loads(GOOD.value)
    del whole["payload"]["source"]

    assert bad_offsets(
        decode(replace(GOOD, value=json.dumps(whole, separators=(",", ":")).encode()))
    ) == [10]


def test_two_tables_in_two_chunks_of_a_topic_are_refused(tmp_path: Path) -> None:
    other = insert({"id": 1, "name": "z"}, table=Table(name="invoices"), offset=11)

    outcome = write(tmp_path, PLAN, [GOOD], [replace(other, topic=GOOD.topic)])

    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, ManyTablesError)


def test_every_truncate_of_a_batch_is_told(tmp_path: Path) -> None:
    wider = Table((*ORDERS.columns, column("size")))
    messages = [
        insert({"id": 1}, offset=0),
        insert({"id": 1, "size": 1}, table=wider, offset=1),
        truncate(table=wider, offset=10, lsn=10),
        truncate(offset=20, lsn=20),
    ]

    outcome = write(tmp_path, planned(messages, POSTGRES), messages)

    assert isinstance(outcome, Unplanned)
    told = [(truncate.offset, truncate.position) for truncate in outcome.truncates]
    assert sorted(told) == [(10, 10), (20, 20)]


@pytest.mark.parametrize("end", [b"]", b"x", b'"'])
def test_a_message_with_a_wrong_last_byte_is_refused(end: bytes) -> None:
    assert OTHER.value is not None

    assert bad_offsets(decode(GOOD, replace(OTHER, value=OTHER.value[:-1] + end))) == [11]


def test_two_payloads_in_one_message_and_none_in_the_next_are_refused() -> None:
    assert GOOD.value is not None and OTHER.value is not None
    head, first = GOOD.value.split(b',"payload":')
    second = OTHER.value.split(b',"payload":')[1]
    both = head + b',"payload":' + first[:-1] + second

    none = replace(OTHER, value=head + b',"payload":}')

    assert bad_offsets(decode(replace(GOOD, value=both), none)) == [10, 11]


# The right error with the wrong facts, and good input that is refused.


@pytest.mark.parametrize(
    "key",
    [
        b'{"schema":{"type":"int32"},"payload":1}',
        b'{"schema":{"type":"struct"},"payload":{}}',
        b'{"schema":{"type":"struct","fields":[{"type":"int32"}]},"payload":{}}',
        b'{"schema":{"type":"struct","fields":[{"field":"id"}]},"payload":{}}',
    ],
)
def test_a_key_whose_schema_cannot_be_read_names_its_own_offset(key: bytes) -> None:
    assert bad_offsets(decode(GOOD, replace(OTHER, key=key))) == [11]


def test_a_deleted_rows_key_that_is_cut_off_names_its_own_offset() -> None:
    deleted = delete({"id": 2}, offset=11)
    assert deleted.key is not None

    assert bad_offsets(decode(GOOD, replace(deleted, key=deleted.key[:-2]))) == [11]


def test_a_schema_of_null_is_no_schema_in_every_layout() -> None:
    value = b'{"schema":null,"payload":{"op":"c","source":{}}}'

    decoded = decode(GOOD, replace(OTHER, value=value))

    assert decoded.bad_records == (BadRecord(11, "it has no schema"),)


@pytest.mark.parametrize("space", [b"\n", b" ", b"\r\n"])
def test_white_space_behind_a_message_does_not_matter(space: bytes) -> None:
    assert OTHER.value is not None

    decoded = decode(GOOD, replace(OTHER, value=OTHER.value + space))

    assert decoded.changes[0]["id"].to_pylist() == [1, 2]


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    """Guard this file's own helper: a plain write must work."""
    outcome = write(tmp_path, PLAN, [GOOD, OTHER])

    assert isinstance(outcome, Written)
    assert pq.read_table(outcome.files[0].path)["id"].to_pylist() == [1, 2]
