"""One chunk of a topic partition's records to an Arrow table of changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.change_tables import Converter
from cdc.decode.decode_plan import DecodePlan, TargetTable
from cdc.decode.envelope import Layout, RawChanges, layout_of, read_changes
from cdc.decode.messages import BadMessage, BadRecords, MessageGroup, Rows
from cdc.decode.record_keys import RecordKeys
from cdc.decode.schema_versions import (
    column_mapping,
    events_before,
    renamed,
    renamed_schema,
    with_defaults,
)
from cdc.decode.schemaless import SchemalessGroup
from cdc.decode.wire import NoRegistryError, split
from cdc.errors import AvroTopicError, ManyTablesError
from cdc.model import (
    BadRecord,
    Cutoff,
    Form,
    Op,
    SchemaEvent,
    SchemaPlace,
    SourceColumn,
    SourceSchema,
    SourceTable,
)

NO_SCHEMA = "it has no schema"
TOMBSTONE = (
    "it is a tombstone, which does not say which {} its row had: set the transformation's "
    "delete.tombstone.handling.mode to rewrite"
)


@dataclass(frozen=True, slots=True)
class DecodedChanges:
    """The changes of one chunk; `changes` is absent where something new was met.

    Changes of one offset are in their order: an update that gave its row another key comes behind
    the delete of the old one.
    """

    table: SourceTable | None = None
    changes: tuple[pa.Table, ...] = ()
    # The schemas for which the table has no room, and where each was met first.
    places: Mapping[SourceSchema, SchemaPlace] = field(default_factory=dict)
    truncates: tuple[Cutoff, ...] = ()
    snapshots: tuple[Cutoff, ...] = ()  # where the connector began anew with a snapshot
    tombstones: int = 0
    bad_records: tuple[BadRecord, ...] = ()
    schemaless: bool = False  # some messages carry no schema
    # How many changes there are beyond one for each record: deletes of keys that rows left, and
    # truncates, which are counted above.
    extra: int = 0

    @property
    def new_schemas(self) -> tuple[SourceSchema, ...]:
        """The schemas for which the table has no room."""
        return tuple(self.places)


def decode_changes(
    partition: int, offsets: pa.Array, keys: pa.Array, values: pa.Array, plan: DecodePlan
) -> DecodedChanges:
    """Decode a chunk of one topic partition, in the order of its offsets.

    A record that cannot be read is given with its reason and never spoils its neighbours.

    Raises:
        MirrorError: The topic as a whole cannot be read.
    """
    chunk = _Chunk(partition, offsets, keys, values, plan)
    try:
        return chunk.decode()
    except NoRegistryError as error:
        offset = offsets[error.row].as_py()
        raise AvroTopicError(plan.topic, partition, offset) from error


class _Chunk:
    """The records of a chunk, and what has been made of them."""

    def __init__(
        self, partition: int, offsets: pa.Array, keys: pa.Array, values: pa.Array, plan: DecodePlan
    ) -> None:
        self._partition, self._offsets, self._values = partition, offsets, values
        self._plan, self._table = plan, plan.table
        self._tables: set[SourceTable] = set()
        self._new: dict[SourceSchema, SchemaPlace] = {}
        self._changes: list[pa.Table] = []
        self._extra = 0
        self._truncates: list[Cutoff] = []
        self._snapshots: list[Cutoff] = []
        self._tombstones = 0
        self._schemaless = False
        self._deleted: list[int] = []  # flat rows marked as deleted, where they have no key
        self._bad_records = BadRecords()
        self._keys = RecordKeys(keys, plan, self._bad_records)
        self._converter = None
        if plan.table is not None:
            self._converter = Converter(offsets, self._keys, plan, plan.table, self._bad_records)

    def decode(self) -> DecodedChanges:
        """Go through the messages, one schema at a time.

        Raises:
            NoRegistryError: They are Avro, and no registry is configured.
            ManyTablesError: They are of more than one table.
        """
        present = self._values.is_valid().to_numpy(zero_copy_only=False)
        for group in self._split(np.flatnonzero(present)):
            layout = layout_of(group.type)
            if isinstance(group, SchemalessGroup):
                self._schemaless = True
                if group.inferred and not self._plan.reads_schemaless:
                    layout = NO_SCHEMA
            if isinstance(layout, str):
                self._bad_records.add(BadMessage(row, layout) for row in group.rows.tolist())
            else:
                self._take(group, layout)
        if not present.all():
            self._take_tombstones(np.flatnonzero(~present))
        return self._decoded()

    def _decoded(self) -> DecodedChanges:
        if len(self._tables) > 1:
            names = tuple(sorted(str(table) for table in self._tables))
            raise ManyTablesError(self._plan.topic, names)
        bad = self._bad_records
        return DecodedChanges(
            table=next(iter(self._tables), None),
            changes=() if self._new or self._table is None else tuple(self._changes),
            places=self._new,
            truncates=tuple(self._truncates),
            snapshots=tuple(self._snapshots),
            tombstones=self._tombstones,
            bad_records=tuple(BadRecord(self._offsets[row].as_py(), bad[row]) for row in bad.rows),
            schemaless=self._schemaless,
            extra=0 if self._new else self._extra,
        )

    def _split(self, rows: Rows) -> Iterator[MessageGroup]:
        """Split the values of some records by schema."""
        messages = self._values
        if len(rows) != len(messages):
            messages = messages.take(pa.array(rows))
        for item in split(messages, rows, self._plan.wire, self._plan.columns):
            if isinstance(item, BadMessage):
                self._bad_records.add([item])
            else:
                yield item

    def _take(self, group: MessageGroup, layout: Layout) -> None:
        plan, table = self._plan, self._table
        names = frozenset() if table is None else table.source_names
        before = table is not None and table.reads_before
        raw, bad = read_changes(group, layout, names, plan.dialect, plan.topic, before=before)
        self._bad_records.add(bad)
        self._tables |= raw.tables
        if raw.snapshot is not None:
            self._note_snapshots(raw, np.flatnonzero(raw.snapshot.to_numpy(zero_copy_only=False)))
        is_truncate = pc.equal(raw.op, Op.TRUNCATE).to_numpy(zero_copy_only=False)
        if is_truncate.any():
            self._take_truncates(raw.take(np.flatnonzero(is_truncate)))
        for key, changes in self._by_key(raw.take(np.flatnonzero(~is_truncate))):
            schema = _schema(group, layout, key)
            for version, part in self._by_version(changes):
                later = () if table is None else table.events[version:]
                if later and table is not None:
                    self._take_old(part, schema, later, table)
                elif plan.accepts(schema):
                    self._convert(part, schema)
                else:
                    self._note_new(part, schema)

    def _note_snapshots(self, raw: RawChanges, rows: Rows) -> None:
        """Note where snapshots begin: all rows of one have the same position in the log."""
        if not len(rows):
            return
        positions = raw.position.to_numpy(zero_copy_only=False)[rows]
        for start in (0, *(np.flatnonzero(np.diff(positions)) + 1).tolist()):
            index = int(rows[start])
            offset, time = self._offsets[int(raw.rows[index])].as_py(), raw.time[index].value
            begin = Cutoff.before_snapshot(self._partition, offset, int(positions[start]), time)
            self._snapshots.append(begin)

    def _by_version(self, raw: RawChanges) -> Iterator[tuple[int, RawChanges]]:
        """Part changes by how many changes of their table's columns came before them."""
        events = () if self._table is None else self._table.events
        if not events or not len(raw.rows):
            yield len(events), raw
            return
        versions = events_before(raw, events)
        for version in np.unique(versions).tolist():
            yield version, raw.take(np.flatnonzero(versions == version))

    def _take_old(
        self,
        raw: RawChanges,
        schema: SourceSchema,
        later: Sequence[SchemaEvent],
        table: TargetTable,
    ) -> None:
        """Take changes from before the table's columns were what they are."""
        mapping = column_mapping(schema, later, table.schema.names, partial=table.keys_only)
        if mapping is None:
            self._note_new(raw, schema)
            return
        before = len(self._changes)
        old = renamed_schema(schema, mapping.names)
        self._convert(renamed(raw, mapping.names), old, mapping.names)
        self._changes[before:] = [
            with_defaults(changes, mapping.defaults) for changes in self._changes[before:]
        ]

    def _note_new(self, raw: RawChanges, schema: SourceSchema) -> None:
        """Note a schema that the table does not know, and where it came first."""
        if not len(raw.rows):
            self._new.setdefault(schema, SchemaPlace(self._partition, self._offsets[0].as_py()))
            return
        place = SchemaPlace(
            self._partition,
            self._offsets[int(raw.rows[0])].as_py(),
            raw.position[0].as_py(),
            raw.time[0].value,
        )
        self._new.setdefault(schema, place)

    def _take_truncates(self, raw: RawChanges) -> None:
        for index, row in enumerate(raw.rows.tolist()):
            position, time = raw.position[index].as_py(), raw.time[index].value
            truncate = Cutoff(self._partition, self._offsets[row].as_py(), position, time)
            self._truncates.append(truncate)
        if self._table is not None and self._table.truncates_as_rows:
            assert self._converter is not None
            self._changes.append(self._converter.truncates(raw))
            self._extra += len(raw.rows)

    def _by_key(self, raw: RawChanges) -> Iterator[tuple[tuple[SourceColumn, ...], RawChanges]]:
        """Part changes by the columns of their keys."""
        keyed = self._keys.present(raw.rows)
        if not keyed.all():
            yield (), raw.take(np.flatnonzero(~keyed))
        indexes = np.flatnonzero(keyed)
        for group in self._keys.split(raw.rows[indexes], raw.layout.columns):
            members = indexes[np.searchsorted(raw.rows[indexes], group.rows)]
            yield group.type.fields, raw.take(members)

    def _take_tombstones(self, rows: Rows) -> None:
        """Count the records that follow a delete; of flat rows they are the deletes themselves."""
        keyed = self._keys.present(rows)
        table = self._table
        if table is None or not table.flat:
            self._tombstones += len(rows)
            return
        self._tombstones += int((~keyed).sum())
        for group in self._keys.split(rows[keyed]):
            names = tuple(column.name for column in group.type.fields)
            unsent = [name for name in table.row_key if name not in names]
            if unsent:
                self._note_bad_tombstones(group.rows, unsent)
            else:
                self._convert(RawChanges.deletes(group.rows), SourceSchema((), names, Form.FLAT))

    def _note_bad_tombstones(self, rows: Rows, unsent: list[str]) -> None:
        """Count those that repeat the delete before them; of the others nobody knows the key."""
        repeats = np.isin(rows - 1, self._deleted) & self._keys.same_as_before(rows)
        self._tombstones += int(repeats.sum())
        reason = TOMBSTONE.format(", ".join(unsent))
        self._bad_records.add(BadMessage(row, reason) for row in rows[~repeats].tolist())

    def _convert(
        self, raw: RawChanges, schema: SourceSchema, names: Mapping[str, str] | None = None
    ) -> None:
        assert self._converter is not None and self._table is not None
        if schema.form is Form.FLAT and self._table.row_key:
            deleted = pc.equal(raw.op, Op.DELETE).to_numpy(zero_copy_only=False)
            self._deleted += raw.rows[deleted].tolist()
        made = self._converter.convert(raw, schema, names)
        if made.moved is not None:
            # Before the changes that they came with: what has one offset keeps this order.
            self._changes.append(made.moved)
            self._extra += len(made.moved)
        self._changes.append(made.changes)


def _schema(group: MessageGroup, layout: Layout, key: tuple[SourceColumn, ...]) -> SourceSchema:
    row, schemaless = layout.columns, isinstance(group, SchemalessGroup)
    stated = {column.name: column.optional for column in key if column.optional is not None}
    row = tuple(
        replace(column, optional=stated[column.name]) if column.name in stated else column
        for column in row
    )
    if layout.form is Form.DOCUMENT or schemaless:
        # A document says nothing of its key, and deletes without a schema of nothing else.
        present = {column.name for column in row}
        row = (*(column for column in key if column.name not in present), *row)
    names = tuple(column.name for column in key)
    if not isinstance(group, SchemalessGroup):
        return SourceSchema(row, names, layout.form)
    untyped = group.untyped if group.inferred else ()
    return SourceSchema(row, names, layout.form, group.inferred, untyped)
