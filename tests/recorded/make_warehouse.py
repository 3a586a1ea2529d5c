"""Make the recorded warehouse: `python -m tests.recorded.make_warehouse`.

A real PostgreSQL is mirrored through Debezium and Kafka by the code of this very checkout, in six
runs. What they leave is kept, and so is every record that Kafka has in the end: those that the
runs have applied, and those that came later. See the README beside it for what is in there, and
for the commit whose code made it.
"""

import base64
import copy
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from cdc.demo.postgres_rows import read_rows
from tests.chaos.mirror import PROGRAM, environment
from tests.integration.databases import PostgresSource, Topics
from tests.integration.stack import Stack, open_stack
from tests.patience import PATIENCE_SECONDS
from tests.recorded.restore import CONFIG, RECORDED, ROOT, SERVERS, pack, relocate
from tests.recorded.rows import Row, as_json, sorted_rows

NAME = "recorded"
BARE = "recorded_bare"  # the connector whose messages carry no schema, and its schema
MARKS = "marks"  # a table whose last row comes after all else
QUIET_SECONDS = 3.0

# A run that ends before it gives old rows the default of a new column, and commits nothing.
DYING = """
import os, signal
from cdc.cli import main
from cdc.runtime.table_rows import TableRows

def fill_defaults(self, mirrored):
    if mirrored.backfill:
        os.kill(os.getpid(), signal.SIGKILL)

TableRows.fill_defaults = fill_defaults
main()
"""

CONFIG_TEXT = """\
name = "recorded"

[source]
connector = "postgres"
topics = ["recorded.public.*", "recorded_bare.bare.*"]
{url}
[kafka]
"bootstrap.servers" = "{servers}"

[catalog]
uri = "sqlite:///warehouse/catalog.db"
warehouse = "warehouse/tables"

[target]
table = "{{server}}.{{table}}"

[stream]
trigger = "1 second"
checkpoint = "checkpoint"

[spark]
master = "local[2]"

[[tables.rules]]
match = "public.orders"
targets = [
  {{ table = "{{server}}.{{table}}", partition = ["day(created_at)"] }},
  {{ table = "{{server}}.{{table}}_log", mode = "append", partition = ["day(_mirror_time)"] }},
  {{ table = "{{server}}.{{table}}_history", mode = "history" }},
]

[[tables.rules]]
match = "public.items"
deletes = "equality"

[[tables.rules]]
match = "public.stock"
lookup = "merge"

[[tables.rules]]
match = "public.clients"
on_delete = "soft"

[[tables.rules]]
match = "public.events"
partition = ["kind"]

[[tables.rules]]
match = "public.gone"
schema_policies = {{ drop_table = "evolve" }}

[[tables.rules]]
match = "public.stale"
schema_policies = {{ drop_table = "ignore" }}
{waiting}"""
# Only while the warehouse is made: without it the table that is parked for it goes on.
WAITING = """
[[tables.rules]]
match = "public.waiting"
schema_policies = { add_column = "fail" }
"""

