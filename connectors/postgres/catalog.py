"""A table's columns from PostgreSQL's own catalog, in the types that Debezium writes them in.

Every decision here repeats one of Debezium's PostgreSQL connector: it knows the built-in types by
their ids, those of extensions by their names alone, and a domain as the type it stands for.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cdc.dialect import ColumnFacts
from cdc.errors import SourceCatalogError, SourceDownError
from cdc.model import SourceColumn, SourceTable, SourceType
from connectors import debezium_types as debezium
from connectors.debezium_types import BINARY_MODE, DECIMAL_MODE, TIME_MODE
from connectors.postgres.probe import ANSWER_SECONDS, check_address

if TYPE_CHECKING:
    from psycopg import Connection

DOWN = ("08", "53", "57")  # connection lost, no room for another, shutting down
MODES: Mapping[str, str] = {
    DECIMAL_MODE: "precise",
    TIME_MODE: "adaptive",
    BINARY_MODE: "bytes",
    "hstore.handling.mode": "json",
    "interval.handling.mode": "numeric",
    "money.fraction.digits": "2",
}

# What a modifier of -1 stands for.
_ANY = -1
_MOST_DIGITS = 6  # behind the second
_UNKNOWN_LENGTH = 2**31 - 1  # what the driver says of a varbit without a length
_HEADER = 4  # PostgreSQL counts it into the modifiers of numeric

_COLUMNS = """
    SELECT a.attname, a.atttypid::bigint, a.atttypmod, (a.attmissingval::text::text[])[1]
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relname = %(table)s AND c.relkind IN ('r', 'p')
      AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
_FACTS = """
    SELECT a.attname, c.oid::bigint * 65536 + a.attnum, col_description(c.oid, a.attnum)
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relname = %(table)s AND c.relkind IN ('r', 'p')
      AND a.attnum > 0 AND NOT a.attisdropped
"""
_TYPES = """
    WITH RECURSIVE reached(oid) AS (
        SELECT unnest(%(oids)s::bigint[])::oid
        UNION
        SELECT next.oid
        FROM reached
        JOIN pg_catalog.pg_type t ON t.oid = reached.oid
        CROSS JOIN LATERAL (VALUES (t.typbasetype), (t.typelem)) next(oid)
        WHERE next.oid <> 0
    )
    SELECT t.oid::bigint, t.typname, n.nspname = 'pg_catalog', t.typcategory = 'A',
           t.typbasetype::bigint, t.typelem::bigint, t.typtypmod,
           ARRAY(SELECT e.enumlabel::text FROM pg_catalog.pg_enum e
                 WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
    FROM reached
    JOIN pg_catalog.pg_type t ON t.oid = reached.oid
    JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
"""


@dataclass(frozen=True, slots=True)
class CatalogType:
    """One row of pg_type: `base` is what a domain stands for, `element` what an array holds."""

    oid: int
    name: str
    built_in: bool
    array: bool
    base: int
    element: int
    modifier: int
    labels: list[str]


def columns(url: str, table: SourceTable, modes: Mapping[str, str]) -> tuple[SourceColumn, ...]:
    """Read a table's columns; those that Debezium leaves out are left out, and a lost table is ().

    Raises:
        SourceUnreachableError: The URL is none.
        SourceDownError: The database does not answer, or lets nobody in.
        SourceCatalogError: It is another database, or refuses the query.
    """
    with _connected(url, table) as connection:
        found = connection.execute(_COLUMNS, _names(table)).fetchall()
        oids = {"oids": [oid for _, oid, *_ in found]}
        rows = connection.execute(_TYPES, oids).fetchall()
    types = {row[0]: CatalogType(*row) for row in rows}
    settings = {**MODES, **modes}
    described = (
        (name, _source_type(types, oid, typmod, settings), old) for name, oid, typmod, old in found
    )
    # What rows hold that were there before the column: exact, though not of every default.
    return tuple(
        SourceColumn(name, kind, default=debezium.plain_default(kind, old))
        for name, kind, old in described
        if kind is not None
    )


def facts(url: str, table: SourceTable) -> dict[str, ColumnFacts]:
    """Read what messages do not say of a table's columns; a lost table has none.

    A column's number stays when its name changes, and is never given to another one.

    Raises:
        SourceUnreachableError: The URL is none.
        SourceDownError: The database does not answer, or lets nobody in.
        SourceCatalogError: It is another database, or refuses the query.
    """
    with _connected(url, table) as connection:
        found = connection.execute(_FACTS, _names(table)).fetchall()
    return {name: ColumnFacts(identity, comment or "") for name, identity, comment in found}


def _names(table: SourceTable) -> dict[str, str]:
    return {"schema": table.schema, "table": table.table}


@contextmanager
def _connected(url: str, table: SourceTable) -> "Iterator[Connection[tuple[Any, ...]]]":
    """Open the database of a table, and translate what it refuses."""
    with connected(url, str(table)) as connection:
        if table.database not in ("", connection.info.dbname):
            other = f"this is {connection.info.dbname}, the topic is of {table.database}"
            raise SourceCatalogError(str(table), other)
        yield connection


@contextmanager
def connected(url: str, asked: str) -> "Iterator[Connection[tuple[Any, ...]]]":
    """Open the database, and translate what it refuses."""
    import psycopg

    check_address(url)
    try:
        with psycopg.connect(url, connect_timeout=ANSWER_SECONDS) as connection:
            yield connection
    except psycopg.Error as error:
        reason = str(error).strip().split("\n")[0]
        # An error that ends a connection, or lets none begin, has no code, or one of these.
        if (error.sqlstate or "08")[:2] in DOWN:
            raise SourceDownError("PostgreSQL", reason) from error
        raise SourceCatalogError(asked, reason) from error


