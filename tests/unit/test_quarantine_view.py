"""What is in quarantine, told without Spark: groups, single records, and what can be replayed."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from cdc.cli import cli
from cdc.commands.quarantine_view import Chosen, QuarantineView
from cdc.errors import CatalogError
from cdc.model import OFFSET
from cdc.observe.quarantine_pages import (
    GroupPage,
    QuarantinedGroup,
    QuarantinedRecord,
    RecordPage,
    readable,
)
from cdc.observe.replay_report import ReplayReport, TableReplay, staying
from cdc.schema import quarantine_schema
from cdc.state.names import QUARANTINE

CONFIG = """
name = "shop"
[source]
connector = "postgres"
topics = ["shop.public.*"]
[kafka]
"bootstrap.servers" = "localhost:9"
"""
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def record(offset: int, reason: str = "it is not JSON", **more: Any) -> dict[str, Any]:
    row = {
        "table": "shop.orders",
        "topic": "shop.public.orders",
        "partition": 0,
        "offset": offset,
        "key": b'{"id":1}',
        "value": b"garbage",
        "reason": reason,
        "schema_id": None,
        "time": NOON.replace(minute=offset % 60),
    }
    return row | more


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "shop.toml"
    path.write_text(CONFIG)
    (tmp_path / "mirror").mkdir()
    return path


@pytest.fixture
def catalog(config: Path) -> Catalog:
    folder = config.parent / "mirror"
    found = load_catalog(
        "shop",
        type="sql",
        uri=f"sqlite:///{folder}/catalog.db",
        warehouse=f"file://{folder}/warehouse",
    )
    found.create_namespace("shop")
    return found


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Kafka answers here, and a test need not wait for it as long as a person would."""
    monkeypatch.setattr("cdc.source.topics.ANSWER_SECONDS", 0.3)


def keep(catalog: Catalog, *rows: dict[str, Any]) -> None:
    schema = quarantine_schema()
    table = catalog.create_table(("shop", QUARANTINE), schema)
    table.append(pa.Table.from_pylist(list(rows), schema=schema.as_arrow()))


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["quarantine", *arguments])


def shown(*arguments: str) -> Any:
    result = invoke(*arguments, "--output", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_records_of_one_cause_are_one_group(catalog: Catalog, config: Path) -> None:
    keep(
        catalog,
        record(5, "its payload is not JSON: it begins with b'x'"),
        record(3, "its payload is not JSON: it begins with b'y\\'z'"),
        record(4, "its price does not fit decimal128(5, 2)"),
        record(9, "its payload is not JSON: it begins with b''", table="shop.log"),
    )

    groups = shown("list", str(config))

    assert [(g["table"], g["records"]) for g in groups] == [
        ("shop.orders", 2),
        ("shop.log", 1),
        ("shop.orders", 1),
    ]
    assert groups[0]["reason"] == "its payload is not JSON: it begins with b'y\\'z'"
    assert groups[0]["first"] == {"partition": 0, "offset": 3}
    assert groups[0]["last"] == {"partition": 0, "offset": 5}
    assert groups[0]["first_time"] == "2026-01-02T12:03:00+00:00"
    assert groups[0]["last_time"] == "2026-01-02T12:05:00+00:00"


def test_a_table_can_be_chosen(catalog: Catalog, config: Path) -> None:
    keep(catalog, record(5), record(9, table="shop.log"))

    (group,) = shown("list", str(config), "--table", "shop.log")

    assert (group["table"], group["records"]) == ("shop.log", 1)


def test_nobody_knows_what_can_be_replayed_while_kafka_is_away(
    catalog: Catalog, config: Path
) -> None:
    catalog.create_table(("shop", "log"), Schema(NestedField(1, OFFSET, LongType(), True)))
    keep(catalog, record(5), record(9, table="shop.log"))

    groups = shown("list", str(config))

    assert {g["table"]: g["replayable"] for g in groups} == {"shop.orders": None, "shop.log": 1}


def test_nothing_in_quarantine_is_said_so(config: Path) -> None:
    assert invoke("list", str(config)).stdout == "nothing is in quarantine\n"
    assert invoke("show", str(config)).stdout == "nothing is in quarantine\n"
    assert shown("list", str(config)) == []


def test_single_records_are_shown_in_their_order_and_not_too_many(
    catalog: Catalog, config: Path
) -> None:
    keep(catalog, *(record(n) for n in (7, 3, 5)), record(4, partition=1), record(3, topic="other"))

    records = shown("show", str(config), "--topic", "shop.public.orders", "--limit", "3")

    assert [(r["partition"], r["offset"]) for r in records] == [(0, 3), (0, 5), (0, 7)]
    assert (records[0]["key"], records[0]["value"]) == ('{"id":1}', "garbage")
    (one,) = shown("show", str(config), "--partition", "1", "--offset", "4")
    assert (one["partition"], one["offset"]) == (1, 4)


def test_bytes_that_are_no_text_are_shown_in_hexadecimal_digits(
    catalog: Catalog, config: Path
) -> None:
    keep(catalog, record(1, key=None, value=b"\x00\x00\x00\x00\x07ab", schema_id=7))

    (one,) = shown("show", str(config))
    text = invoke("show", str(config)).stdout

    assert (one["key"], one["value"], one["schema_id"]) == (None, "0x00000000076162", 7)
    assert "schema_id=7" in text
    assert "0x00000000076162" in text


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"{}", "{}"), ("é".encode(), "é"), (b"\xff", "0xff"), (b"a\x00b", "0x610062"), (b"", "")],
)
def test_text_stays_text(content: bytes, text: str) -> None:
    assert readable(content) == text


