"""`check` tells what `run` would do with each table of a topic."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog, load_catalog

from cdc.commands.table_plans import TablePlan, TablePlanner, plan_lines
from cdc.config.load import parse_config
from cdc.config.table_rules import ResolvedRule
from cdc.model import PartitionMark
from cdc.runtime.follow.describe import describe, schemas_in, wire_of
from cdc.schema import iceberg_schema, mirror_columns
from cdc.source.topics import OffsetRange, Record
from cdc.state.key import TableKey
from cdc.state.ledger import Ledger
from cdc.state.names import LEDGER_PROPERTY, MIRROR_PROPERTY, TOPIC_PROPERTY
from connectors import DIALECTS
from tests.unit.messages import ORDERS, Message, Table, column, insert, truncate

POSTGRES = DIALECTS["postgres"]
CONFIG = """
name = "shop"
[source]
connector = "postgres"
topics = ["srv.*"]
[kafka]
"bootstrap.servers" = "localhost:9092"
"""
NO_KEY = replace(ORDERS, key=())
SEVERAL = """
[[tables.rules]]
match = "public.orders"
partition = ["bucket(4, id)"]
targets = [
  { table = "{database}.{table}" },
  { table = "{database}.{table}_log", mode = "append", partition = ["day(_mirror_time)"] },
  { table = "{database}.{table}_all", mode = "history", deletes = "equality", partition = [] },
  { table = "{database}.{table}_kept", on_delete = "soft", lookup = "merge" },
]
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    folder = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
    catalog = load_catalog("shop", type="sql", **folder)
    catalog.create_namespace("shop")
    return catalog


def row(table: Table = ORDERS) -> Message:
    return insert({"id": 1, "name": "a"}, table=table)


def record(message: Message) -> Record:
    m = message
    return Record(m.topic, m.partition, m.offset, m.key, m.value)


def planner(rules: str = "", catalog: Catalog | None = None) -> TablePlanner:
    return TablePlanner(
        parse_config((CONFIG + rules).encode(), Path("/shop.toml")), POSTGRES, catalog
    )


def plans(
    rules: str = "", message: Message | None = None, catalog: Catalog | None = None, held: int = 10
) -> list[TablePlan]:
    sample = record(message or row())
    return list(planner(rules, catalog).plans(sample, {0: OffsetRange(0, held)}))


def create(
    catalog: Catalog, rule: ResolvedRule | None = None, properties: Mapping[str, str] | None = None
) -> Any:
    """Make the table of ORDERS as `run` does."""
    wire = wire_of(parse_config(CONFIG.encode(), Path("/shop.toml")))
    schema = describe(record(row()), POSTGRES, wire).schemas[0]
    columns = mirror_columns(schema, "public.orders", POSTGRES, rule)
    owner = {
        MIRROR_PROPERTY: "shop",
        TOPIC_PROPERTY: ORDERS.topic,
        **dict(TableKey(tuple(c.name for c in columns if c.key)).properties),
    }
    made = {**owner, **(properties or {})}
    return catalog.create_table("shop.orders", iceberg_schema(columns, rule), properties=made)


@pytest.mark.parametrize("exists", [False, True])
def test_a_table_in_the_folder_of_another_mirrors_table_would_be_parked(
    catalog: Catalog, tmp_path: Path, exists: bool
) -> None:
    other = load_catalog("other", **catalog.properties)
    other.create_namespace("shop")
    create(other)
    if exists:
        create(catalog)

    (plan,) = plans(f'[catalog]\nwarehouse = "{tmp_path}"', catalog=catalog)

    assert not plan.ok
    assert plan.action.startswith("park: The table shop.orders and one of the mirror other")


def test_a_table_of_another_mirror_in_another_folder_is_no_matter(
    catalog: Catalog, tmp_path: Path
) -> None:
    other = load_catalog("other", **catalog.properties)
    other.create_namespace("shop")
    create(other)

    (plan,) = plans(f'[catalog]\nwarehouse = "{tmp_path}/own"', catalog=catalog)

    assert (plan.ok, plan.action) == (True, "create")


