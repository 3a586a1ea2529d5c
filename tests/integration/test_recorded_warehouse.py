"""A warehouse that an older version of the mirror left goes on: exactly, and under its own state.

`tests/recorded/README.md` says what is in it, and how it was made.
"""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyiceberg.catalog import Catalog, load_catalog

from cdc.config import load_config
from tests.chaos.mirror import ONCE_SECONDS, PROGRAM, ROOT, environment
from tests.integration.stack import Stack
from tests.patience import PATIENCE_SECONDS
from tests.recorded.restore import RECORDED, read_avro, restore
from tests.recorded.rows import Row, as_json

NAMESPACES = ("recorded", "recorded_bare")
QUARANTINE = "recorded._mirror_quarantine"
EXPECTED: Mapping[str, list[Row]] = json.loads((RECORDED / "expected.json").read_text())
RECORDS = [json.loads(line) for line in (RECORDED / "records.jsonl").read_text().splitlines()]
# Its type changed in a way that no policy of the config follows.
PARKED = "recorded.typed"
EQUALITY = "recorded.items"  # pyiceberg reads no equality deletes

# What the tables of today say of their own state.
STATE_VERSION = ("_mirror_state_version", "1")


@dataclass(frozen=True, slots=True)
class TableState:
    """What the catalog has of one table."""

    metadata: str  # the file: each commit makes another
    snapshot: int | None
    properties: Mapping[str, str]
    ledgers: Mapping[int, Mapping[str, Any]]  # by snapshot


State = Mapping[str, TableState]
Rows = Mapping[str, list[Row]]


@dataclass(frozen=True, slots=True)
class GoneOn:
    """The warehouse before a run of the code of today, after it, and after a second one."""

    before: State
    after: State
    again: State
    rows_before: Rows
    rows: Rows
    exit_codes: tuple[int, int]
    log: str


@pytest.fixture(scope="module")
def gone_on(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoneOn]:
    """Let the mirror go on where the recorded one ended, with Kafka and no database."""
    folder = tmp_path_factory.mktemp("recorded")
    servers = stack.kafka.bootstrap_servers
    config = restore(folder, servers)
    before, rows_before = state(config), pyiceberg_rows(config)
    produce(servers)
    log = folder / "run.log"
    first = run_once(config, log)
    rows = {**pyiceberg_rows(config), **spark_rows(config)}
    after, text = state(config), log.read_text()
    second = run_once(config, log)
    yield GoneOn(before, after, state(config), rows_before, rows, (first, second), text)
    admin = AdminClient({"bootstrap.servers": servers})
    for done in admin.delete_topics([*partitions()]).values():
        done.result(PATIENCE_SECONDS)


def partitions() -> dict[str, int]:
    """Say how many partitions each topic has."""
    counts: dict[str, int] = json.loads((RECORDED / "topics.json").read_text())
    return counts


def produce(servers: str) -> None:
    """Put all records where they were recorded."""
    admin = AdminClient({"bootstrap.servers": servers})
    # By their times the records are old, and Kafka would soon delete them.
    forever = {"retention.ms": "-1"}
    topics = [NewTopic(name, count, 1, config=forever) for name, count in partitions().items()]
    for done in admin.create_topics(topics).values():
        done.result(PATIENCE_SECONDS)
    places: list[tuple[str | None, int | None, int | None]] = []

    def delivered(error: object, message: Message) -> None:
        assert error is None, error
        places.append((message.topic(), message.partition(), message.offset()))

    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for record in RECORDS:
        producer.produce(
            record["topic"],
            partition=record["partition"],
            timestamp=record["timestamp"],
            key=decoded(record["key"]),
            value=decoded(record["value"]),
            headers=[(name, decoded(value)) for name, value in record["headers"]],
            on_delivery=delivered,
        )
    assert producer.flush(PATIENCE_SECONDS) == 0
    assert sorted(places, key=str) == sorted(
        ((r["topic"], r["partition"], r["offset"]) for r in RECORDS), key=str
    )


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def run_once(config: Path, log: Path) -> int:
    """Run the command as users do, until it has read up."""
    with log.open("a") as file:
        done = subprocess.run(
            [*PROGRAM, "run", str(config), "--once"],
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=config.parent,
            env=environment(),
            timeout=ONCE_SECONDS,
        )
    return done.returncode


def open_catalog(config: Path) -> Catalog:
    settings = load_config(config)
    return load_catalog(settings.name, **settings.catalog.properties())


def state(config: Path) -> State:
    """Read what the catalog has of all tables."""
    catalog = open_catalog(config)
    found = {}
    for namespace in NAMESPACES:
        for name in catalog.list_tables(namespace):
            table = catalog.load_table(name)
            ledgers = {
                snapshot.snapshot_id: snapshot.summary.get("_mirror_ledger")
                for snapshot in table.metadata.snapshots
                if snapshot.summary is not None
            }
            found[".".join(name)] = TableState(
                table.metadata_location,
                table.metadata.current_snapshot_id,
                table.properties,
                {number: json.loads(text) for number, text in ledgers.items() if text},
            )
    return found


def spark_rows(config: Path) -> Rows:
    """Read the tables of the first namespace with Spark."""
    folder = config.parent / "read"
    folder.mkdir(exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "tests.chaos.spark_reader", str(config), NAMESPACES[0], str(folder)],
        cwd=ROOT,
        env=environment(),
        check=True,
        capture_output=True,
    )
    return {
        f"{NAMESPACES[0]}.{file.stem}": as_json(pq.read_table(file))
        for file in folder.glob("*.parquet")
    }


