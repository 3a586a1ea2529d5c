"""The rows of a PostgreSQL table as the mirror should have them, read from the source itself.

This is a second way to the same values: from the server's catalog and SQL alone, with nothing of
what decodes the topics, so that comparing the two proves something.
"""

from dataclasses import dataclass
from typing import Any, Final, LiteralString

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

from cdc.errors import UnmirrorableValueError

ROWS_AT_ONCE: Final = 10_000
WIDEST_DECIMAL: Final = 38

Connection = psycopg.Connection[Any]

# A domain is mirrored as the type that it narrows, which may be a domain again.
COLUMNS: Final[LiteralString] = """
    WITH RECURSIVE resolved AS (
        SELECT attnum, attname, atttypid AS type, atttypmod AS modifier
        FROM pg_attribute
        WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped
        UNION ALL
        SELECT attnum, attname, typbasetype, typtypmod
        FROM resolved JOIN pg_type ON pg_type.oid = resolved.type
        WHERE typtype = 'd'
    )
    SELECT attname, coalesce(element.typname, own.typname), modifier, element.oid IS NOT NULL
    FROM resolved
    JOIN pg_type own ON own.oid = resolved.type
    LEFT JOIN pg_type element ON own.typcategory = 'A' AND element.oid = own.typelem
    WHERE own.typtype <> 'd'
    ORDER BY attnum
"""
KEY: Final[LiteralString] = """
    SELECT attname
    FROM pg_index
    CROSS JOIN unnest(indkey) WITH ORDINALITY AS part (number, place)
    JOIN pg_attribute ON attrelid = indrelid AND attnum = part.number
    WHERE indrelid = to_regclass(%s) AND indisprimary AND place <= indnkeyatts
    ORDER BY place
"""

# The type's own way of writing itself. A cast to text is another: it cuts the blanks of char(n) and
# adds a netmask to every inet.
AS_WRITTEN: Final[LiteralString] = (
    "CASE WHEN {value} IS NULL THEN NULL ELSE format('%s', {value}) END"
)
AS_MICROS: Final[LiteralString] = "(extract(epoch FROM {value}) * 1000000)::int8"
# Debezium has numbers that stand for the two infinities of a timestamp without zone.
AS_MICROS_OR_INFINITE: Final[LiteralString] = f"""
    CASE {{value}}
    WHEN 'infinity' THEN 9223372036825200000
    WHEN '-infinity' THEN -9223372036832400000
    ELSE {AS_MICROS} END
"""
# Debezium takes a month for a twelfth of 365.25 days; PostgreSQL's own epoch takes it for 30 days.
INTERVAL_MICROS: Final[LiteralString] = """(
    (extract(year FROM {value}) * 12 + extract(month FROM {value})) * 2629800000000
    + extract(day FROM {value}) * 86400000000
    + extract(hour FROM {value}) * 3600000000
    + extract(minute FROM {value}) * 60000000
    + extract(microseconds FROM {value})
)::int8"""
# The bits as a number, least byte first, without the zeros that end it.
BIT_BYTES: Final[LiteralString] = """rtrim((
    SELECT string_agg(
        set_byte('\\x00', 0, substr(bits, length(bits) - 8 * i - 7, 8)::bit(8)::int), '' ORDER BY i
    )
    FROM lpad({value}::text, (length({value}) + 7) / 8 * 8, '0') AS bits,
        generate_series(0, (length({value}) - 1) / 8) AS i
), '\\x00')"""
# Debezium takes a number of any scale without the zeros that end it.
SHORTEST_DECIMAL: Final[LiteralString] = "trim_scale({value})::text"
# As many digits of the fraction as there are, in UTC.
ZONED_TIME: Final[LiteralString] = "replace(timezone('UTC', {value})::text, '+00', 'Z')"


@dataclass(frozen=True, slots=True)
class Reading:
    """How values of one type are read: the SQL, the type it yields, and the mirror's type."""

    expression: LiteralString
    read: pa.DataType
    mirrored: pa.DataType


def _plain(expression: LiteralString, kind: pa.DataType) -> Reading:
    return Reading(expression, kind, kind)


POINT: Final = pa.struct(
    [("x", pa.float64()), ("y", pa.float64()), ("wkb", pa.binary()), ("srid", pa.int32())]
)
READINGS: Final[dict[str, Reading]] = {
    "int2": _plain("{value}::int4", pa.int32()),
    "int4": _plain("{value}", pa.int32()),
    "int8": _plain("{value}", pa.int64()),
    "oid": _plain("{value}::int8", pa.int64()),
    "float4": _plain("{value}", pa.float32()),
    "float8": _plain("{value}", pa.float64()),
    "bool": _plain("{value}", pa.bool_()),
    "bytea": _plain("{value}", pa.binary()),
    "money": _plain("{value}::numeric", pa.decimal128(19, 2)),
    # As numbers: Python's own dates end with the year 9999 and begin with 1.
    "date": Reading("({value} - date 'epoch')", pa.int32(), pa.date32()),
    "timestamp": Reading(AS_MICROS_OR_INFINITE, pa.int64(), pa.timestamp("us")),
    "timestamptz": Reading(AS_MICROS, pa.int64(), pa.timestamp("us", "UTC")),
    "time": _plain("to_char({value}, 'HH24:MI:SS.US')", pa.string()),
    "timetz": _plain(ZONED_TIME, pa.string()),
    "interval": _plain(INTERVAL_MICROS, pa.int64()),
    "varbit": _plain(BIT_BYTES, pa.binary()),
    "point": Reading("ARRAY[{value}[0], {value}[1]]", pa.list_(pa.float64()), POINT),
}