def test_a_topic_of_one_table_is_one_line() -> None:
    (plan,) = plans()

    assert (plan.table, plan.action, plan.mode, plan.key) == (
        "shop.orders",
        "create",
        "mirror",
        ("id",),
    )
    assert (plan.deletes, plan.lookup, plan.columns, plan.waiting) == ("positional", "index", 2, 10)
    assert plan.ok


def test_every_target_of_a_topic_is_a_line_with_what_holds_for_it() -> None:
    found = plans(SEVERAL)

    cells = [plan.cells[1:-1] for plan in found]
    assert cells == [
        ("shop.orders", "create", "mirror", "positional", "id", "bucket(4, id)", "2"),
        ("shop.orders_log", "create", "append", "", "no key", "day(_mirror_time)", "7"),
        ("shop.orders_all", "create", "history", "equality", "id", "", "5"),
        (
            "shop.orders_kept",
            "create",
            "mirror (soft)",
            "positional (merge)",
            "id",
            "bucket(4, id)",
            "3",
        ),
    ]


def test_a_wrong_partition_field_parks_its_target_alone() -> None:
    found = plans(SEVERAL.replace("day(_mirror_time)", "day(nam)"))

    assert [plan.ok for plan in found] == [True, False, True, True]
    assert "there is no column nam; did you mean name?" in found[1].action
    assert found[1].action.startswith("park: ")


def test_an_unknown_key_parks_the_tables_that_need_one() -> None:
    found = plans(SEVERAL.replace("partition =", 'key = ["nr"]\npartition =', 1))

    assert [(plan.mode, plan.ok) for plan in found] == [
        ("mirror", False),
        ("append", True),
        ("history", False),
        ("mirror", False),
    ]
    assert "nr" in found[0].action


def test_without_a_key_only_a_log_is_possible() -> None:
    found = plans(SEVERAL, row(NO_KEY))

    assert [plan.ok for plan in found] == [False, True, False, False]


def test_a_key_from_the_config_is_shown() -> None:
    (plan,) = plans('[[tables.rules]]\nmatch = "*.*"\nkey = ["name", "id"]', row(NO_KEY))

    assert (plan.key, plan.ok) == (("name", "id"), True)


def test_a_key_of_the_config_needs_a_topic_of_one_partition() -> None:
    rules = SEVERAL.replace("partition =", 'key = ["name", "id"]\npartition =', 1)
    two = {0: OffsetRange(0, 1), 1: OffsetRange(0, 1)}

    found = list(planner(rules).plans(record(row(NO_KEY)), two))

    assert [plan.ok for plan in found] == [False, True, False, False]
    assert "Topic srv.public.orders has several partitions" in found[0].action
    assert all(plan.ok for plan in plans(rules, row(NO_KEY)))


def test_a_topic_that_cannot_be_read_is_one_line_without_a_table() -> None:
    (plan,) = plans(SEVERAL, replace(row(), value=b'{"no": "change"}'))

    assert (plan.table, plan.ok) == ("", False)
    (line,) = [line for line in plan_lines([plan]) if line.startswith(ORDERS.topic)]
    assert line.startswith(f"{ORDERS.topic}: park: ")


def test_parked_targets_are_named_below_the_others() -> None:
    lines = list(plan_lines(plans(SEVERAL.replace("day(_mirror_time)", "day(nam)"))))

    assert lines[0].split() == [
        "topic",
        "table",
        "plan",
        "mode",
        "deletes",
        "key",
        "partition",
        "columns",
        "waiting",
    ]
    assert len(lines) == 5
    assert lines[-1].startswith(f"{ORDERS.topic} (shop.orders_log): park: ")


def test_two_topics_with_one_table_are_told() -> None:
    whole = planner('[target]\ntable = "shop.{table}"')
    ranges = {0: OffsetRange(0, 1)}

    (first,) = whole.plans(record(row()), ranges)
    (second,) = whole.plans(record(row(replace(ORDERS, schema="old"))), ranges)

    assert (first.ok, second.ok) == (True, False)
    assert ORDERS.topic in second.action


def test_a_table_that_exists_goes_on_where_its_ledger_stands(catalog: Catalog) -> None:
    ledger = Ledger("shop", ORDERS.topic, 0, {0: PartitionMark(7)})
    create(catalog, properties={LEDGER_PROPERTY: ledger.to_json()})

    (plan,) = plans(catalog=catalog)

    assert (plan.action, plan.waiting) == ("go on", 3)


