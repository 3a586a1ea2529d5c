"""A table's columns from MySQL's or MariaDB's own catalog, in the types that Debezium writes."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cdc.dialect import ColumnFacts
from cdc.errors import SourceCatalogError, SourceDownError
from cdc.model import SourceColumn, SourceTable, SourceType
from connectors import debezium_types as debezium
from connectors.debezium_types import BINARY_MODE, DECIMAL_MODE, TIME_MODE
from connectors.mysql.probe import connect

if TYPE_CHECKING:
    from pymysql.cursors import Cursor

UNSIGNED_MODE = "bigint.unsigned.handling.mode"
MODES: Mapping[str, str] = {
    DECIMAL_MODE: "precise",
    TIME_MODE: "adaptive_time_microseconds",
    BINARY_MODE: "bytes",
    UNSIGNED_MODE: "long",
}
# Of a server that refuses, not of one that is gone: the login, the database, the query.
REFUSALS = frozenset({1044, 1045, 1049, 1142, 1143, 1227, 1698})

_COLUMNS = """
    SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COLUMN_DEFAULT, EXTRA, VERSION(),
           NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION
    FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s
    ORDER BY ORDINAL_POSITION
"""
_FACTS = """
    SELECT COLUMN_NAME, COLUMN_COMMENT
    FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s
"""
_OPTION = re.compile(r"'((?:[^']|'')*)'")
_NUMBER = re.compile(r"-?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_UNSIGNED_DIGITS = 20  # of 2^64 - 1


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """One row of information_schema.COLUMNS."""

    name: str
    kind: str
    whole: str  # the type as it is written, such as int(8) unsigned zerofill
    default: str | None  # of a constant, its text
    precision: int
    scale: int
    digits: int  # behind the second

    @property
    def unsigned(self) -> bool:
        """Whether the column takes no negative number."""
        return " unsigned" in self.whole


def columns(url: str, table: SourceTable, modes: Mapping[str, str]) -> tuple[SourceColumn, ...]:
    """Read a table's columns; those of types that Debezium does not know are left out.

    Raises:
        SourceUnreachableError: The URL is none.
        SourceDownError: The database does not answer.
        SourceCatalogError: It refuses the login or the query.
    """
    rows = _asked(url, table, _COLUMNS)
    settings = {**MODES, **modes}
    found = [
        CatalogColumn(
            str(name),
            str(kind).lower(),
            str(whole),
            _constant(default, str(extra), "mariadb" in str(version).lower()),
            *(int(n or 0) for n in numbers),
        )
        for name, kind, whole, default, extra, version, *numbers in rows
    ]
    described = ((column, _source_type(column, settings)) for column in found)
    return tuple(
        SourceColumn(column.name, kind, default=debezium.plain_default(kind, column.default))
        for column, kind in described
        if kind is not None
    )


def facts(url: str, table: SourceTable) -> dict[str, ColumnFacts]:
    """Read what messages do not say of a table's columns; nothing tells a new name from a column.

    Raises:
        SourceUnreachableError: The URL is none.
        SourceDownError: The database does not answer.
        SourceCatalogError: It refuses the login or the query.
    """
    return {str(name): ColumnFacts(None, comment) for name, comment in _asked(url, table, _FACTS)}


def _asked(url: str, table: SourceTable, query: str) -> "Sequence[Sequence[Any]]":
    """Ask the database for something about a table."""
    with connected(url, str(table)) as cursor:
        cursor.execute(query, (table.database, table.table))
        return cursor.fetchall()


@contextmanager
def connected(url: str, asked: str) -> "Iterator[Cursor]":
    """Open the database, and translate what it refuses."""
    import pymysql

    try:
        with connect(url) as connection, connection.cursor() as cursor:
            yield cursor
    except pymysql.MySQLError as error:
        reason = str(error.args[-1] if error.args else error)
        down = isinstance(error, pymysql.OperationalError) and error.args[0] not in REFUSALS
        if down:
            raise SourceDownError("The database", reason) from error
        raise SourceCatalogError(asked, reason) from error


def _constant(default: str | None, extra: str, mariadb: bool) -> str | None:
    """Read a default that is a constant; MariaDB writes it as SQL, MySQL as the text itself."""
    if default is None or "default_generated" in extra.lower():
        return None
    if not mariadb:
        return default
    if _NUMBER.fullmatch(default):
        return default
    quoted = _OPTION.fullmatch(default)
    return quoted[1].replace("''", "'") if quoted and "\\" not in default else None


def _source_type(column: CatalogColumn, modes: Mapping[str, str]) -> SourceType | None:
    chosen = _TYPES.get(column.kind)
    return None if chosen is None else chosen(column, modes)


def _integer(signed: SourceType, unsigned: SourceType) -> "Chosen":
    return lambda column, _: unsigned if column.unsigned else signed


def _bigint(column: CatalogColumn, modes: Mapping[str, str]) -> SourceType:
    if column.unsigned and modes[UNSIGNED_MODE] == "precise":
        return debezium.exact_decimal(_UNSIGNED_DIGITS, 0)
    return debezium.INT64


def _float(column: CatalogColumn, modes: Mapping[str, str]) -> SourceType:
    # float(7,2): whoever names the digits behind the point gets 64 bits from Debezium.
    return debezium.DOUBLE if "," in column.whole else debezium.FLOAT


def _enum(logical: str) -> "Chosen":
    """Name the options as Debezium does: between commas, a comma of their own escaped."""

    def chosen(column: CatalogColumn, modes: Mapping[str, str]) -> SourceType:
        options = _OPTION.findall(column.whole)
        escaped = (o.replace(",", "\\,").replace("\\'", "'").replace("''", "'") for o in options)
        return debezium.enum(logical, ",".join(escaped))

    return chosen


Chosen = Callable[[CatalogColumn, Mapping[str, str]], SourceType]


def _always(kind: SourceType) -> Chosen:
    return lambda column, modes: kind


def _binary(column: CatalogColumn, modes: Mapping[str, str]) -> SourceType:
    return debezium.binary(modes)


_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_BINARIES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_SHAPES = (
    *("geometry", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"),
    *("geometrycollection", "geomcollection"),
)
_TYPES: dict[str, Chosen] = {
    **dict.fromkeys(_TEXTS, _always(debezium.STRING)),
    **dict.fromkeys(_BINARIES, _binary),
    **dict.fromkeys(_SHAPES, _always(debezium.GEOMETRY)),
    "tinyint": _always(debezium.INT16),
    "smallint": _integer(debezium.INT16, debezium.INT32),
    "mediumint": _always(debezium.INT32),
    "int": _integer(debezium.INT32, debezium.INT64),
    "bigint": _bigint,
    "decimal": lambda column, modes: debezium.decimal(modes, column.precision, column.scale),
    "float": _float,
    "double": _always(debezium.DOUBLE),
    "bit": lambda column, _: debezium.bits(column.precision),
    "date": lambda _, modes: debezium.date(modes),
    "datetime": lambda column, modes: debezium.timestamp(modes, column.digits),
    "timestamp": _always(debezium.ZONED_TIMESTAMP),
    "time": lambda column, modes: debezium.time(modes, column.digits),
    "year": _always(debezium.YEAR),
    "enum": _enum("io.debezium.data.Enum"),
    "set": _enum("io.debezium.data.EnumSet"),
    "json": _always(debezium.JSON),
    "uuid": _always(debezium.UUID),
    "point": _always(debezium.POINT),
    "vector": _always(debezium.FLOAT_VECTOR),
}
