"""Where a message holds its row, and what it says about the change.

Three forms are known: Debezium's envelope with `op`, `source` and `after`; the flat row that
ExtractNewRecordState leaves of it, whose added fields begin with `__`; and MongoDB's envelope, in
which `after` is the text of a document.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.change_time import ENDS, added_time_fields, time_fields, times
from cdc.decode.messages import BadMessage, MessageGroup, Rows
from cdc.decode.parts import in_parts
from cdc.dialect import Dialect
from cdc.model import NO_POSITION, Form, Op, SourceColumn, SourceTable, SourceType

TEXT, NUMBER = SourceType("string"), SourceType("int64")
DOCUMENT = SourceColumn("document", SourceType("string", "io.debezium.data.Json"))
ENVELOPE_FIELDS = frozenset({"after", "source", "op"})
# What ExtractNewRecordState adds to a row by default or on request (add.fields), of the envelope
# or of its source and transaction blocks, with two underscores before it.
ADDED = re.compile(
    r"""__(source_|transaction_)?(
    op|deleted|name|version|connector|snapshot|db|schema|table|collection|sequence|ts_[mun]s
    |lsn|xmin|txId|file|pos|row|thread|query|gtid|server_id|change_lsn|commit_lsn|event_serial_no
    |scn|commit_scn|rs_id|ssn|redo_thread|lcr_position|rs|ord|h|id|total_order|data_collection_order
    )""",
    re.VERBOSE,
)
MARKERS = frozenset({"__op", "__deleted"})
ROW_OPS = pa.array([Op.CREATE, Op.UPDATE, Op.DELETE, Op.READ], pa.string())
OPS = pa.array([*ROW_OPS.to_pylist(), Op.TRUNCATE], pa.string())


@dataclass(frozen=True, slots=True)
class Layout:
    """The form of a group's messages and the columns of their rows."""

    form: Form
    columns: tuple[SourceColumn, ...]


@dataclass(frozen=True, slots=True)
class RawChanges:
    """Changes of one schema, their values not converted yet; `row` has a member per column."""

    layout: Layout
    rows: Rows
    op: pa.Array
    position: pa.Array
    time: pa.Array
    row: pa.StructArray
    tables: frozenset[SourceTable] = frozenset()
    before: pa.StructArray | None = None  # the rows as they were, where they were asked for
    # Which of them are rows of a snapshot with which a connector begins anew.
    snapshot: pa.Array | None = None

    def take(self, indexes: Rows) -> "RawChanges":
        """Choose some of the changes by their indexes, rising."""
        if len(indexes) == len(self.rows):
            return self
        index = pa.array(indexes)
        op, position, time, row = (
            part.take(index) for part in (self.op, self.position, self.time, self.row)
        )
        before = None if self.before is None else self.before.take(index)
        snapshot = None if self.snapshot is None else self.snapshot.take(index)
        rows = self.rows[indexes]
        return RawChanges(self.layout, rows, op, position, time, row, self.tables, before, snapshot)

    def as_deletes(self) -> "RawChanges":
        """Make the same changes deletes."""
        return replace(self, op=pa.array([Op.DELETE] * len(self.rows), pa.string()))

    @staticmethod
    def deletes(rows: Rows) -> "RawChanges":
        """Make the deletes of rows of which nothing but the key is known."""
        return RawChanges(
            Layout(Form.FLAT, ()),
            rows,
            pa.array([Op.DELETE] * len(rows), pa.string()),
            pa.array([NO_POSITION] * len(rows), pa.int64()),
            times({}, len(rows)),
            pa.array([{}] * len(rows), pa.struct([])),
        )


def layout_of(kind: SourceType) -> Layout | str:
    """Recognise a message by its schema, or say why it is no change."""
    fields = {field.name: field.type for field in kind.fields}
    if fields.keys() >= ENVELOPE_FIELDS:
        after = fields["after"]
        if after.kind == "string":
            return Layout(Form.DOCUMENT, (DOCUMENT,))
        if after.kind != "struct":
            return f"its schema cannot be read: after is a {after.kind}"
        return Layout(Form.ENVELOPE, after.fields)
    if fields.keys() & MARKERS or (kind.logical or "").endswith(".Value"):
        return Layout(Form.FLAT, tuple(f for f in kind.fields if not ADDED.fullmatch(f.name)))
    return "it is not a Debezium change"