WIDER = replace(ORDERS, columns=(*ORDERS.columns, column("size", "int64")))


@pytest.mark.parametrize(
    ("last", "action", "ok"),
    [
        ([ORDERS, ORDERS], "go on", True),
        ([ORDERS, WIDER], "ADD COLUMN size long AFTER name", True),
        ([WIDER, WIDER], "ADD COLUMN size long AFTER name", True),
        ([ORDERS, replace(ORDERS, key=("name",))], "SET KEY (name)", True),
        ([], "go on", True),
    ],
    ids=["same", "one differs", "all differ", "key", "none"],
)
def test_the_last_records_tell_what_is_still_to_do(
    catalog: Catalog, last: list[Table], action: str, ok: bool
) -> None:
    create(catalog)
    ranges = {number: OffsetRange(0, 10) for number in range(2)}
    rows = [
        insert({"id": 1, "name": "a"}, table=table, partition=number, offset=9, lsn=100 + number)
        for number, table in enumerate(last)
    ]

    (plan,) = planner(catalog=catalog).plans(record(row()), ranges, [record(m) for m in rows])

    assert (plan.ok, action in plan.action) == (ok, True), plan.action


def test_a_key_that_all_records_have_and_the_table_has_not_is_told(catalog: Catalog) -> None:
    create(catalog)
    other = record(row(replace(ORDERS, key=("name",))))

    (plan,) = planner(catalog=catalog).plans(other, {0: OffsetRange(0, 1)}, [other])

    assert (plan.ok, "SET KEY (name)" in plan.action) == (True, True)


@pytest.mark.parametrize(
    "text",
    [b'{"id":1,"payload":2}', b'{"schema":"a","payload":2}', b"garbage", b'{"schema":{"a":1}}'],
)
def test_a_record_without_a_schema_does_not_tell_which_it_has(text: bytes) -> None:
    assert schemas_in(Record("t", 0, 0, None, text)) is None
    assert schemas_in(Record("t", 0, 0, text, row().value)) is None


def test_an_avro_record_tells_its_schemas_by_their_ids() -> None:
    one, other = (Record("t", 0, 0, None, b"\0\0\0\0" + end) for end in (b"\1abc", b"\1xyz"))

    assert schemas_in(one) == schemas_in(other) == (b"", b"\0\0\0\0\1")
    assert schemas_in(one) != schemas_in(Record("t", 0, 0, None, b"\0\0\0\0\2abc"))


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ('[tables.defaults]\nmode = "history"', "made for mirror, and the config now says history"),
        ('[tables.defaults]\nmode = "append"', "made for mirror, and the config now says append"),
        ('[tables.defaults]\non_delete = "soft"', "config now says mirror (soft)"),
        ('[[tables.rules]]\nmatch = "*.*"\nkey = ["name"]', "its key from (id) to (name)"),
        ('[[tables.rules]]\nmatch = "*.*"\npartition = ["hour(id)"]', "hour(id)"),
        ('[[tables.rules]]\nmatch = "*.*"\nexclude = ["name"]', "excluded: name"),
    ],
    ids=["history", "append", "soft", "key", "partition", "exclude"],
)
def test_a_config_that_no_longer_fits_its_table_is_told(
    catalog: Catalog, rules: str, reason: str
) -> None:
    create(catalog)

    (plan,) = plans(rules, catalog=catalog)

    assert not plan.ok
    assert reason in plan.action


def test_a_table_of_somebody_else_is_told(catalog: Catalog) -> None:
    create(catalog, properties={TOPIC_PROPERTY: "srv.public.other"})

    (plan,) = plans(catalog=catalog)

    assert not plan.ok
    assert "srv.public.other" in plan.action


def test_a_topic_that_begins_with_a_truncate_can_be_checked() -> None:
    (plan,) = plans(message=truncate())

    assert (plan.action, plan.ok) == ("nothing to read yet", True)


def test_check_loads_no_spark() -> None:
    code = "import sys, cdc.commands.check; print('pyspark' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