PLAIN = (
    *("items", "stock", "clients", "audit", "lanes", "wide", "pending"),
    *("again", "stale", "gone"),
)
TABLES = (
    """CREATE TABLE orders (id int PRIMARY KEY, customer text, amount numeric(10,2),
        created_at timestamptz)""",
    "ALTER TABLE orders REPLICA IDENTITY FULL",
    """INSERT INTO orders SELECT g, 'customer ' || g, g * 1.25,
        timestamptz '2026-01-01 12:00:00Z' + (g % 2) * interval '1 day'
        FROM generate_series(1, 8) g""",
    "CREATE TABLE events (id int PRIMARY KEY, kind text, at timestamp)",
    """INSERT INTO events SELECT g, (ARRAY['click', 'view'])[1 + g % 2],
        timestamp '2026-01-01 00:00:00' + g * interval '1 minute' FROM generate_series(1, 6) g""",
    """CREATE TABLE products (id int PRIMARY KEY, name text, stock int, price numeric(5,2),
        old_note text)""",
    "INSERT INTO products SELECT g, 'product ' || g, g, g, 'x' FROM generate_series(1, 6) g",
    "CREATE TABLE accounts (id int PRIMARY KEY, code text NOT NULL, note text)",
    "INSERT INTO accounts SELECT g, 'code ' || g, 'first' FROM generate_series(1, 6) g",
    "CREATE TABLE moments (id int PRIMARY KEY, at timestamp)",
    """INSERT INTO moments SELECT g, timestamp '2026-01-01 00:00:00' + g * interval '1 hour'
        FROM generate_series(1, 6) g""",
    "CREATE TABLE typed (id int PRIMARY KEY, v text)",
    "INSERT INTO typed SELECT g, g::text FROM generate_series(1, 5) g",
    "CREATE TABLE waiting (id int PRIMARY KEY, v text)",
    "INSERT INTO waiting SELECT g, 'first' FROM generate_series(1, 5) g",
    "CREATE TABLE people (id int PRIMARY KEY, v text)",
    "INSERT INTO people SELECT g, 'first' FROM generate_series(1, 5) g",
    "CREATE TABLE left_alone (id int PRIMARY KEY, v text)",
    "INSERT INTO left_alone SELECT g, 'first' FROM generate_series(1, 5) g",
    f"CREATE TABLE {MARKS} (id int PRIMARY KEY)",
    "CREATE SCHEMA bare",
    """CREATE TABLE bare.plain (id int PRIMARY KEY, v text, n int, ok boolean, ratio float8)""",
    """INSERT INTO bare.plain SELECT g, 'first', g, g % 2 = 0, g / 4.0
        FROM generate_series(1, 5) g""",
)


def create(table: str) -> tuple[str, str]:
    """Make a table of a plain form, and fill it."""
    return (
        f"CREATE TABLE {table} (id int PRIMARY KEY, v text)",
        f"INSERT INTO {table} SELECT g, 'first' FROM generate_series(1, 8) g",
    )


def change(table: str, updated: int, deleted: int, inserted: int, text: str) -> tuple[str, ...]:
    """Change rows of a table of a plain form."""
    return (
        f"UPDATE {table} SET v = '{text}' WHERE id = {updated}",
        f"DELETE FROM {table} WHERE id = {deleted}",
        f"INSERT INTO {table} VALUES ({inserted}, '{text}')",
    )


