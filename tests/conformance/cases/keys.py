"""How rows are told apart: changed keys, composite keys, keys of every type, and none."""

from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.conformance.case import DOCUMENTS, Case, add, case
from tests.conformance.source import Source
from tests.unit.messages import Block, Table, base64_of, column, decimal, decimal_column

KEYLESS = Table((column("id", "int64", optional=False), column("name", "string")), key=())
NARROW = Table((column("id", "int32", optional=False), column("name", "string")))
LINES = Table(
    (
        column("order_id", "int64", optional=False),
        column("line", "string", optional=False),
        column("note", "string"),
    ),
    key=("order_id", "line"),
)
PAIRS = Table(
    (column("a", "int32", optional=False), column("b", "int32", optional=False)), key=("a", "b")
)
# REPLICA IDENTITY USING INDEX, or message.key.columns: a key column may be null.
LOOSE = Table(
    (column("region", "string"), column("code", "int64"), column("note", "string")),
    key=("region", "code"),
)


@case("F71", "B24")
def changed_primary_key_moves_the_row(s: Source) -> None:
    """INSERT 1 and 2; in the next batch UPDATE … SET id = 3 WHERE id = 1."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.change_key(1, 3, "a")
    s.holds((2, "b"), (3, "a"))


@case("F71")
def keys_that_swap_leave_both_rows(s: Source) -> None:
    """INSERT 1 and 2; in one batch 1 becomes 9, 2 becomes 1, 9 becomes 2."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.change_key(1, 9, "a")
    s.change_key(2, 1, "b")
    s.change_key(9, 2, "a")
    s.holds((1, "b"), (2, "a"))


@case("F71")
def changed_primary_key_moves_the_row_to_another_partition(s: Source) -> None:
    """INSERT 1; id 1 becomes 2, whose records are in partition 1; UPDATE 2; and back again."""
    s.insert(1, "a", partition=0)
    s.insert(7, "x", partition=1)
    s.batch()
    s.change_key(1, 2, "a", partition=1)
    s.update(2, "a2", partition=1)
    s.batch()
    with s.in_partition(1):
        s.change_key(2, 1, "a3", partition=0)
    s.holds((1, "a3"), (7, "x"))


@case(table=DOCUMENTS)
def another_primary_key_tells_rows_apart_from_then_on(s: Source) -> None:
    """INSERT 1 to 3; then DELETE 1; the key becomes name; UPDATE b, DELETE c, INSERT d."""
    s.insert(1, "a", "x")
    s.insert(2, "b", "x")
    s.insert(3, "c", "x")
    s.batch()
    s.delete(1)
    s.update(2, "b", "y")
    s.rekey("name")
    s.update(2, "b", "z")
    s.delete(None, "c")
    s.insert(4, "d", "x")
    s.batch()
    s.update(5, "d", "y")
    s.holds((2, "b", "z"), (5, "d", "y"))


@case(table=DOCUMENTS)
def rows_go_on_in_other_partitions_under_another_primary_key(s: Source) -> None:
    """INSERT 1 and 2 in two partitions; the key becomes (id, name), which sends them elsewhere."""
    s.insert(1, "a", "x", partition=0)
    s.insert(2, "b", "x", partition=1)
    s.batch()
    s.update(1, "a", "y", partition=0)
    s.rekey("id", "name")
    s.update(1, "a", "z", partition=1)
    s.delete(2, "b", partition=0)
    s.insert(3, "c", "x", partition=0)
    s.holds((1, "a", "z"), (3, "c", "x"))


@case("B24", table=NARROW, formats=("json", "avro"))
def rows_go_on_in_other_partitions_when_their_key_gets_another_schema(s: Source) -> None:
    """INSERT 1 and 2 in two partitions; id becomes bigint, which sends them elsewhere."""
    s.insert(1, "a", partition=0)
    s.insert(2, "b", partition=1)
    s.batch()
    s.update(1, "a2", partition=0)
    s.retype(column("id", "int64", optional=False))
    s.update(1, "a3", partition=1)
    s.update(2, "b2", partition=0)
    s.batch()
    s.delete(1, partition=1)
    s.insert(3, "c", partition=0)
    s.holds((2, "b2"), (3, "c"))


@case(table=LINES)
def composite_key_tells_rows_apart(s: Source) -> None:
    """Lines (1, a), (1, b), (2, a); in the next batch DELETE (1, a), UPDATE (1, b)."""
    s.insert(1, "a", "x")
    s.insert(1, "b", "y")
    s.insert(2, "a", "z")
    s.batch()
    s.delete(1, "a")
    s.update(1, "b", "y2")
    s.holds((1, "b", "y2"), (2, "a", "z"))


@case(table=PAIRS)
def table_of_nothing_but_its_key_is_mirrored(s: Source) -> None:
    """INSERT (1, 1); in the next batch DELETE (1, 1), INSERT (1, 2)."""
    s.insert(1, 1)
    s.batch()
    s.delete(1, 1)
    s.insert(1, 2)
    s.holds((1, 2))


@case(table=LOOSE)
def null_in_a_key_is_a_value_like_any_other(s: Source) -> None:
    """Rows (null, 1), (null, 2), (eu, null); UPDATE the first and third, DELETE the second."""
    s.insert(None, 1, "a")
    s.insert(None, 2, "b")
    s.insert("eu", None, "c")
    s.insert("eu", 1, "d")
    s.batch()
    s.update(None, 1, "a2")
    s.delete(None, 2)
    s.update("eu", None, "c2")
    s.batch()
    s.delete("eu", None)
    s.holds((None, 1, "a2"), ("eu", 1, "d"))