def read_changes(
    group: MessageGroup,
    layout: Layout,
    names: Iterable[str],
    dialect: Dialect,
    topic: str,
    *,
    before: bool = False,
) -> tuple[RawChanges, list[BadMessage]]:
    """Read the changes of a group: how each is done, where it stands, and some columns.

    With `before` those of the row as it was before the change are read, too.

    The messages that turn out to be no change are given with their rows in the group's own array.
    """
    columns = tuple(column for column in layout.columns if column.name in set(names))
    if layout.form is Form.FLAT:
        fields, parts = _flat_fields(group, columns, dialect)
    else:
        fields, parts = _envelope_fields(group, layout, columns, dialect, before)
    raw = group.read(fields)
    rows = group.rows[raw.indexes]
    bad_messages = [BadMessage(int(group.rows[b.row]), b.reason) for b in raw.bad_messages]
    op, row, old, source, moments = parts(raw.table)
    snapshot = _of_snapshot(op, source, dialect)
    good = np.ones(len(rows), bool)
    named = named_by(topic, dialect) if layout.form is Form.FLAT else None
    for wrong, reason in (*_misfits(op, row, layout), _unnamed(source, dialect, named)):
        for index in np.flatnonzero(wrong & good).tolist():
            bad_messages.append(BadMessage(int(rows[index]), reason(index)))
        good &= ~wrong
    position, lost = _positions(source, dialect)
    bad_messages += [BadMessage(int(rows[b.row]), b.reason) for b in lost if good[b.row]]
    good[[b.row for b in lost]] = False
    if not good.all():
        source = {name: column.filter(pa.array(good)) for name, column in source.items()}
    tables = _source_tables(source, dialect, named)
    # The flat row of a delete is the row as it was.
    image = (row if old is None else old) if before else None
    time = times(moments, len(rows))
    changes = RawChanges(layout, rows, op, position, time, row, tables, image, snapshot)
    return changes.take(np.flatnonzero(good)), bad_messages


# What was read: op, the row and, if asked for, the row as it was; of a flat row they are the same.
_Parts = tuple[
    pa.Array, pa.StructArray, pa.StructArray | None, dict[str, pa.Array], dict[str, pa.Array]
]
Parts = Callable[[pa.Table], _Parts]
Verdict = tuple["np.ndarray[tuple[int], np.dtype[np.bool_]]", Callable[[int], str]]


def _envelope_fields(
    group: MessageGroup,
    layout: Layout,
    columns: Sequence[SourceColumn],
    dialect: Dialect,
    before: bool,
) -> tuple[list[SourceColumn], Parts]:
    source_fields = _source_fields(dialect)
    described = next(field.type.fields for field in group.type.fields if field.name == "source")
    # Without a schema nothing is said of the source block: it may have them all.
    moments = time_fields(described) if described else tuple(ENDS)
    asked = source_fields | dict.fromkeys(moments, NUMBER)
    source = SourceType("struct", fields=tuple(SourceColumn(n, t) for n, t in asked.items()))
    kind = TEXT if layout.form is Form.DOCUMENT else SourceType("struct", fields=tuple(columns))
    images = [SourceColumn(name, kind) for name in (("after", "before") if before else ("after",))]

    def parts(table: pa.Table) -> _Parts:
        block, rows = _array(table["source"]), [_array(table[image.name]) for image in images]
        if layout.form is Form.DOCUMENT:
            rows = [
                pa.StructArray.from_arrays([row], names=[DOCUMENT.name], mask=row.is_null())
                for row in rows
            ]
        fields = {name: pc.struct_field(block, name) for name in asked}
        times_ = {name: fields[name] for name in moments}
        return _array(table["op"]), rows[0], rows[1] if before else None, fields, times_

    fields = [SourceColumn("op", TEXT), SourceColumn("source", source)]
    return [*fields, *images], parts


def _flat_fields(
    group: MessageGroup, columns: Sequence[SourceColumn], dialect: Dialect
) -> tuple[list[SourceColumn], Parts]:
    present = {field.name: field.type for field in group.type.fields}
    added = {}
    for name, kind in {"op": TEXT, "deleted": TEXT, **_source_fields(dialect)}.items():
        for found in (f"__source_{name}", f"__{name}"):
            # Under another type it is something else of the same name.
            if found in present and present[found].kind == kind.kind:
                added[name] = found
    moments = added_time_fields(group.type.fields)

    def parts(table: pa.Table) -> _Parts:
        def field(name: str, kind: SourceType) -> pa.Array:
            if name in added:
                return _array(table[added[name]])
            return pa.nulls(len(table), pa.int64() if kind.kind == "int64" else pa.string())

        deleted = pc.equal(pc.fill_null(field("deleted", TEXT), ""), "true")
        usual = pc.fill_null(field("op", TEXT), Op.UPDATE)
        op = pc.if_else(deleted, pa.scalar(Op.DELETE, pa.string()), usual)
        values = [_array(table[column.name]) for column in columns]
        row = pa.StructArray.from_arrays(values, names=[column.name for column in columns])
        if not columns:
            row = pa.array([{}] * len(table), pa.struct([]))
        source = {name: field(name, kind) for name, kind in _source_fields(dialect).items()}
        return op, row, None, source, {name: _array(table[name]) for name in moments}

    names = dict.fromkeys((*added.values(), *moments))
    return [*columns, *(SourceColumn(name, present[name]) for name in names)], parts