CHANGES = (
    *(s for table in PLAIN if table != "lanes" for s in change(table, 2, 3, 9, "second")),
    *change("lanes", 2, 1, 9, "second"),
    "UPDATE orders SET amount = 99.99 WHERE id = 2",
    "UPDATE orders SET created_at = created_at + interval '1 day' WHERE id = 3",
    "UPDATE orders SET amount = amount WHERE id = 4",  # no version in the history
    "DELETE FROM orders WHERE id = 5",
    "INSERT INTO orders VALUES (9, 'ninth', 9, '2026-01-01 09:00:00Z')",
    "INSERT INTO orders VALUES (10, 'tenth', 10, '2026-01-02 09:00:00Z')",
    "DELETE FROM orders WHERE id = 10",
    "UPDATE events SET kind = 'view' WHERE id = 2",
    "UPDATE events SET kind = 'click' WHERE id = 3",
    "DELETE FROM events WHERE id = 4",
    "INSERT INTO events VALUES (7, 'click', '2026-01-01 07:00:00')",
    "UPDATE people SET v = 'old name' WHERE id = 2",
    "UPDATE left_alone SET v = 'last' WHERE id = 2",
    "UPDATE products SET stock = 20 WHERE id = 2",
    "UPDATE accounts SET note = 'second' WHERE id = 2",
    "INSERT INTO moments VALUES (7, 'infinity')",
    "UPDATE moments SET at = '-infinity' WHERE id = 2",
    "UPDATE moments SET at = 'infinity' WHERE id = 3",
    "UPDATE bare.plain SET v = 'second', ratio = 0.5 WHERE id = 2",
    "DELETE FROM bare.plain WHERE id = 3",
)
ALTERED = (
    "ALTER TABLE products ADD COLUMN origin text DEFAULT 'here'",
    "ALTER TABLE products RENAME COLUMN name TO title",
    "ALTER TABLE products ALTER COLUMN stock TYPE bigint",
    "ALTER TABLE products ALTER COLUMN price TYPE numeric(9,2)",
    "ALTER TABLE products DROP COLUMN old_note",
    "UPDATE products SET title = 'renamed', stock = 9000000000 WHERE id = 3",
    "DELETE FROM products WHERE id = 4",
    "INSERT INTO products (id, title, price) VALUES (7, 'seventh', 1234567.89)",
    "ALTER TABLE accounts DROP CONSTRAINT accounts_pkey, ADD PRIMARY KEY (code)",
    "UPDATE accounts SET note = 'third' WHERE code = 'code 3'",
    "DELETE FROM accounts WHERE code = 'code 4'",
    "INSERT INTO accounts VALUES (7, 'code 7', 'third')",
    # Keys of another form: they go to other partitions.
    "ALTER TABLE wide ALTER COLUMN id TYPE bigint",
    *change("wide", 4, 5, 9_000_000_000, "third"),
    "ALTER TABLE people RENAME TO persons",
    "UPDATE persons SET v = 'new name' WHERE id = 3",
    "INSERT INTO persons VALUES (6, 'new name')",
    "ALTER TABLE typed ALTER COLUMN v TYPE bytea USING v::bytea",
    "UPDATE typed SET v = 'two' WHERE id = 2",
    "ALTER TABLE waiting ADD COLUMN w int",
    "UPDATE waiting SET w = 2 WHERE id = 2",
    "DROP TABLE gone, left_alone, again, stale",
    "ALTER TABLE bare.plain ADD COLUMN late text DEFAULT 'none'",
    "INSERT INTO bare.plain VALUES (6, 'third', 6, true, 1.5, 'late')",
)
REMADE = (
    "CREATE TABLE again (id int PRIMARY KEY, v text)",
    "INSERT INTO again VALUES (2, 'again'), (3, 'again')",
    "CREATE TABLE stale (id int PRIMARY KEY, v text)",
    "INSERT INTO stale VALUES (2, 'remade'), (20, 'remade')",
    "UPDATE audit SET v = 'before the truncate' WHERE id IN (1, 2, 4)",
    "TRUNCATE audit",
)
# After the last run that commits anything. By their keys, the rows 3 and 10 move when the topic
# gets a second partition, and one column comes with a default.
BEFORE_GROWTH = (
    "UPDATE lanes SET v = 'first partition' WHERE id = 3",
    "INSERT INTO lanes VALUES (10, 'first partition')",
)
UNSEEN = (
    "UPDATE lanes SET v = 'second partition' WHERE id = 3",
    "DELETE FROM lanes WHERE id = 10",
    "UPDATE lanes SET v = 'not moved' WHERE id = 4",
    "ALTER TABLE pending ADD COLUMN w text DEFAULT 'given'",
    "UPDATE pending SET v = 'third' WHERE id = 4",
)
LATER = (
    *change("items", 4, 5, 10, "later"),
    *change("stock", 4, 5, 10, "later"),
    *change("clients", 4, 5, 10, "later"),
    "INSERT INTO clients VALUES (3, 'back')",
    *change("lanes", 4, 5, 10, "later"),
    *change("wide", 2, 4, 10, "later"),
    "INSERT INTO pending VALUES (10, 'later', 'own')",
    "DELETE FROM pending WHERE id = 5",
    "UPDATE again SET v = 'later' WHERE id = 3",
    "INSERT INTO again VALUES (1, 'later')",
    "INSERT INTO stale VALUES (4, 'later')",
    "DELETE FROM stale WHERE id = 20",
    *(f"INSERT INTO audit VALUES ({number}, 'after the truncate')" for number in range(1, 7)),
    "DELETE FROM audit WHERE id = 6",
    "UPDATE orders SET amount = 5, created_at = '2026-01-03 09:00:00Z' WHERE id = 2",
    "UPDATE orders SET customer = NULL WHERE id = 9",
    "DELETE FROM orders WHERE id = 6",
    "INSERT INTO orders VALUES (10, 'tenth again', 10, '2026-01-02 10:00:00Z')",
    "UPDATE events SET kind = 'view' WHERE id = 7",
    "DELETE FROM events WHERE id = 1",
    "INSERT INTO events VALUES (8, 'key', '2026-01-01 08:00:00')",
    "UPDATE products SET title = 'later', origin = 'there' WHERE id = 2",
    "DELETE FROM products WHERE id = 5",
    "ALTER TABLE products ADD COLUMN size int",
    "INSERT INTO products (id, title, size) VALUES (8, 'eighth', 8)",
    "UPDATE accounts SET id = 22 WHERE code = 'code 2'",
    "DELETE FROM accounts WHERE code = 'code 3'",
    "INSERT INTO accounts VALUES (8, 'code 8', 'later')",
    "UPDATE moments SET at = '2026-02-02 02:02:02' WHERE id = 2",
    "INSERT INTO moments VALUES (8, '2026-02-02 02:02:02')",
    "UPDATE typed SET v = 'three' WHERE id = 3",
    "INSERT INTO waiting VALUES (6, 'later', 6)",
    "DELETE FROM waiting WHERE id = 3",
    "DELETE FROM persons WHERE id = 1",
    "UPDATE persons SET v = 'later' WHERE id = 6",
    "INSERT INTO persons VALUES (7, 'later')",
    "UPDATE bare.plain SET n = 40, ratio = 2 WHERE id = 4",
    "INSERT INTO bare.plain VALUES (7, 'later', 7, NULL, 0.75, NULL)",
    "DELETE FROM bare.plain WHERE id = 5",
)