@case("D50", table=KEYLESS, rule={"key": ["id"]}, modes=("mirror", "soft", "history"))
def table_without_a_primary_key_is_told_its_key(s: Source) -> None:
    """No primary key, REPLICA IDENTITY FULL: INSERT 1 and 2; UPDATE 1; DELETE 2."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.update(1, "a2", before=(1, "a"))
    s.delete(2, "b")
    s.holds((1, "a2"))


@case("D50", "F71", table=KEYLESS, rule={"key": ["id"]}, modes=("mirror", "soft", "history"))
def key_changed_by_an_update_moves_the_row_of_a_table_without_primary_key(s: Source) -> None:
    """No primary key: INSERT 1, 2, 3; UPDATE … SET id = 5 WHERE id = 1, as one update; 3 twice."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.insert(3, "c")
    s.batch()
    s.update(5, "a", before=(1, "a"))
    s.update(6, "c", before=(3, "c"))
    s.update(7, "c2", before=(6, "c"))
    s.holds((2, "b"), (5, "a"), (7, "c2"))


@case("D50", table=KEYLESS, modes=("append",))
def log_of_a_table_without_a_primary_key_has_every_change(s: Source) -> None:
    """No primary key and no key set: INSERT the same row twice; DELETE one of them."""
    s.insert(1, "a")
    s.insert(1, "a")
    s.batch()
    s.delete(1, "a")
    s.update(1, "b", before=(1, "a"))


@dataclass(frozen=True)
class KeyType:
    """A type of key columns: two values as messages hold them, and how a reader sees one."""

    name: str
    block: Block
    one: Any
    other: Any
    read: Callable[[Any], Any] = lambda value: value
    formats: tuple[str, ...] = ("json", "avro")


def _typed(name: str, kind: str, one: Any, other: Any, **more: Any) -> KeyType:
    logical, read = more.pop("logical", None), more.pop("read", lambda value: value)
    block = column("k", kind, optional=False, logical=logical)
    return KeyType(name, block, one, other, read, **more)


UUIDS = ("00000000-0000-0000-0000-000000000000", "ffeeddcc-bbaa-9988-7766-554433221100")
EPOCH = datetime(1970, 1, 1)
TYPES = [
    _typed("boolean", "boolean", True, False),
    _typed("smallint", "int16", -32_768, 32_767),
    _typed("integer", "int32", -(2**31), 2**31 - 1),
    _typed("bigint", "int64", -(2**63), 2**63 - 1),
    _typed("real", "float", 1.5, -0.25),
    _typed("double", "double", 1.7976931348623157e308, 5e-324),
    _typed("text", "string", "zoë's `key` {x}", "", formats=("json", "avro", "plain")),
    _typed("uuid", "string", *UUIDS, logical="io.debezium.data.Uuid"),
    _typed("bytes", "bytes", base64_of(b"\x00\xff"), base64_of(b""), read=b64decode),
    _typed(
        "date",
        "int32",
        19_782,
        -1,
        logical="io.debezium.time.Date",
        read=lambda days: date(1970, 1, 1) + timedelta(days=days),
    ),
    _typed(
        "time",
        "int64",
        0,
        86_399_999_999,
        logical="io.debezium.time.MicroTime",
        # Spark has no type for it.
        read=lambda micros: f"{EPOCH + timedelta(microseconds=micros):%H:%M:%S.%f}",
    ),
    _typed(
        "timestamp",
        "int64",
        1_709_210_096_789_012,
        -1,
        logical="io.debezium.time.MicroTimestamp",
        read=lambda micros: EPOCH + timedelta(microseconds=micros),
    ),
    _typed(
        "timestamptz",
        "string",
        "2024-02-29T10:34:56.789012Z",
        "1969-12-31T23:59:59.999999Z",
        logical="io.debezium.time.ZonedTimestamp",
        read=lambda text: datetime.fromisoformat(text).astimezone(UTC),
    ),
    KeyType(
        "numeric",
        decimal_column("k", 38, 2, optional=False),
        decimal(-12_345),
        decimal(10**38 - 1),
        lambda raw: Decimal(f"{int.from_bytes(b64decode(raw), 'big', signed=True)}E-2"),
    ),
]


def rows_are_found_by_keys_of_type(s: Source, one: Any, other: Any) -> None:
    """INSERT two rows; in the next batch UPDATE the one and DELETE the other; INSERT it again."""
    s.insert(one, "a")
    s.insert(other, "b")
    s.batch()
    s.update(one, "a2")
    s.delete(other)
    s.batch()
    s.insert(other, "b2")
    s.update(one, "a3")
    s.holds((one, "a3"), (other, "b2"))


def _tell(kind: KeyType) -> Callable[[Source], None]:
    def tell(s: Source) -> None:
        rows_are_found_by_keys_of_type(s, kind.one, kind.other)

    tell.__name__ = f"rows_are_found_by_keys_of_type_{kind.name}"
    tell.__doc__ = rows_are_found_by_keys_of_type.__doc__
    return tell


for _kind in TYPES:
    add(
        Case(
            _tell(_kind),
            table=Table((_kind.block, column("note", "string")), key=("k",)),
            formats=_kind.formats,
            readings={"k": _kind.read},
        )
    )