def read_rows(connection: Connection, table: str, schema: str = "public") -> pa.Table:
    """Read a whole table, in the types of its mirror.

    A type that is not among the known ones is given as the text that PostgreSQL writes, which is
    what Debezium does with most of them: uuid, json, xml, inet, ranges, enums and the like.

    Raises:
        UnmirrorableValueError: A value, such as an infinite date, has no form in any mirror.
    """
    name = sql.Identifier(schema, table)
    columns = connection.execute(COLUMNS, [name.as_string(connection)]).fetchall()
    if not columns:
        raise psycopg.errors.UndefinedTable(f"there is no table {schema}.{table}")
    readings = {
        column: _list_of(_reading(kind, modifier)) if is_list else _reading(kind, modifier)
        for column, kind, modifier, is_list in columns
    }
    expressions = [
        sql.SQL(reading.expression).format(value=sql.Identifier(column))
        for column, reading in readings.items()
    ]
    query = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(expressions), name)
    try:
        rows = _fetched(connection, query, pa.schema([(c, r.read) for c, r in readings.items()]))
    except (psycopg.DataError, psycopg.NotSupportedError, pa.ArrowInvalid) as error:
        raise UnmirrorableValueError(f"{schema}.{table}", str(error).splitlines()[0]) from error
    mirrored = [
        _points(rows[column]) if reading.mirrored == POINT else rows[column].cast(reading.mirrored)
        for column, reading in readings.items()
    ]
    return pa.table(mirrored, names=list(readings))


def primary_key(connection: Connection, table: str, schema: str = "public") -> tuple[str, ...]:
    """Name the columns of a table's primary key, in their order; empty if it has none."""
    name = sql.Identifier(schema, table).as_string(connection)
    return tuple(column for (column,) in connection.execute(KEY, [name]).fetchall())


def _fetched(connection: Connection, query: sql.Composed, schema: pa.Schema) -> pa.Table:
    batches = []
    # In binary form, so that no floating point number passes through text; on the server until it
    # is fetched, so that never all rows are Python objects at once.
    with connection.transaction(), connection.cursor("_mirror_rows", binary=True) as cursor:
        cursor.execute(query)
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
            batches.append(pa.record_batch(arrays, schema=schema))
    return pa.Table.from_batches(batches, schema)


def _reading(kind: str, modifier: int) -> Reading:
    if kind == "numeric":
        return _numeric(modifier)
    if kind == "bit":
        one = _plain("({value} = B'1')", pa.bool_())
        return one if modifier == 1 else _plain(BIT_BYTES, pa.binary())
    return READINGS.get(kind) or _plain(AS_WRITTEN, pa.string())


def _numeric(modifier: int) -> Reading:
    """Read the precision and the signed scale out of the type's modifier; -1 stands for neither."""
    packed = modifier - 4
    precision, scale = packed >> 16 & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024
    if modifier < 0:
        return _plain(SHORTEST_DECIMAL, pa.string())
    if not 0 <= scale <= precision <= WIDEST_DECIMAL:
        return _plain("{value}::text", pa.string())
    return _plain("{value}", pa.decimal128(precision, scale))


def _list_of(element: Reading) -> Reading:
    """Read an array element by element, with its nulls and in its order."""
    expression: LiteralString = (
        "CASE WHEN {value} IS NULL THEN NULL ELSE ARRAY(SELECT "
        + element.expression.replace("{value}", "_mirror_element")
        + " FROM unnest({value}) WITH ORDINALITY AS _mirror_elements (_mirror_element, place)"
        + " ORDER BY place) END"
    )
    return Reading(expression, pa.list_(element.read), pa.list_(element.mirrored))


def _points(pairs: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give points the form that Debezium has for them: two numbers, and both as one binary."""
    x, y = (pc.list_element(pairs, place).combine_chunks() for place in (0, 1))
    known = np.zeros(len(x), [("order", "u1"), ("kind", "<u4"), ("x", "<f8"), ("y", "<f8")])
    known["order"], known["kind"] = 1, 1  # least byte first; a point
    known["x"], known["y"] = (part.fill_null(0).to_numpy() for part in (x, y))
    binary = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(known.itemsize), len(known), [None, pa.py_buffer(known.tobytes())]
    )
    members = [x, y, binary.cast(pa.binary()), pa.nulls(len(x), pa.int32())]
    return pa.chunked_array(
        [pa.StructArray.from_arrays(members, fields=list(POINT), mask=x.is_null())]
    )