def main() -> None:
    """Make the warehouse, and put it where the old one is."""
    with tempfile.TemporaryDirectory() as folder, open_stack(tell) as stack:
        Recording(stack, Path(folder)).make()


@dataclass(slots=True)
class Recording:
    """One warehouse in the making."""

    stack: Stack
    folder: Path
    source: PostgresSource = field(init=False)
    marks: int = 0

    def make(self) -> None:
        """Play all phases, and keep what they leave."""
        self.source = PostgresSource(self.stack, NAME)
        self._begin()
        self.run()
        self.execute(*CHANGES)
        self.run()
        dropped, stale = self.rows("left_alone"), self.rows("stale")
        typed = self.rows("typed")
        self.execute(*ALTERED)
        self.run(expected=1)  # two tables are parked
        self.execute(*REMADE)
        self.run(expected=1)
        self.run(expected=1)
        self.execute(*BEFORE_GROWTH)
        self._grow("lanes", 2)
        self.execute(*UNSEEN)
        self.run(DYING, expected=-signal.SIGKILL)
        self.execute(*LATER)
        records = read_records(self.stack.kafka.bootstrap_servers)
        expected = {
            **{t: self.rows(t) for t in ("items", "stock", "events", "products", "accounts")},
            **{t: self.rows(t) for t in ("audit", "lanes", "pending", "again", "waiting")},
            **{t: self.rows(t) for t in ("orders", "persons", "wide", MARKS)},
            "typed": typed,
            "left_alone": dropped,
            "stale": _over(stale, self.rows("stale")),
            "moments": self._finite_moments(),
            **from_records(records),
        }
        tables = {f"{NAME}.{table}": rows for table, rows in expected.items()}
        tables[f"{BARE}.plain"] = self.rows("bare.plain")
        self._keep(records, tables)

    def _begin(self) -> None:
        for table in ("audit", "wide"):
            create_topic(self.source.topics.servers, f"{NAME}.public.{table}", 2)
        plain = (statement for table in PLAIN for statement in create(table))
        self.source.execute(*TABLES, *plain)
        self.source.register("public.*")
        register_bare(self.stack, self.source)
        self.execute()

    def execute(self, *statements: str) -> None:
        """Run statements, each in a transaction of its own, and wait until Kafka has all."""
        for statement in statements:
            self.source.execute(statement)
        self.marks += 1
        self.source.execute(f"INSERT INTO {MARKS} VALUES ({self.marks})")
        self.source.wait_for(MARKS, self.marks)
        servers = self.source.topics.servers
        known, since = ends(servers), time.monotonic()
        while time.monotonic() - since < QUIET_SECONDS:
            time.sleep(0.2)
            if (now := ends(servers)) != known:
                known, since = now, time.monotonic()

    def run(self, program: str | None = None, *, expected: int = 0) -> None:
        """Run the mirror until it has read up, or dies."""
        text = CONFIG_TEXT.format(
            url=f'url = "file:{self.folder}/url"\n',
            servers=self.source.topics.servers,
            waiting=WAITING,
        )
        (self.folder / "url").write_text(self.source.endpoint.url)
        (self.folder / CONFIG).write_text(text)
        command = PROGRAM if program is None else (sys.executable, "-c", program)
        tell("mirroring ...")
        with (self.folder / "run.log").open("a") as log:
            process = subprocess.Popen(
                [*command, "run", CONFIG, "--once"],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment(),
                start_new_session=True,
            )
            code = process.wait()
        if code < 0:
            os.killpg(process.pid, signal.SIGKILL)  # its JVM
            time.sleep(1)
        log_text = (self.folder / "run.log").read_text()
        (Path(tempfile.gettempdir()) / "make_warehouse.log").write_text(log_text)
        if code != expected:
            raise RuntimeError(f"ended with {code}:\n{log_text[-5000:]}")

    def rows(self, table: str) -> list[Row]:
        """Read what a table has now."""
        schema, _, name = table.rpartition(".")
        with psycopg.connect(self.source.endpoint.url) as connection:
            return as_json(read_rows(connection, name, schema or "public"))

    def _finite_moments(self) -> list[Row]:
        """Read `moments` as its mirror has it: the row 3 as it was before it became infinite."""
        with psycopg.connect(self.source.endpoint.url) as connection:
            rows = read_rows(connection, "moments")
        finite = rows.filter(pc.invert(pc.is_in(rows["id"], pa.array([3, 7]))))
        first = {"id": 3, "at": datetime(2026, 1, 1, 3).isoformat()}
        return sorted_rows([*as_json(finite), first])

    def _grow(self, table: str, partitions: int) -> None:
        """Give a topic more partitions, and let the connector see them."""
        admin = AdminClient({"bootstrap.servers": self.source.topics.servers})
        topic = f"{NAME}.public.{table}"
        for done in admin.create_partitions([NewPartitions(topic, partitions)]).values():
            done.result(PATIENCE_SECONDS)
        url = f"{self.stack.connect.url}/connectors/{NAME}/restart?includeTasks=true"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(urllib.request.Request(url, method="POST"), timeout=60).close()
        time.sleep(3)

    def _keep(self, records: Sequence["Kept"], tables: Mapping[str, list[Row]]) -> None:
        """Write the recording, in which nothing is of this machine."""
        RECORDED.mkdir(exist_ok=True)
        warehouse = self.folder / "warehouse"
        for scratch in (*warehouse.rglob(".*.crc"), *warehouse.rglob("*.db-journal")):
            scratch.unlink()
        relocate(warehouse, str(self.folder.resolve() / "warehouse"), ROOT)
        for kept in warehouse.rglob("*"):
            if kept.is_file() and self.folder.name.encode() in kept.read_bytes():
                raise RuntimeError(f"{kept} names a folder of this machine")
        pack(warehouse)
        for name, url, waiting in (
            (CONFIG, "", ""),
            ("made_with.toml", 'url = "env:RECORDED_DATABASE_URL"\n', WAITING),
        ):
            text = CONFIG_TEXT.format(url=url, servers=SERVERS, waiting=waiting)
            (RECORDED / name).write_text(text)
        with (RECORDED / "records.jsonl").open("w") as file:
            for record in records:
                file.write(json.dumps(record.line(), separators=(",", ":")) + "\n")
        partitions: dict[str, int] = {}
        for topic, partition in ends(self.source.topics.servers):
            partitions[topic] = max(partitions.get(topic, 0), partition + 1)
        (RECORDED / "topics.json").write_text(json.dumps(partitions, indent=1) + "\n")
        with (RECORDED / "expected.json").open("w") as file:
            lines = []
            for name, rows in sorted(tables.items()):
                listed = ",\n".join(json.dumps(row) for row in rows)
                lines.append(f"{json.dumps(name)}: [\n{listed}\n]")
            file.write("{\n" + ",\n".join(lines) + "\n}\n")