def _source_type(
    types: Mapping[int, CatalogType], oid: int, modifier: int, modes: Mapping[str, str]
) -> SourceType | None:
    """Give the type of a column, or None where Debezium sends no such column."""
    here = types[oid]
    while here.base:  # a domain's modifier is its own, or that of the domain below
        modifier = here.modifier if modifier == _ANY else modifier
        here = types[here.base]
    if here.array and here.element:
        return _array(types, here, modifier, modes)
    if here.built_in and here.name in _BUILT_IN:
        return _BUILT_IN[here.name](modifier, modes)
    if here.name in _OF_EXTENSIONS:
        return _OF_EXTENSIONS[here.name](modifier, modes)
    if here.labels:
        return debezium.enum("io.debezium.data.Enum", ",".join(here.labels))
    return debezium.binary(modes)  # as include.unknown.datatypes sends it


def _array(
    types: Mapping[int, CatalogType], array: CatalogType, modifier: int, modes: Mapping[str, str]
) -> SourceType | None:
    element = types[array.element]
    if element.built_in and element.name in _NO_ARRAYS:
        return None
    if element.base:  # Debezium takes the elements of such an array for something unknown
        return SourceType("array", element=debezium.binary(modes))
    kind = _source_type(types, array.element, modifier, modes)
    return None if kind is None else SourceType("array", element=kind)


def _numeric(modifier: int, modes: Mapping[str, str]) -> SourceType:
    if modifier == _ANY and modes[DECIMAL_MODE] == "precise":
        return debezium.VARIABLE_SCALE
    # A negative scale comes out as a great one, as it does in Debezium.
    precision, scale = divmod(modifier - _HEADER, 1 << 16)
    return debezium.decimal(modes, precision, scale)


def _money(modifier: int, modes: Mapping[str, str]) -> SourceType:
    return debezium.decimal(modes, None, int(modes["money.fraction.digits"]))


def _interval(modifier: int, modes: Mapping[str, str]) -> SourceType:
    if modes["interval.handling.mode"] == "string":
        return SourceType("string", "io.debezium.time.Interval")
    return SourceType("int64", "io.debezium.time.MicroDuration")


def _hstore(modifier: int, modes: Mapping[str, str]) -> SourceType:
    if modes["hstore.handling.mode"] == "json":
        return debezium.JSON
    return debezium.TEXT_MAP


def _time(modifier: int, modes: Mapping[str, str]) -> SourceType:
    return debezium.time(modes, _MOST_DIGITS if modifier == _ANY else modifier)


def _timestamp(modifier: int, modes: Mapping[str, str]) -> SourceType:
    return debezium.timestamp(modes, _MOST_DIGITS if modifier == _ANY else modifier)


def _bits(modifier: int, modes: Mapping[str, str]) -> SourceType:
    return debezium.bits(_UNKNOWN_LENGTH if modifier == _ANY else modifier)


Chosen = Callable[[int, Mapping[str, str]], SourceType]


def _always(kind: SourceType) -> Chosen:
    def chosen(modifier: int, modes: Mapping[str, str]) -> SourceType:
        return kind

    return chosen


_TEXTS = (
    *("char", "bpchar", "varchar", "text", "name", "inet", "cidr", "macaddr", "macaddr8"),
    *("int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange"),
)
_BUILT_IN: dict[str, Chosen] = {
    **dict.fromkeys(_TEXTS, _always(debezium.STRING)),
    "bool": _always(debezium.BOOLEAN),
    "int2": _always(debezium.INT16),
    "int4": _always(debezium.INT32),
    "int8": _always(debezium.INT64),
    "oid": _always(debezium.INT64),
    "float4": _always(debezium.FLOAT),
    "float8": _always(debezium.DOUBLE),
    "numeric": _numeric,
    "money": _money,
    "bytea": lambda _, modes: debezium.binary(modes),
    "bit": _bits,
    "varbit": _bits,
    "date": lambda _, modes: debezium.date(modes),
    "time": _time,
    "timetz": _always(debezium.ZONED_TIME),
    "timestamp": _timestamp,
    "timestamptz": _always(debezium.ZONED_TIMESTAMP),
    "interval": _interval,
    "json": _always(debezium.JSON),
    "jsonb": _always(debezium.JSON),
    "uuid": _always(debezium.UUID),
    "xml": _always(SourceType("string", "io.debezium.data.Xml")),
    "point": _always(debezium.POINT),
    "tsvector": _always(SourceType("string", "io.debezium.data.Tsvector")),
}
_OF_EXTENSIONS: dict[str, Chosen] = {
    "citext": _always(debezium.STRING),
    "isbn": _always(debezium.STRING),
    "ltree": _always(SourceType("string", "io.debezium.data.Ltree")),
    "hstore": _hstore,
    "geometry": _always(debezium.GEOMETRY),
    "geography": _always(debezium.GEOGRAPHY),
    "vector": _always(debezium.DOUBLE_VECTOR),
    "halfvec": _always(debezium.FLOAT_VECTOR),
    "sparsevec": _always(debezium.SPARSE_VECTOR),
}
# Debezium has no schema for these arrays, and leaves their columns out.
_NO_ARRAYS = frozenset({"money", "name", "interval", "bit", "varbit", "xml", "point", "refcursor"})