def test_control_characters_do_not_reach_the_terminal() -> None:
    kept = QuarantinedRecord("t", "t", 0, 1, "bad \x1b[31m", None, NOON, b"\x1b[2J", None)

    assert "\x1b" not in "".join(RecordPage([kept]).lines())


@pytest.mark.parametrize(
    ("replayable", "told"),
    [(None, "unknown"), (10, "replay=yes"), (0, "replay=no"), (3, "replay=3 of 10")],
)
def test_what_can_be_replayed_is_told(replayable: int | None, told: str) -> None:
    group = QuarantinedGroup("shop.orders", "t", "bad", 10, (0, 1), (0, 9), NOON, NOON, replayable)

    assert told in next(GroupPage([group]).lines())


def test_a_quarantine_of_an_earlier_version_is_read(catalog: Catalog, config: Path) -> None:
    old = Schema(*(c for c in quarantine_schema().fields if c.name != "table"))
    row = record(1)
    del row["table"]
    table = catalog.create_table(("shop", QUARANTINE), old)
    table.append(pa.Table.from_pylist([row], schema=table.schema().as_arrow()))

    (group,) = shown("list", str(config))

    assert (group["table"], group["records"]) == (None, 1)
    assert shown("list", str(config), "--table", "shop.orders") == []


def test_a_catalog_that_is_no_catalog_is_told(config: Path) -> None:
    (config.parent / "mirror" / "catalog.db").write_text("no database")

    result = invoke("list", str(config))

    assert (result.exit_code, result.stdout) == (1, "")
    assert "[catalog]" in result.stderr


def test_a_kind_of_catalog_that_pyiceberg_lacks_is_told(tmp_path: Path) -> None:
    from cdc.config.load import parse_config

    text = CONFIG + '[catalog]\ntype = "hadoop"\nwarehouse = "w"\n'

    with pytest.raises(CatalogError):
        QuarantineView(parse_config(text.encode(), tmp_path / "shop.toml")).groups(Chosen())


def test_nothing_is_dropped_without_a_yes(catalog: Catalog, config: Path) -> None:
    keep(catalog, record(1))

    result = invoke("drop", str(config))

    assert (result.exit_code, result.stdout) == (2, "")
    assert "--yes" in result.stderr
    assert len(shown("list", str(config))) == 1


def test_somebody_who_can_be_asked_is_asked_and_may_say_no(
    catalog: Catalog, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(catalog, record(1), record(2), record(3, topic="other"))
    monkeypatch.setattr(sys.modules["cdc.cli.quarantine"], "interactive", lambda: True)

    arguments = ["quarantine", "drop", str(config), "--topic", "shop.public.orders"]
    result = CliRunner().invoke(cli, arguments, input="n\n")

    assert result.exit_code == 1
    assert "Remove 2 records for good?" in result.stdout
    assert sum(group["records"] for group in shown("list", str(config))) == 3


@pytest.mark.parametrize("command", ["list", "show", "replay", "drop"])
def test_a_wrong_config_or_option_is_wrong_usage(command: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(CONFIG.replace("postgres", "postgre"))

    assert invoke(command).exit_code == 2
    assert invoke(command, str(wrong), *(["--yes"] if command == "drop" else [])).exit_code == 2
    assert invoke(command, str(wrong), "--offset", "-1").exit_code == 2
    assert invoke(command, "--help").stdout.startswith("Usage:")


def test_a_replay_without_kafka_is_told_at_once(config: Path) -> None:
    result = invoke("replay", str(config))

    assert (result.exit_code, result.stdout) == (1, "")
    assert "Kafka at localhost:9" in result.stderr


def test_a_replay_tells_what_it_did_and_what_stays() -> None:
    stays = staying({(0, 7): "bad", (0, 3): "bad", (1, 1): "worse"})
    done = TableReplay("shop.orders", "t", 12, applied=5, superseded=3, there=1, stays=stays)
    gone = TableReplay("shop.log", "t2", 4, failure="It is gone.")

    report = ReplayReport((done, gone))

    assert list(report.lines()) == [
        "shop.orders  applied=5  superseded=3  already there=1  stays=3",
        "    2 from 0:3 on: bad",
        "    1 from 1:1 on: worse",
        "shop.log  applied=0  superseded=0  stays=4",
        "    It is gone.",
    ]
    assert (report.exit_code, report.as_json()["ok"]) == (1, False)


def test_a_replay_of_nothing_is_said_so() -> None:
    assert list(ReplayReport(()).lines()) == ["nothing is in quarantine"]
    assert ReplayReport(()).exit_code == 0
    assert "would apply=2" in next(ReplayReport((TableReplay("t", "t", 2, 2),), True).lines())