def register_bare(stack: Stack, source: PostgresSource) -> None:
    """Start a second connector, on one schema, whose messages carry no schemas."""
    same = copy.copy(source)
    same.name = BARE
    same.register(
        "bare.*",
        **{
            "database.dbname": NAME,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
        },
    )
    Topics(source.topics.servers).wait_for(f"{BARE}.bare.plain", 5)


@dataclass(frozen=True, slots=True)
class Kept:
    """One record of Kafka."""

    topic: str
    partition: int
    offset: int
    time: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]

    def line(self) -> dict[str, Any]:
        """Give the record as JSON can have it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "timestamp": self.time,
            "key": _base64(self.key),
            "value": _base64(self.value),
            "headers": [[name, _base64(value)] for name, value in self.headers],
        }


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def ends(servers: str) -> dict[tuple[str, int], int]:
    """Say where the topics of the mirror end."""
    with closing(Consumer({"bootstrap.servers": servers, "group.id": "ends"})) as reader:
        topics = reader.list_topics(timeout=PATIENCE_SECONDS).topics
        places = [
            TopicPartition(name, partition)
            for name, topic in sorted(topics.items())
            if name.startswith((f"{NAME}.", f"{BARE}."))
            for partition in sorted(topic.partitions)
        ]
        return {
            (p.topic, p.partition): reader.get_watermark_offsets(p, timeout=PATIENCE_SECONDS)[1]
            for p in places
        }


def read_records(servers: str) -> list[Kept]:
    """Read all that the topics of the mirror have."""
    left = {place: end for place, end in ends(servers).items() if end}
    found: list[Kept] = []
    settings = {"bootstrap.servers": servers, "group.id": "read", "enable.auto.commit": "false"}
    with closing(Consumer(settings)) as reader:
        reader.assign([TopicPartition(*place, 0) for place in left])
        while left:
            for message in reader.consume(1000, timeout=1):
                if message.error():
                    raise RuntimeError(str(message.error()))
                kept = _kept(message)
                found.append(kept)
                if kept.offset + 1 >= left[kept.topic, kept.partition]:
                    del left[kept.topic, kept.partition]
    found.sort(key=lambda record: (record.topic, record.partition, record.offset))
    offsets: dict[tuple[str, int], int] = {}
    for record in found:  # a gap could not be produced again
        place = (record.topic, record.partition)
        assert record.offset == offsets.get(place, 0), place
        offsets[place] = record.offset + 1
    return found


def _kept(message: Message) -> Kept:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and partition is not None and offset is not None
    headers: Any = message.headers() or ()  # pairs, also where its type says more
    return Kept(
        topic, partition, offset, message.timestamp()[1], message.key(), message.value(), headers
    )


def create_topic(servers: str, topic: str, partitions: int) -> None:
    """Make a topic before the connector does."""
    admin = AdminClient({"bootstrap.servers": servers})
    for done in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        done.result(PATIENCE_SECONDS)


def from_records(records: Iterable[Kept]) -> dict[str, list[Row]]:
    """Work out the tables that keep more than the source has, from what stands in the records."""
    changes: dict[str, list[tuple[Kept, dict[str, Any]]]] = {}
    for record in records:
        if record.value is not None and record.topic in (
            f"{NAME}.public.orders",
            f"{NAME}.public.clients",
        ):
            message = json.loads(record.value)
            change = _decoded(message["payload"], message["schema"])
            changes.setdefault(record.topic.rpartition(".")[2], []).append((record, change))
    return {
        "orders_log": sorted_rows([_logged(*change) for change in changes["orders"]]),
        "orders_history": sorted_rows(_history([change for _, change in changes["orders"]])),
        "clients": sorted_rows(_soft([change for _, change in changes["clients"]])),
    }


def _decoded(payload: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Read the values of the rows that a change has."""
    row = next(part for part in schema["fields"] if part["field"] == "after")
    readers = {column["field"]: _reader(column) for column in row["fields"]}
    for image in ("before", "after"):
        if payload.get(image) is not None:
            payload[image] = {
                name: None if value is None else readers[name](value)
                for name, value in payload[image].items()
            }
    return payload


