"""One chunk of a topic partition's records to an Arrow table of changes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.change_tables import Converter
from cdc.decode.decode_plan import DecodePlan
from cdc.decode.envelope import Layout, RawChanges, layout_of, read_changes
from cdc.decode.eras import View, eras, renamed, renamed_schema, view, with_defaults
from cdc.decode.messages import BadMessage, MessageGroup, Rejected, Rows
from cdc.decode.record_keys import RecordKeys
from cdc.decode.schemaless import SchemalessGroup
from cdc.decode.wire import NoRegistryError, split
from cdc.errors import AvroTopicError, ManyTablesError
from cdc.model import (
    BadRecord,
    Cutoff,
    Form,
    Op,
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
    new_schemas: tuple[SourceSchema, ...] = ()
    places: Mapping[SourceSchema, SchemaPlace] = field(default_factory=dict)  # of the new schemas
    truncates: tuple[Cutoff, ...] = ()
    snapshots: tuple[Cutoff, ...] = ()  # where the connector began anew with a snapshot
    tombstones: int = 0
    bad: tuple[BadRecord, ...] = ()
    bare: bool = False  # some messages carry no schema
    # How many changes there are beyond one for each record: deletes of keys that rows left, and
    # truncates, which are counted above.
    extra: int = 0


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
        chunk.decode()
    except NoRegistryError as error:
        offset = offsets[error.row].as_py()
        raise AvroTopicError(plan.topic, partition, offset) from error
    if len(chunk.tables) > 1:
        raise ManyTablesError(plan.topic, tuple(sorted(str(table) for table in chunk.tables)))
    new = tuple(chunk.new)
    return DecodedChanges(
        table=next(iter(chunk.tables), None),
        changes=() if new or plan.schema is None else tuple(chunk.changes),
        new_schemas=new,
        places=chunk.new,
        truncates=tuple(chunk.truncates),
        snapshots=tuple(chunk.snapshots),
        tombstones=chunk.tombstones,
        bad=chunk.bad,
        bare=chunk.bare,
        extra=0 if new else chunk.extra,
    )


class _Chunk:
    """The records of a chunk, and what has been made of them."""

    def __init__(
        self, partition: int, offsets: pa.Array, keys: pa.Array, values: pa.Array, plan: DecodePlan
    ) -> None:
        self.partition, self.offsets, self.values = partition, offsets, values
        self.plan = plan
        self.tables: set[SourceTable] = set()
        self.new: dict[SourceSchema, SchemaPlace] = {}
        self.changes: list[pa.Table] = []
        self.extra = 0
        self.truncates: list[Cutoff] = []
        self.snapshots: list[Cutoff] = []
        self.tombstones = 0
        self.bare = False
        self._deleted: list[int] = []  # flat rows marked as deleted, where they have no key
        self._rejected = Rejected()
        self._keys = RecordKeys(keys, plan, self._rejected)
        self._converter = None
        if plan.schema is not None:
            self._converter = Converter(offsets, self._keys, plan, self._rejected)

    @property
    def bad(self) -> tuple[BadRecord, ...]:
        """The records that cannot be read, in their order."""
        rejected = self._rejected
        return tuple(BadRecord(self.offsets[row].as_py(), rejected[row]) for row in rejected.rows)

    def decode(self) -> None:
        """Go through the messages, one schema at a time."""
        present = self.values.is_valid().to_numpy(zero_copy_only=False)
        for group in self._split(np.flatnonzero(present)):
            layout = layout_of(group.type)
            self.bare |= isinstance(group, SchemalessGroup)
            if isinstance(group, SchemalessGroup) and group.inferred and not self.plan.infers:
                layout = NO_SCHEMA
            if isinstance(layout, str):
                self._rejected.add(BadMessage(row, layout) for row in group.rows.tolist())
            else:
                self._take(group, layout)
        if not present.all():
            self._take_tombstones(np.flatnonzero(~present))

    def _split(self, rows: Rows) -> Iterator[MessageGroup]:
        """Split the values of some records by schema."""
        messages = self.values
        if len(rows) != len(messages):
            messages = messages.take(pa.array(rows))
        for item in split(messages, rows, self.plan.wire, self.plan.declared):
            if isinstance(item, BadMessage):
                self._rejected.add([item])
            else:
                yield item

    def _take(self, group: MessageGroup, layout: Layout) -> None:
        plan = self.plan
        raw, bad = read_changes(
            group, layout, plan.wanted, plan.dialect, plan.topic, before=plan.reads_before
        )
        self._rejected.add(bad)
        self.tables |= raw.tables
        if raw.snapshot is not None:
            self._note_snapshots(raw, np.flatnonzero(raw.snapshot.to_numpy(zero_copy_only=False)))
        is_truncate = pc.equal(raw.op, Op.TRUNCATE).to_numpy(zero_copy_only=False)
        if is_truncate.any():
            self._take_truncates(raw.take(np.flatnonzero(is_truncate)))
        for key, changes in self._by_key(raw.take(np.flatnonzero(~is_truncate))):
            schema = _schema(group, layout, key)
            for era, part in self._by_era(changes):
                later = plan.events[era:]
                if later and plan.schema is not None:
                    names, partial = plan.schema.names, plan.keys_only
                    self._take_old(part, schema, view(schema, later, names, partial=partial))
                elif plan.has_room(schema):
                    self._convert(part, schema)
                else:
                    self._note_new(part, schema)

    def _note_snapshots(self, raw: RawChanges, rows: Rows) -> None:
        """Note where snapshots begin: all rows of one have the same place in the source's log."""
        if not len(rows):
            return
        positions = raw.position.to_numpy(zero_copy_only=False)[rows]
        for start in (0, *(np.flatnonzero(np.diff(positions)) + 1).tolist()):
            place = int(rows[start])
            offset, time = self.offsets[int(raw.rows[place])].as_py(), raw.time[place].value
            position = int(positions[start])
            self.snapshots.append(Cutoff.before_snapshot(self.partition, offset, position, time))

    def _by_era(self, raw: RawChanges) -> Iterator[tuple[int, RawChanges]]:
        """Part changes by how many changes of their table's columns came before them."""
        events = self.plan.events
        if not events or not len(raw.rows):
            yield len(events), raw
            return
        reached = eras(raw, events)
        for era in np.unique(reached).tolist():
            yield era, raw.take(np.flatnonzero(reached == era))

    def _take_old(self, raw: RawChanges, schema: SourceSchema, seen: View | None) -> None:
        """Take changes from before the table's columns were what they are."""
        if seen is None:
            self._note_new(raw, schema)
            return
        before = len(self.changes)
        old = renamed_schema(schema, seen.names)
        self._convert(renamed(raw, seen.names), old, seen.names)
        self.changes[before:] = [
            with_defaults(changes, seen.defaults) for changes in self.changes[before:]
        ]

    def _note_new(self, raw: RawChanges, schema: SourceSchema) -> None:
        """Note a schema that the table does not know, and where it came first."""
        if not len(raw.rows):
            self.new.setdefault(schema, SchemaPlace(self.partition, self.offsets[0].as_py()))
            return
        place = SchemaPlace(
            self.partition,
            self.offsets[int(raw.rows[0])].as_py(),
            raw.position[0].as_py(),
            raw.time[0].value,
        )
        self.new.setdefault(schema, place)

    def _take_truncates(self, raw: RawChanges) -> None:
        for place, row in enumerate(raw.rows.tolist()):
            position, time = raw.position[place].as_py(), raw.time[place].value
            truncate = Cutoff(self.partition, self.offsets[row].as_py(), position, time)
            self.truncates.append(truncate)
        if self.plan.truncates_as_rows and self._converter is not None:
            self.changes.append(self._converter.truncates(raw))
            self.extra += len(raw.rows)

    def _by_key(self, raw: RawChanges) -> Iterator[tuple[tuple[SourceColumn, ...], RawChanges]]:
        """Part changes by the columns of their keys."""
        keyed = self._keys.present(raw.rows)
        if not keyed.all():
            yield (), raw.take(np.flatnonzero(~keyed))
        places = np.flatnonzero(keyed)
        for group in self._keys.split(raw.rows[places], raw.layout.columns):
            members = places[np.searchsorted(raw.rows[places], group.rows)]
            yield group.type.fields, raw.take(members)

    def _take_tombstones(self, rows: Rows) -> None:
        """Count the records that follow a delete; of flat rows they are the deletes themselves."""
        keyed = self._keys.present(rows)
        if not self.plan.flat or self.plan.schema is None:
            self.tombstones += len(rows)
            return
        self.tombstones += int((~keyed).sum())
        for group in self._keys.split(rows[keyed]):
            names = tuple(column.name for column in group.type.fields)
            lacking = [name for name in self.plan.row_key if name not in names]
            if lacking:
                self._refuse_tombstones(group.rows, lacking)
            else:
                self._convert(RawChanges.deletes(group.rows), SourceSchema((), names, Form.FLAT))

    def _refuse_tombstones(self, rows: Rows, lacking: list[str]) -> None:
        """Count those that repeat the delete before them; of the others nobody knows the key."""
        repeats = np.isin(rows - 1, self._deleted) & self._keys.same_as_before(rows)
        self.tombstones += int(repeats.sum())
        reason = TOMBSTONE.format(", ".join(lacking))
        self._rejected.add(BadMessage(row, reason) for row in rows[~repeats].tolist())

    def _convert(
        self, raw: RawChanges, schema: SourceSchema, names: Mapping[str, str] | None = None
    ) -> None:
        assert self._converter is not None
        if schema.form is Form.FLAT and self.plan.row_key:
            deleted = pc.equal(raw.op, Op.DELETE).to_numpy(zero_copy_only=False)
            self._deleted += raw.rows[deleted].tolist()
        made = self._converter.convert(raw, schema, names)
        if made.moved is not None:
            # Before the changes that they came with: what has one offset keeps this order.
            self.changes.append(made.moved)
            self.extra += len(made.moved)
        self.changes.append(made.changes)


def _schema(group: MessageGroup, layout: Layout, key: tuple[SourceColumn, ...]) -> SourceSchema:
    row, schemaless = layout.columns, isinstance(group, SchemalessGroup)
    told = {column.name: column for column in key if column.optional is not None}
    row = tuple(
        replace(column, optional=told[column.name].optional) if column.name in told else column
        for column in row
    )
    if layout.form is Form.DOCUMENT or schemaless:
        # A document says nothing of its key, and deletes without a schema of nothing else.
        present = {column.name for column in row}
        row = (*(column for column in key if column.name not in present), *row)
    names = tuple(column.name for column in key)
    if not isinstance(group, SchemalessGroup):
        return SourceSchema(row, names, layout.form)
    unseen = group.unseen if group.inferred else ()
    return SourceSchema(row, names, layout.form, group.inferred, unseen)
