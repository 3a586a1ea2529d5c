"""Twelve tables of different shapes, and random values for each kind of column in them."""

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

import pyarrow as pa

Draw = Callable[[random.Random], str]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
# What is likely to break: quotes, blanks, other alphabets, what looks like null or a placeholder.
WORDS = (
    *("", "null", "it''s", '"quoted"', "line\nbreak", "tab\there", "ß", "näme", "電話", "🙂"),
    *("%s", "{}", "a,b;c", "__debezium", "0", " padded ", "ﷺ", "e\u0301", "NaN", "--"),
)
STATES = ("new", "paid", "sent", "returned", "lost")
FIRST_DAY = date(1995, 1, 1)
TOAST_BYTES = 3000


class Database(StrEnum):
    """The servers on which the workload runs, by the name of their connector."""

    POSTGRES = "postgres"
    MARIADB = "mariadb"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of column: its type in each database, its values, how it is read for comparison."""

    postgres: str
    mariadb: str
    draw: Draw
    arrow: pa.DataType
    read: str = "{name}"  # how MariaDB is asked for it

    def type(self, database: Database) -> str:
        return self.postgres if database is Database.POSTGRES else self.mariadb


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind
    nullable: bool = True
    big: bool = False  # often left alone by updates, as large values are
    often_null: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """One table.

    Args:
        keys: Gives the key columns' values for a number from 0 to `rows`; small numbers come again
            and again, so that keys are deleted and come back.
        declared: Whether the key is the table's primary key; else the mirror is told of it.
        partitions: Of the table's topic.
        layout: Partition fields of the mirrored table.
    """

    name: str
    key: tuple[Column, ...]
    columns: tuple[Column, ...]
    keys: Callable[[int], tuple[str, ...]]
    rows: int = 3000
    declared: bool = True
    partitions: int = 1
    layout: tuple[str, ...] = ()
    more: tuple[Column, ...] = ()  # added while it runs, one after the other

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.key)

    def create_sql(self, database: Database) -> list[str]:
        """Render the statements that make the empty table."""
        columns = [
            f"{c.name} {c.kind.type(database)}{'' if c.nullable else ' NOT NULL'}"
            for c in (*self.key, *self.columns)
        ]
        key = ", ".join(self.key_names)
        if self.declared:
            columns.append(f"PRIMARY KEY ({key})")
        made = [f"CREATE TABLE {self.name} ({', '.join(columns)})"]
        if not self.declared:
            made.append(f"CREATE INDEX {self.name}_key ON {self.name} ({key})")
            if database is Database.POSTGRES:
                made.append(f"ALTER TABLE {self.name} REPLICA IDENTITY FULL")
        return made


def text_literal(text: str) -> str:
    return "'" + text.replace("\\", "/") + "'"


def _word(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return text_literal(rng.choice(WORDS))
    return text_literal("".join(rng.choices(LETTERS, k=rng.randint(1, 12))))


def _long_text(rng: random.Random) -> str:
    """Give a text that PostgreSQL moves out of the row: long, and hard to compress."""
    length = TOAST_BYTES + rng.randint(0, 600)
    return text_literal(rng.randbytes(length // 2).hex() + rng.choice(("", "ß", "end")))


def _long_bytes(database_prefix: str) -> Draw:
    return lambda rng: database_prefix + rng.randbytes(TOAST_BYTES // 2).hex()


def _decimal(digits: int, scale: int) -> Draw:
    def draw(rng: random.Random) -> str:
        used = rng.randint(1, digits)
        number = rng.randint(-(10**used) + 1, 10**used - 1)
        whole, rest = divmod(abs(number), 10**scale)
        sign = "-" if number < 0 else ""
        return f"{sign}{whole}.{rest:0{scale}d}" if scale else f"{sign}{whole}"

    return draw


def _day(rng: random.Random) -> str:
    return f"'{FIRST_DAY + timedelta(days=rng.randint(0, 20000))}'"


def _moment(rng: random.Random) -> str:
    start = datetime(2001, 1, 1)
    return f"'{start + timedelta(microseconds=rng.randint(0, 8 * 10**14))}'"


def _recent_moment(rng: random.Random) -> str:
    """Give one of few days, so that a table partitioned by day has few partitions."""
    start = datetime(2025, 3, 1)
    return f"'{start + timedelta(microseconds=rng.randint(0, 6 * 86_400 * 10**6))}'"


def _json(rng: random.Random) -> str:
    numbers = ",".join(str(rng.randint(0, 99)) for _ in range(rng.randint(0, 4)))
    name = rng.choice(("a", "ß", "long name", "x"))
    return f'\'{{"{name}":[{numbers}],"n":{rng.choice(("null", "true", "1.5"))}}}\''


def _double(rng: random.Random) -> str:
    return repr(rng.choice((0.0, 1.5, -2.25, rng.uniform(-1e6, 1e6), rng.uniform(-1, 1) * 1e200)))


def _uuid(rng: random.Random) -> str:
    return _uuid_literal(uuid.UUID(int=rng.getrandbits(128), version=4))


def _uuid_literal(value: uuid.UUID) -> str:
    """Write a UUID that does not end in a zero byte: MariaDB's connector garbles those."""
    return f"'{uuid.UUID(int=value.int | 1)}'"