def _reader(column: Mapping[str, Any]) -> Callable[[Any], Any]:
    name = column.get("name", "")
    if name.endswith(".Decimal"):
        scale = int(column["parameters"]["scale"])
        return lambda value: str(
            Decimal(int.from_bytes(base64.b64decode(value), "big", signed=True)).scaleb(-scale)
        )
    if name.endswith(".ZonedTimestamp"):
        return lambda value: datetime.fromisoformat(value).astimezone(UTC).isoformat()
    return lambda value: value


def _moment(change: Mapping[str, Any]) -> str:
    micros = timedelta(microseconds=change["source"]["ts_us"])
    return (datetime(1970, 1, 1, tzinfo=UTC) + micros).isoformat()


def _logged(record: Kept, change: Mapping[str, Any]) -> Row:
    row = change["before"] if change["op"] == "d" else change["after"]
    return {
        **row,
        "_mirror_op": change["op"],
        "_mirror_partition": record.partition,
        "_mirror_offset": record.offset,
        "_mirror_position": change["source"]["lsn"],
        "_mirror_time": _moment(change),
    }


def _history(changes: Iterable[Mapping[str, Any]]) -> list[Row]:
    versions: list[Row] = []
    current: dict[int, tuple[Row, Row]] = {}  # the row, and its version
    for change in changes:
        key = (change["after"] or change["before"])["id"]
        row, when = change["after"], _moment(change)
        before = current.pop(key, None)
        if before is not None and before[0] == row:
            current[key] = before
            continue
        if before is not None:
            before[1].update({"_mirror_valid_to": when, "_mirror_current": False})
        if row is not None:
            validity = {"_mirror_valid_from": when, "_mirror_valid_to": None}
            version = {**row, **validity, "_mirror_current": True}
            versions.append(version)
            current[key] = (row, version)
    return versions


def _soft(changes: Iterable[Mapping[str, Any]]) -> list[Row]:
    rows: dict[int, Row] = {}
    for change in changes:
        if change["op"] == "d":
            rows[change["before"]["id"]]["_mirror_deleted"] = True
        else:
            rows[change["after"]["id"]] = {**change["after"], "_mirror_deleted": False}
    return [*rows.values()]


def _over(old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """Put new rows over old ones of their key."""
    return sorted_rows([*({row["id"]: row for row in (*old, *new)}).values()])


def tell(line: str) -> None:
    """Say how far it is."""
    print(line, flush=True)


if __name__ == "__main__":
    main()
