"""`status` tells where each table of a mirror stands, and changes nothing."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyiceberg.catalog import Catalog
from pyiceberg.types import StringType

from cdc.cli import cli
from cdc.commands.status import count_quarantined
from cdc.commands.table_status import Counts, Held, next_records, read_table, table_statuses
from cdc.config import MirrorConfig
from cdc.errors import CatalogUnreachableError, LostLedgerError, UnlistedCatalogError
from cdc.model import SchemaEvent, SchemaPlace
from cdc.observe.status import MirrorStatus, TableStatus
from cdc.runtime.tables.catalog_reader import CatalogReader
from cdc.runtime.tables.table_views import ledger_without_spark
from cdc.source.topics import OffsetRange
from cdc.state.ledger import FoundLedger
from cdc.state.left_topics import LeftTopic
from cdc.state.names import DROPPED_PROPERTY, LEDGER_PROPERTY, SEQUENCE_PROPERTY
from cdc.state.parked import ParkedTable, parked_property, read_parked
from cdc.state.schema_log import created, log_property
from cdc.state.source_identity import Moment
from tests.unit.status_tables import (
    CONFIG,
    ROWS,
    config_in,
    create_quarantine,
    create_table,
    ledger_of,
    open_catalog,
)

TOPIC = "srv.public.orders"
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
SINCE = "2026-01-31T10:00:00+00:00"


@pytest.fixture
def config(tmp_path: Path) -> MirrorConfig:
    return config_in(tmp_path)


@pytest.fixture
def catalog(config: MirrorConfig) -> Catalog:
    return open_catalog(config)


def names(config: MirrorConfig) -> list[str]:
    return [".".join(table.name()) for table in CatalogReader(config).tables()]


def held(
    ranges: dict[int, OffsetRange] | None = None,
    times: dict[tuple[int, int], int | None] | None = None,
    topic: str = TOPIC,
) -> Held:
    """Say what Kafka holds of one topic; times are seconds before now, by partition and offset."""
    found = {
        ((topic, p), offset): None if age is None else int(NOW.timestamp() - age) * 1000
        for (p, offset), age in (times or {}).items()
    }
    return Held(["srv.public.*"], {topic: ranges} if ranges is not None else {}, found)


def statuses(
    config: MirrorConfig,
    kafka: Held,
    words: tuple[ParkedTable, ...] = (),
    counts: Counts | None = None,
    retired: dict[str, LeftTopic] | None = None,
) -> tuple[TableStatus, ...]:
    tables = [read_table(table) for table in CatalogReader(config).tables()]
    return table_statuses(tables, kafka, words, counts or {}, NOW, retired)


def text_of(*tables: TableStatus) -> list[str]:
    return list(MirrorStatus("shop", "", tables).lines())


def test_only_tables_that_the_mirror_made_are_found(config: MirrorConfig, catalog: Catalog) -> None:
    create_table(catalog, "shop.orders")
    create_table(catalog, "shop.others", mirror="another")
    create_table(catalog, "shop.nobodys", topic=None)
    create_table(catalog, "late.gone", topic="srv.public.gone")
    create_quarantine(catalog)

    assert names(config) == ["late.gone", "shop.orders"]


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{database}.{table}", ["shop.orders"]),
        ("shop.{table}", ["shop.orders"]),
        ("SHOP.ord{table}", ["shop.orders"]),
        ("lake.{table}", []),
        ("lake.{server}.{table}", ["lake.srv.orders"]),
    ],
)
def test_only_tables_are_asked_that_are_named_as_the_config_names_them(
    tmp_path: Path, catalog: Catalog, template: str, found: list[str]
) -> None:
    create_table(catalog, "shop.orders")
    create_table(catalog, "lake.srv.orders")

    assert names(config_in(tmp_path, f'[target]\ntable = "{template}"')) == found


def test_tables_of_every_target_are_found(tmp_path: Path, catalog: Catalog) -> None:
    create_table(catalog, "shop.orders")
    create_table(catalog, "logs.a.orders_log")
    targets = '[[tables.rules]]\nmatch = "*.*"\ntargets = [{ table = "logs.{schema}.{table}_log" }]'

    assert names(config_in(tmp_path, targets)) == ["logs.a.orders_log", "shop.orders"]


def test_a_table_that_is_damaged_hides_no_other(config: MirrorConfig, catalog: Catalog) -> None:
    create_table(catalog, "shop.orders")
    broken = create_table(catalog, "shop.broken")
    Path(broken.metadata_location.removeprefix("file://")).unlink()
    reader = CatalogReader(config)

    assert [table.name() for table in reader.tables()] == [("shop", "orders")]
    assert list(reader.unreadable) == ["shop.broken"]


def test_a_catalog_that_is_not_there_yet_is_not_made(config: MirrorConfig, tmp_path: Path) -> None:
    reader = CatalogReader(config)

    assert (reader.tables(), reader.quarantine()) == ([], None)
    assert list(tmp_path.iterdir()) == []


def test_a_catalog_that_does_not_answer_is_told(tmp_path: Path) -> None:
    more = '[catalog]\ntype = "rest"\nuri = "http://127.0.0.1:1"'

    with pytest.raises(CatalogUnreachableError):
        CatalogReader(config_in(tmp_path, more)).tables()


def test_a_catalog_that_only_spark_reads_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnlistedCatalogError):
        CatalogReader(config_in(tmp_path, '[catalog]\ntype = "hadoop"'))


def test_a_table_tells_what_waits_and_for_how_long(config: MirrorConfig, catalog: Catalog) -> None:
    create_table(catalog, "shop.orders", offsets={0: 7, 1: 20})
    ranges = {0: OffsetRange(0, 10), 1: OffsetRange(5, 20), 2: OffsetRange(4, 6)}

    (status,) = statuses(config, held(ranges, {(0, 7): 90, (2, 4): 30}))

    assert (status.topic, status.table, status.mode) == (TOPIC, "shop.orders", "mirror")
    assert (status.waiting, status.behind_seconds) == (3 + 2, 90)
    assert (status.rows, status.data_files, status.delete_files) == (3, 1, 0)
    assert (status.batch, status.offsets) == (0, {0: 7, 1: 20})
    assert status.last_commit is not None
    assert (status.parked, status.lost, status.ended) == (None, None, None)


def test_a_table_that_has_all_is_not_behind(config: MirrorConfig, catalog: Catalog) -> None:
    create_table(catalog, "shop.orders", offsets={0: 10})

    (status,) = statuses(config, held({0: OffsetRange(0, 10)}))

    assert (status.waiting, status.behind_seconds) == (0, 0)


def test_marks_of_transactions_do_not_wait(config: MirrorConfig, catalog: Catalog) -> None:
    create_table(catalog, "shop.orders", offsets={0: 9})

    (status,) = statuses(config, held({0: OffsetRange(0, 10)}, {(0, 9): None}))

    assert status.waiting == 0


def test_only_records_that_are_needed_next_are_read(config: MirrorConfig, catalog: Catalog) -> None:
    create_table(catalog, "shop.orders", offsets={0: 7, 1: 20, 2: 1})
    tables = [read_table(table) for table in CatalogReader(config).tables()]
    ranges = {
        TOPIC: {
            0: OffsetRange(0, 10),
            1: OffsetRange(0, 20),
            2: OffsetRange(5, 9),
            3: OffsetRange(2, 4),
        },
        "srv.public.new": {0: OffsetRange(3, 8), 1: OffsetRange(0, 0)},
    }

    assert set(next_records(tables, ranges)) == {
        ((TOPIC, 0), 7),
        ((TOPIC, 3), 2),
        (("srv.public.new", 0), 3),
    }


@pytest.mark.parametrize("ranges", [{0: OffsetRange(8, 10)}, {0: OffsetRange(0, 5)}, {}])
def test_records_that_kafka_lost_are_told(
    config: MirrorConfig, catalog: Catalog, ranges: dict[int, OffsetRange]
) -> None:
    create_table(catalog, "shop.orders", offsets={0: 7})

    (status,) = statuses(config, held(ranges))

    assert "offset 7 of partition 0" in (status.lost or "")
    assert text_of(status)[-1].startswith(f"{TOPIC} (shop.orders): lost: ")


def test_a_topic_that_is_gone_is_told(config: MirrorConfig, catalog: Catalog) -> None:
    create_table(catalog, "shop.orders", offsets={0: 7})

    (status,) = statuses(config, held())

    assert (status.waiting, status.lost, status.rows) == (None, None, 3)
    assert "no such topic" in (status.ended or "")


def test_a_topic_that_the_config_left_out_is_told(config: MirrorConfig, catalog: Catalog) -> None:
    create_table(catalog, "shop.old", topic="srv.old.orders", offsets={0: 7})

    (status,) = statuses(config, held({0: OffsetRange(0, 9)}, topic="srv.old.orders"))

    assert "source.topics" in (status.ended or "")


def test_a_topic_without_a_table_is_shown_as_soon_as_it_holds_records(config: MirrorConfig) -> None:
    (status,) = statuses(config, held({0: OffsetRange(2, 9)}, {(0, 2): 60}))

    assert (status.table, status.waiting, status.behind_seconds) == (None, 7, 60)
    assert statuses(config, held({0: OffsetRange(9, 9)})) == ()


def test_a_table_that_the_source_dropped_is_told(config: MirrorConfig, catalog: Catalog) -> None:
    dropped = {DROPPED_PROPERTY: str(Moment(SINCE, 5, 6))}
    create_table(catalog, "shop.orders", offsets={0: 7}, properties=dropped)
    create_table(catalog, "shop.again", offsets={0: 7}, properties={DROPPED_PROPERTY: ""})

    again, gone = statuses(config, held({0: OffsetRange(0, 7)}))

    assert (again.dropped, gone.dropped) == (None, SINCE)
    assert text_of(gone)[-1].startswith(f"{TOPIC} (shop.orders): dropped at the source since")
    assert MirrorStatus("shop", "", (gone,)).exit_code == 0


def test_a_topic_that_its_table_left_is_shown_only_when_more_has_come(config: MirrorConfig) -> None:
    left = {TOPIC: LeftTopic(TOPIC, {0: 7}, (), SINCE, "srv.public.new")}

    nothing = statuses(config, held({0: OffsetRange(0, 7)}), retired=left)
    (more,) = statuses(config, held({0: OffsetRange(0, 9)}), retired=left)

    assert nothing == ()
    assert more.waiting == 2


def test_a_parked_table_is_told_with_its_reason(config: MirrorConfig, catalog: Catalog) -> None:
    create_table(catalog, "shop.orders", offsets={0: 7})
    word = ParkedTable(TOPIC, "shop.orders", "no way", SINCE, {0: 7})

    (status,) = statuses(config, held({0: OffsetRange(0, 9)}), (word,))

    assert (status.parked, status.parked_since) == ("no way", SINCE)
    note = text_of(status)[-1]
    assert note.startswith(f"{TOPIC} (shop.orders): parked: no way")
    assert "0:7" in note
    assert MirrorStatus("shop", "", (status,)).exit_code == 1


def test_a_table_that_went_on_since_is_not_parked(config: MirrorConfig, catalog: Catalog) -> None:
    create_table(catalog, "shop.orders", offsets={0: 8})
    word = ParkedTable(TOPIC, "shop.orders", "no way", SINCE, {0: 7})

    (status,) = statuses(config, held({0: OffsetRange(0, 9)}), (word,))

    assert status.parked is None
    assert MirrorStatus("shop", "", (status,)).exit_code == 0


def test_a_topic_that_is_parked_as_a_whole_is_told_with_and_without_a_table(
    config: MirrorConfig, catalog: Catalog
) -> None:
    create_table(catalog, "shop.orders", offsets={0: 7})
    words = (ParkedTable(TOPIC, None, "a", SINCE), ParkedTable("srv.public.x", None, "b", SINCE))

    found = statuses(config, held({0: OffsetRange(0, 9)}), words)

    assert [(s.table, s.parked) for s in found] == [("shop.orders", "a"), (None, "b")]


def test_a_parked_topic_that_the_config_left_out_is_not_told(config: MirrorConfig) -> None:
    word = ParkedTable("srv.old.orders", None, "no Debezium change", SINCE)

    assert statuses(config, held(), (word,)) == ()


def test_word_of_parked_tables_is_read_as_it_was_written() -> None:
    words = (
        ParkedTable(TOPIC, "shop.orders", 'a "reason"', SINCE, {0: 7, 12: 1}),
        ParkedTable(TOPIC, None, "b", SINCE),
    )

    assert read_parked(parked_property(words)) == words
    assert read_parked({}) == ()


def test_records_in_quarantine_are_counted_for_their_table(
    config: MirrorConfig, catalog: Catalog
) -> None:
    create_table(catalog, "shop.orders")
    create_table(catalog, "shop.log")
    two = [(TOPIC, "shop.orders")] * 2
    quarantine = create_quarantine(catalog, *two, ("srv.public.x", "shop.x"))

    found = statuses(config, held({}), (), count_quarantined(quarantine))

    assert [(s.table, s.quarantined) for s in found] == [("shop.log", 0), ("shop.orders", 2)]


def test_the_ledger_is_that_of_the_newest_snapshot_that_has_one(catalog: Catalog) -> None:
    table = create_table(catalog, "shop.orders", offsets={0: 7})
    mirrored = table.current_snapshot()
    table.append(ROWS)  # somebody else

    found = ledger_without_spark(table)

    assert mirrored is not None
    assert found == FoundLedger(ledger_of(TOPIC, {0: 7}), mirrored.timestamp_ms)


@pytest.mark.parametrize("sequence", [None, "0"])
def test_a_ledger_whose_snapshot_has_expired_is_kept_as_a_property(
    catalog: Catalog, sequence: str | None
) -> None:
    kept = {LEDGER_PROPERTY: ledger_of(TOPIC, {0: 7}).to_json()}
    kept |= {SEQUENCE_PROPERTY: sequence} if sequence is not None else {}
    table = create_table(catalog, "shop.orders", properties=kept)
    table.append(ROWS)

    assert ledger_without_spark(table) == FoundLedger(ledger_of(TOPIC, {0: 7}))


def test_a_table_set_back_to_where_no_ledger_is_left_is_lost(
    config: MirrorConfig, catalog: Catalog
) -> None:
    kept = {LEDGER_PROPERTY: ledger_of(TOPIC, {0: 7}).to_json(), SEQUENCE_PROPERTY: "1"}
    table = create_table(catalog, "shop.orders", properties=kept)
    table.append(ROWS)

    with pytest.raises(LostLedgerError):
        ledger_without_spark(table)
    (status,) = statuses(config, held({0: OffsetRange(0, 9)}))
    assert "rolled back" in (status.lost or "")


def test_the_last_line_sums_up() -> None:
    first = TableStatus(topic="a", table="s.a", waiting=3, behind_seconds=7200, rows=1000)
    second = TableStatus(topic="b", table="s.b", waiting=4, rows=234, equality_deletes=5)
    third = TableStatus(topic="c", waiting=10, parked="no way", parked_since=SINCE)

    head, *rows, total, note = text_of(first, second, third)

    assert head.split()[:5] == ["topic", "table", "mode", "waiting", "behind"]
    assert len(rows) == 3
    assert rows[1].split()[-4] == "≤234"
    assert " ".join(total.split()).startswith("total 2 tables, 1 parked - 17 2.0 h")
    assert "≤1,234" in total
    assert note.startswith("c: parked: no way")


def test_a_status_is_readable_by_machines() -> None:
    table = TableStatus(topic="a", table="s.a", waiting=3, offsets={0: 7}, rows=5)

    found = json.loads(json.dumps(MirrorStatus("shop", SINCE, (table,)).as_json()))

    assert (found["mirror"], found["time"], found["parked"]) == ("shop", SINCE, 0)
    assert (found["tables"][0]["waiting"], found["tables"][0]["offsets"]) == (3, {"0": 7})
    assert (found["total"]["waiting"], found["total"]["rows"]) == (3, 5)


def file_of(tmp_path: Path) -> str:
    file = tmp_path / "shop.toml"
    file.write_text(CONFIG)
    return str(file)


def changed_table(catalog: Catalog) -> None:
    table = create_table(catalog, "shop.orders")
    with table.update_schema() as update:
        update.add_column("note", StringType())
    place = SchemaPlace(1, 42, 900, 1_769_853_600_000_000)
    added = SchemaEvent(
        "add_column",
        "note",
        place,
        text="ADD COLUMN note string",
        when=SINCE,
        old_schema=0,
        new_schema=1,
    )
    log = log_property([created(SchemaPlace(0, 0), SINCE), added])
    with table.transaction() as transaction:
        transaction.set_properties(log)


def test_the_changes_of_columns_are_told_without_kafka(catalog: Catalog, tmp_path: Path) -> None:
    changed_table(catalog)

    result = CliRunner().invoke(cli, ["status", file_of(tmp_path), "--schema"])

    first, create, add = result.stdout.splitlines()
    assert (result.exit_code, first) == (0, f"shop.orders ({TOPIC})")
    assert " ".join(create.split()) == f"{SINCE} partition 0 offset 0 schema 0 CREATE TABLE"
    place = "partition 1 offset 42 position 900 schema 0 → 1"
    assert " ".join(add.split()) == f"{SINCE} {place} ADD COLUMN note string"


def test_the_columns_before_and_after_a_change_are_readable_by_machines(
    catalog: Catalog, tmp_path: Path
) -> None:
    changed_table(catalog)

    result = CliRunner().invoke(cli, ["status", file_of(tmp_path), "--schema", "--output", "json"])

    (table,) = json.loads(result.stdout)["tables"]
    create, add = table["changes"]
    assert (create["old_schema"], create["position"], create["source_time"]) == (None, None, None)
    assert [c["name"] for c in create["new_schema"]["columns"]] == ["id"]
    assert add["source_time"] == "2026-01-31T10:00:00+00:00"
    assert add["old_schema"] == create["new_schema"]
    assert add["new_schema"]["columns"][1] == {
        "id": 2,
        "name": "note",
        "type": "string",
        "required": False,
    }


def test_kafka_that_does_not_answer_is_told(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    Path(file).write_text(CONFIG.replace("localhost:9", "127.0.0.1:1"))

    result = CliRunner().invoke(cli, ["status", file])

    assert (result.exit_code, result.stdout) == (1, "")
    assert "127.0.0.1:1" in result.stderr
    assert not (tmp_path / "mirror").exists()


def test_status_loads_no_spark() -> None:
    code = "import sys, cdc.commands.status; print('pyspark' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