def _whole(low: int, high: int) -> Draw:
    return lambda rng: str(rng.randint(low, high))


INT = Kind("int", "int", _whole(-(2**31), 2**31 - 1), pa.int32())
SMALL = Kind("smallint", "smallint", _whole(-(2**15), 2**15 - 1), pa.int32())
BIG = Kind("bigint", "bigint", _whole(-(2**63), 2**63 - 1), pa.int64())
COUNT = Kind("int", "int", _whole(0, 1000), pa.int32())
TEXT = Kind("text", "varchar(200) COLLATE utf8mb4_bin", _word, pa.string())
LONG = Kind("text", "longtext", _long_text, pa.string())
# Quoted as hexadecimal in both: PostgreSQL takes '\x…', MariaDB x'…'; see `literal`.
BYTES = Kind("bytea", "longblob", _long_bytes("hex:"), pa.binary())
MONEY = Kind("numeric(12,2)", "decimal(12,2)", _decimal(12, 2), pa.decimal128(12, 2))
FINE = Kind("numeric(10,4)", "decimal(10,4)", _decimal(10, 4), pa.decimal128(10, 4))
WIDE = Kind("numeric(38,10)", "decimal(38,10)", _decimal(38, 10), pa.decimal128(38, 10))
WHOLE = Kind("numeric(5,0)", "decimal(5,0)", _decimal(5, 0), pa.decimal128(5, 0))
DOUBLE = Kind("double precision", "double", _double, pa.float64())
DAY = Kind("date", "date", _day, pa.date32())
MOMENT = Kind("timestamp", "datetime(6)", _moment, pa.timestamp("us"))
RECENT = Kind("timestamp", "datetime(6)", _recent_moment, pa.timestamp("us"))
INSTANT = Kind("timestamptz", "timestamp(6) NULL", _moment, pa.timestamp("us", "UTC"))
JSON = Kind("jsonb", "longtext", _json, pa.string())
# MariaDB's booleans are small numbers, and Debezium says so.
FLAG = Kind("boolean", "boolean", lambda rng: rng.choice(("true", "false")), pa.bool_())
BIT = Kind("boolean", "bit(1)", lambda rng: rng.choice(("true", "false")), pa.bool_(), "{name} + 0")
STATE = Kind("text", "varchar(20)", lambda rng: text_literal(rng.choice(STATES)), pa.string())
UUID = Kind("uuid", "uuid", _uuid, pa.string())


REAL = Kind("real", "float", lambda rng: str(rng.randint(-9999, 9999) / 4), pa.float32())


def _numeric(digits: int, scale: int) -> Kind:
    name = f"({digits},{scale})"
    kind = pa.decimal128(digits, scale)
    return Kind(f"numeric{name}", f"decimal{name}", _decimal(digits, scale), kind)


# The kinds that a column of some kind can be widened to.
WIDER = {
    INT: BIG,
    SMALL: BIG,
    COUNT: BIG,
    REAL: DOUBLE,
    MONEY: _numeric(20, 2),
    FINE: _numeric(18, 4),
    WHOLE: _numeric(15, 0),
}
# The kinds of columns that random statements add, with their defaults.
ADDED_KINDS = (
    *((INT, None), (INT, "7"), (TEXT, None), (TEXT, "'none'"), (MONEY, "-1.50"), (MONEY, None)),
    *((REAL, None), (REAL, "0.25"), (DAY, "'2024-02-29'"), (INSTANT, None), (DOUBLE, "1.5")),
)


