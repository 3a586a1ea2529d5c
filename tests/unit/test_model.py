"""The words all stages share: they add up, compare, and survive being written down."""

import json
import pickle

import pytest

from cdc.errors import NotDebeziumError
from cdc.model import (
    NO_POSITION,
    RESERVED,
    Account,
    Cutoff,
    Failed,
    FileKind,
    Op,
    Outcome,
    PartitionMark,
    PartitionReport,
    SourceColumn,
    SourceSchema,
    SourceTable,
    SourceType,
    TableName,
    Unplanned,
    Written,
    WrittenFile,
)
from cdc.state.ledger import Ledger

LEDGER = Ledger(
    mirror='shop "east"',
    topic="srv.public.naïve",
    batch=41,
    partitions={10: PartitionMark(2**62, 2**63 - 1), 2: PartitionMark(0), 0: PartitionMark(7, 5)},
    account=Account(read=6, applied=3, superseded=2, duplicates=1),
)


def test_a_ledger_comes_back_from_its_text() -> None:
    assert Ledger.from_json(LEDGER.to_json()) == LEDGER


def test_equal_ledgers_have_equal_texts() -> None:
    turned = Ledger(
        LEDGER.mirror,
        LEDGER.topic,
        LEDGER.batch,
        dict(sorted(LEDGER.partitions.items())),
        LEDGER.account,
    )

    assert turned.to_json() == LEDGER.to_json()


def test_a_ledgers_text_says_each_thing_by_name() -> None:
    assert json.loads(LEDGER.to_json()) == {
        "mirror": 'shop "east"',
        "topic": "srv.public.naïve",
        "batch": 41,
        "partitions": {"0": [7, 5], "2": [0, NO_POSITION], "10": [2**62, 2**63 - 1]},
        "read": 6,
        "applied": 3,
        "superseded": 2,
        "duplicates": 1,
        "quarantined": 0,
    }


def test_a_ledger_from_before_the_quarantine_is_read() -> None:
    raw = json.loads(LEDGER.to_json())
    del raw["quarantined"]

    assert Ledger.from_json(json.dumps(raw)) == LEDGER


def test_a_ledgers_text_is_plain_ascii_on_one_line() -> None:
    text = LEDGER.to_json()

    assert text.isascii()
    assert "\n" not in text


def test_a_ledger_without_partitions_comes_back() -> None:
    ledger = Ledger("m", "t", 0, {})

    assert Ledger.from_json(ledger.to_json()) == ledger


def test_accounts_add_up_count_by_count() -> None:
    total = Account(1, 2, 3, 4, 5) + Account(10, 20, 30, 40, 50)

    assert total == Account(read=11, applied=22, superseded=33, duplicates=44, quarantined=55)


@pytest.mark.parametrize(
    ("account", "balanced"),
    [
        (Account(), True),
        (Account(read=1, quarantined=1), True),
        (Account(quarantined=1), False),
        (Account(6, 3, 2, 1), True),
        (Account(6, 3, 2, 0), False),
        (Account(5, 3, 2, 1), False),
        (Account(read=1), False),
    ],
)
def test_an_account_is_balanced_when_every_record_is_in_one_count(
    account: Account, balanced: bool
) -> None:
    assert account.balanced is balanced


def test_names_read_as_people_write_them() -> None:
    assert str(SourceTable("srv", "shop", "public", "orders")) == "public.orders"
    assert str(TableName(("lake", "shop"), "orders")) == "lake.shop.orders"


def test_types_read_with_their_meaning() -> None:
    plain = SourceType("int32")

    assert str(plain) == "int32"
    assert str(SourceType("array", element=plain)) == "array<int32>"
    assert str(SourceType("int32", "io.debezium.time.Date")) == "int32 (io.debezium.time.Date)"


def test_a_parameter_is_found_by_name() -> None:
    kind = SourceType("bytes", parameters=(("precision", "10"), ("scale", "2")))

    assert (kind.parameter("scale"), kind.parameter("length")) == ("2", None)


def test_schemas_are_equal_by_what_they_hold() -> None:
    def schema(kind: str) -> SourceSchema:
        return SourceSchema((SourceColumn("id", SourceType(kind)),), ("id",))

    assert len({schema("int32"), schema("int32"), schema("int64")}) == 2


def test_operations_are_debeziums_letters() -> None:
    assert {op.name: op.value for op in Op} == {
        "CREATE": "c",
        "UPDATE": "u",
        "DELETE": "d",
        "READ": "r",
        "TRUNCATE": "t",
    }


def test_reserved_names_start_alike() -> None:
    from cdc import model

    assert all(name.startswith(RESERVED) for name in (model.OFFSET, model.OP, model.POSITION))


@pytest.mark.parametrize(
    "outcome",
    [
        Written(
            Account(4, 3, 1),
            position=77,
            files=(WrittenFile(FileKind.DATA, "s3://b/x.parquet", 100, 3),),
            key_bounds={"id": (1, 9)},
        ),
        Unplanned(
            SourceTable("s", "d", "p", "t"),
            (SourceSchema((SourceColumn("id", SourceType("int32")),), ("id",)),),
            (Cutoff(3, 6, 70),),
        ),
    ],
)
def test_a_report_comes_back_from_a_worker_whole(outcome: Outcome) -> None:
    report = PartitionReport("t", 3, first_offset=5, next_offset=9, outcome=outcome)

    assert pickle.loads(pickle.dumps(report)) == report


def test_a_failure_comes_back_from_a_worker_with_its_facts() -> None:
    failure = NotDebeziumError("t", 3, 5, "it is not JSON")

    found = pickle.loads(pickle.dumps(Failed(failure))).error

    assert isinstance(found, NotDebeziumError)
    assert (found.topic, found.partition, found.offset, found.reason) == (
        "t",
        3,
        5,
        "it is not JSON",
    )
    assert str(found) == str(failure)