def _source_fields(dialect: Dialect) -> dict[str, SourceType]:
    names = ("name", "db", dialect.schema_field, dialect.table_field)
    fields = {**dialect.position_fields, **dialect.snapshot_fields}
    return dict.fromkeys(names, TEXT) | {n: SourceType(kind) for n, kind in fields.items()}


def _misfits(op: pa.Array, row: pa.StructArray, layout: Layout) -> list[Verdict]:
    """Find what is no change of a row, and changes without their row."""
    known = pc.fill_null(pc.is_in(op, OPS), False)
    needs = pc.and_(pc.is_in(op, ROW_OPS), pc.not_equal(pc.fill_null(op, ""), Op.DELETE))
    rowless = pc.and_(needs, row.is_null())

    def no_row(index: int) -> str:
        if layout.form is Form.DOCUMENT and op[index].as_py() == Op.UPDATE:
            return (
                "it has no document: either it was deleted before the connector could look it up, "
                "and a delete follows, or capture.mode is not change_streams_update_full"
            )
        return f"its op is {op[index].as_py()!r} but it has no row"

    return [
        (_mask(pc.invert(known)), lambda index: _no_op(op[index].as_py())),
        (_mask(rowless), no_row),
    ]


def _no_op(op: str | None) -> str:
    return f"its op is {op!r}, which is no change of a row"


def _unnamed(source: dict[str, pa.Array], dialect: Dialect, named: SourceTable | None) -> Verdict:
    nameless = _mask(source[dialect.table_field].is_null())
    return nameless & (named is None), lambda _: "its source block names no table"


def _source_tables(
    source: dict[str, pa.Array], dialect: Dialect, named: SourceTable | None
) -> frozenset[SourceTable]:
    names = ["server", "database", "schema", "table"]
    fields = ("name", "db", dialect.schema_field, dialect.table_field)
    parts = [pc.fill_null(source[field], "") for field in fields]
    unique = pa.Table.from_arrays(parts, names).group_by(names, use_threads=False).aggregate([])
    return frozenset(
        SourceTable(
            **{name: row[name] or (getattr(named, name) if named else "") for name in names}
        )
        for row in unique.to_pylist()
    )


def _of_snapshot(op: pa.Array, source: dict[str, pa.Array], dialect: Dialect) -> pa.Array | None:
    """Say which rows were read by a snapshot with which the connector began anew."""
    read = pc.fill_null(pc.equal(op, Op.READ), False)
    if dialect.fresh is None or not pc.any(read).as_py():
        return None
    fields = {name: source[name] for name in dialect.snapshot_fields}
    return pc.and_(read, pc.fill_null(dialect.fresh(fields), False))


def named_by(topic: str, dialect: Dialect) -> SourceTable | None:
    """Read the table from a topic's name, for flat rows, which need not say what they belong to."""
    parts = topic.split(".")
    count = len(dialect.topic_parts)
    if len(parts) <= count:
        return None
    server, names = (
        ".".join(parts[:-count]),
        dict(zip(dialect.topic_parts, parts[-count:], strict=True)),
    )
    # A topic of PostgreSQL does not name the database: what stands for all its tables will do.
    database = names.get("database", server)
    return SourceTable(server, database, names.get("schema", database), names["table"])


def _positions(source: dict[str, pa.Array], dialect: Dialect) -> tuple[pa.Array, list[BadMessage]]:
    fields = {name: source[name] for name in dialect.position_fields}
    count = len(next(iter(source.values())))
    reasons: dict[int, str] = {}

    def attempt(start: int, size: int) -> pa.Array | None:
        try:
            part = {name: column.slice(start, size) for name, column in fields.items()}
            return _array(pc.fill_null(dialect.position(part), NO_POSITION)).cast(pa.int64())
        except pa.ArrowException as error:
            reasons[start] = f"its source position is none: {error}"
            return None

    pieces, bad_messages = [pa.array([], pa.int64())], []
    for start, size, part in in_parts(count, attempt):
        pieces.append(part if part is not None else pa.array([NO_POSITION] * size, pa.int64()))
        if part is None:
            bad_messages.append(BadMessage(start, reasons[start]))
    return pa.concat_arrays(pieces), bad_messages


def _mask(values: pa.Array) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]]
    mask = pc.fill_null(values, False).to_numpy(zero_copy_only=False).astype(bool)
    return mask


def _array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column