def _required(name: str, kind: Kind) -> Column:
    return Column(name, kind, nullable=False)


def _number(number: int) -> tuple[str, ...]:
    return (str(number),)


def _code(number: int) -> tuple[str, ...]:
    return (text_literal(f"{WORDS[number % len(WORDS)].strip()}/{number}"),)


def _uuid_of(number: int) -> tuple[str, ...]:
    return (_uuid_literal(uuid.uuid5(uuid.NAMESPACE_OID, str(number))),)


def _line(number: int) -> tuple[str, ...]:
    return (str(number // 5), str(number % 5 - 2))


def _place(number: int) -> tuple[str, ...]:
    return (text_literal(("north", "süd", "", "東")[number % 4]), str(number // 4))


ADDED = (Column("added_text", TEXT), Column("added_money", MONEY), Column("added_at", INSTANT))

SHAPES: tuple[Shape, ...] = (
    Shape(
        "accounts",
        (_required("id", INT),),
        (Column("name", TEXT), Column("balance", MONEY), Column("active", FLAG)),
        _number,
        more=ADDED,
    ),
    Shape(
        "codes",
        (_required("code", TEXT),),
        (Column("label", TEXT), Column("at", INSTANT), Column("weight", DOUBLE)),
        _code,
        partitions=3,
    ),
    Shape(
        "order_lines",
        (_required("order_id", INT), _required("line", SMALL)),
        (_required("quantity", COUNT), Column("price", FINE), Column("note", TEXT)),
        _line,
        rows=6000,
        partitions=3,
        more=ADDED[1:],
    ),
    Shape(
        "tokens",
        (_required("id", UUID),),
        (Column("payload", JSON), Column("created", MOMENT), Column("owner", UUID)),
        _uuid_of,
    ),
    Shape(
        "documents",
        (_required("id", BIG),),
        (
            Column("title", TEXT),
            Column("body", LONG, big=True),
            Column("attachment", BYTES, big=True),
            _required("version", COUNT),
        ),
        _number,
        rows=300,
        more=(Column("summary", LONG, big=True),),
    ),
    Shape(
        "archive",
        (_required("region", TEXT), _required("id", INT)),
        (
            Column("note", TEXT),
            Column("body", LONG, nullable=False, big=True),
            Column("day", DAY),
        ),
        _place,
        rows=300,
        partitions=3,
    ),
    Shape(
        "measures",
        (_required("id", INT),),
        (
            *(Column("day", DAY), Column("at", MOMENT), Column("instant", INSTANT)),
            *(Column("wide", WIDE), Column("whole", WHOLE), Column("ratio", DOUBLE)),
        ),
        _number,
    ),
    Shape(
        "journal",
        (_required("id", INT), _required("part", TEXT)),
        (Column("entry", TEXT), Column("amount", MONEY), Column("flag", BIT)),
        lambda number: (str(number // 3), text_literal("abc"[number % 3])),
        rows=1500,
        declared=False,
    ),
    Shape(
        "sparse",
        (_required("id", BIG),),
        tuple(
            Column(f"c{place}", kind, often_null=True)
            for place, kind in enumerate((INT, TEXT, MONEY, DAY, INSTANT, JSON, FLAG, DOUBLE, BIT))
        ),
        lambda number: (str(number * 3_000_000_019 - 2**40),),
        partitions=3,
        more=ADDED,
    ),
    Shape(
        "states",
        (_required("id", INT),),
        (_required("state", STATE), _required("open", FLAG), Column("settings", JSON)),
        _number,
        rows=1000,
    ),
    Shape(
        "buckets",
        (_required("id", BIG),),
        (Column("kind", STATE), Column("day", DAY), Column("size", BIG)),
        _number,
        partitions=3,
        layout=("bucket(4, id)",),
    ),
    Shape(
        "days",
        (_required("id", INT),),
        (_required("at", RECENT), Column("what", TEXT)),
        _number,
        rows=2000,
        layout=("day(at)",),
        more=ADDED[:1],
    ),
)
BY_NAME = {shape.name: shape for shape in SHAPES}


def literal(kind: Kind, rng: random.Random, database: Database) -> str:
    """Draw a random value and write it as the database reads it."""
    drawn = kind.draw(rng)
    if drawn.startswith("hex:"):
        digits = drawn[4:]
        return f"'\\x{digits}'" if database is Database.POSTGRES else f"x'{digits}'"
    return drawn