def pyiceberg_rows(config: Path) -> Rows:
    """Read all tables that pyiceberg can read."""
    catalog = open_catalog(config)
    names = [name for namespace in NAMESPACES for name in catalog.list_tables(namespace)]
    return {
        ".".join(name): as_json(catalog.load_table(name).scan().to_arrow())
        for name in names
        if ".".join(name) != EQUALITY
    }


def waiting_records(table: TableState) -> int:
    """Count the records that a table had not read when it was recorded."""
    topic = table.properties["_mirror_topic"]
    ledger = json.loads(table.properties["_mirror_ledger"])
    marks = ledger["partitions"] if ledger["topic"] == topic else {}
    return sum(
        record["topic"] == topic
        and record["offset"] >= marks.get(str(record["partition"]), [0, 0])[0]
        for record in RECORDS
    )


def mirrored(tables: State) -> dict[str, TableState]:
    return {name: table for name, table in tables.items() if name != QUARANTINE}


def test_a_restored_warehouse_is_whole(tmp_path: Path) -> None:
    config = restore(tmp_path / "elsewhere")
    catalog, moved = open_catalog(config), str(tmp_path / "elsewhere")
    read = spark_rows(config)
    assert len(read[EQUALITY]) == 8
    by_pyiceberg = pyiceberg_rows(config)
    assert {n: by_pyiceberg[n] for n in read if n != EQUALITY} == {
        n: rows for n, rows in read.items() if n != EQUALITY
    }
    for namespace in NAMESPACES:
        for name in catalog.list_tables(namespace):
            table = catalog.load_table(name)
            assert table.metadata.location.startswith(moved)
            for snapshot in table.metadata.snapshots:
                check_lengths(Path(snapshot.manifest_list))


def check_lengths(listed: Path) -> None:
    """See that the files of a snapshot have the lengths that it names."""
    for manifest in read_avro(listed)[0]:
        path = Path(manifest["manifest_path"])
        assert path.stat().st_size == manifest["manifest_length"]
        for entry in read_avro(path)[0]:
            data = entry["data_file"]
            assert Path(data["file_path"]).stat().st_size == data["file_size_in_bytes"]


@pytest.mark.parametrize("table", sorted(EXPECTED))
def test_a_table_goes_on_to_what_its_source_has(gone_on: GoneOn, table: str) -> None:
    assert gone_on.rows[table] == EXPECTED[table]


def test_there_are_the_same_tables(gone_on: GoneOn) -> None:
    assert mirrored(gone_on.before).keys() == EXPECTED.keys()
    assert gone_on.after.keys() == gone_on.before.keys()


def test_every_record_is_read_once_and_accounted_for(gone_on: GoneOn) -> None:
    read, waiting = {}, {}
    for name, before in mirrored(gone_on.before).items():
        after = gone_on.after[name].ledgers
        new = [ledger for number, ledger in after.items() if number not in before.ledgers]
        for ledger in new:
            counts = ("applied", "superseded", "duplicates", "quarantined")
            assert ledger["read"] == sum(ledger[count] for count in counts)
            assert ledger["duplicates"] == 0
        read[name] = sum(ledger["read"] for ledger in new)
        waiting[name] = waiting_records(before) if name != PARKED else 0

    assert read == waiting
    assert sum(waiting.values()) > 0


def test_the_quarantine_stays_as_it_is(gone_on: GoneOn) -> None:
    assert len(gone_on.rows[QUARANTINE]) == 3
    assert gone_on.rows[QUARANTINE] == gone_on.rows_before[QUARANTINE]
    assert gone_on.after[QUARANTINE].snapshot == gone_on.before[QUARANTINE].snapshot


def test_one_parked_table_stays_parked_and_the_other_goes_on(gone_on: GoneOn) -> None:
    before, after = (
        {note["table"]: note for note in json.loads(state[QUARANTINE].properties["_mirror_parked"])}
        for state in (gone_on.before, gone_on.after)
    )

    assert before.keys() == {PARKED, "recorded.waiting"}
    # Reasons are worded by the version that gives them.
    assert [*after] == [PARKED]
    assert all(after[PARKED][name] == before[PARKED][name] for name in ("topic", "offsets"))
    assert gone_on.exit_codes == (1, 1)
    assert "parked recorded.public.typed: " in gone_on.log
    assert gone_on.rows[PARKED] == gone_on.rows_before[PARKED]
    assert gone_on.after[PARKED].snapshot == gone_on.before[PARKED].snapshot


def test_topics_that_were_left_stay_left(gone_on: GoneOn) -> None:
    before, after = (
        json.loads(state[QUARANTINE].properties["_mirror_retired"])
        for state in (gone_on.before, gone_on.after)
    )

    assert {entry["topic"] for entry in before} == {
        "recorded.public.people",
        "recorded.public.gone",
    }
    assert after == before


def test_a_second_run_changes_nothing(gone_on: GoneOn) -> None:
    metadata = {name: table.metadata for name, table in gone_on.after.items()}

    assert {name: table.metadata for name, table in gone_on.again.items()} == metadata


def test_the_state_of_every_table_has_its_version(gone_on: GoneOn) -> None:
    name, version = STATE_VERSION
    versions = {table: state.properties.get(name) for table, state in gone_on.after.items()}

    assert name not in {key for table in gone_on.before.values() for key in table.properties}
    assert versions == dict.fromkeys(gone_on.after, version)
