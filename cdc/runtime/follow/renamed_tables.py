"""How mirrored tables follow a source table that got another name, and with it another topic.

0. wait     until everything of the old topic is applied: what comes under the new name is newer
1. note     the old topic is left, so that its records make no table anew
2. rename   in the catalog, each table; files, snapshots and ledgers stay as they are
3. turn     each table to its new topic, in one commit; its ledger then has nothing of it yet
4. finish   the note

A run that is cut off before step 2 has changed no table, and the note is taken back. After step 2 a
table has its new name and the old topic, which nobody else can have: the next start goes on there.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from cdc.commit import IcebergTable, read_ledger, set_properties
from cdc.config import ChangeKind
from cdc.errors import CatalogError, RenamedTableError
from cdc.model import TableName
from cdc.runtime.follow.actions import Rename
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.follow.dropped_tables import last_place
from cdc.runtime.follow.source_decisions import Arrival, RenameDecisions, former_source
from cdc.state.left_topics import LeftTable, LeftTopic
from cdc.state.names import MIRROR_PROPERTY, TOPIC_PROPERTY
from cdc.state.schema_log import table_event
from cdc.state.table_state import TableState
from cdc.state.table_view import TableView

logger = logging.getLogger(__name__)


class RenamedTables:
    """Follows renamed tables of one mirror."""

    def __init__(self, context: MirrorContext) -> None:
        self._context = context
        self._tables = context.tables

    def decisions(self) -> RenameDecisions:
        """Look at all tables that are open, for what is to be decided now."""
        views = [mirrored.view for mirrored in self._tables.all]
        watch = self._context.watch
        lookups = {view.name: watch.lookup_of(view) for view in views}
        return RenameDecisions(self._context.config, views, lookups, watch.found)

    def open_told(self, arrival: Arrival) -> None:
        """Open the tables that the config says a source had under another name."""
        old = former_source(arrival.source, arrival.renamed_from)
        for rule in self._context.config.tables.targets_for(old.schema, old.table):
            found = self._context.catalog.load(self._tables.name_of(rule, old))
            properties = found.properties if found is not None else {}
            topic = properties.get(TOPIC_PROPERTY, arrival.topic)
            is_ours = properties.get(MIRROR_PROPERTY) == self._context.config.name
            if is_ours and topic != arrival.topic:
                self._tables.open(topic, old)

    def follow(
        self, former: Sequence[TableView], ends: Mapping[int, int], arrival: Arrival, width: int
    ) -> None:
        """Give tables their new names and their new topic: steps 1 to 4.

        Args:
            former: The tables, with everything of their old topic applied.
            ends: The next offset of each of its partitions.
            arrival: What they become.
            width: How many partitions the new topic has.

        Raises:
            RenamedTableError: They cannot have those names, or be what the rule of the new name
                says; nothing is changed.
        """
        renames = self.decisions().renames(former, arrival, self._tables.name_of, self._is_taken)
        left = LeftTopic(
            topic=former[0].topic,
            offsets=dict(ends),
            tables=tuple(
                LeftTable(view.uuid, view.name, view.location, rename.new)
                for view, rename in zip(former, renames, strict=True)
            ),
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            successor=arrival.topic,
            width=width,
        )
        self._note(left)
        try:
            self._carry_out(left)
        except CatalogError as error:
            if not self._is_untouched(left):
                raise  # the next start goes on
            self._context.left.cancel(left.topic)
            source = str(former[0].source)
            raise RenamedTableError(str(arrival.source), source, error.reason) from error
        for view in former:
            self._tables.forget(view.id)

    def recover(self) -> None:
        """Go on with what the last run may have left half done. Done twice, it is done once."""
        for left in self._context.left.unfinished:
            if left.successor is not None and self._is_untouched(left):
                self._context.left.cancel(left.topic)
            elif left.successor is not None:
                self._carry_out(left)

    def _note(self, left: LeftTopic) -> None:
        """Step 1."""
        self._context.left.note(left)

    def _carry_out(self, left: LeftTopic) -> None:
        """Steps 2 to 4, as far as they are not done."""
        for entry in left.tables:
            if entry.new_name != entry.name and self._at(entry.name, entry) is not None:
                self._rename(entry)
        for entry in left.tables:
            table = self._at(entry.new_name, entry)
            if table is not None and table.properties.get(TOPIC_PROPERTY) == left.topic:
                self._turn(table, entry, left)
        self._context.left.finish(left.topic)

    def _is_untouched(self, left: LeftTopic) -> bool:
        """Say whether all tables have their old names and their old topic."""
        tables = [self._at(entry.name, entry) for entry in left.tables]
        return all(t is not None and t.properties[TOPIC_PROPERTY] == left.topic for t in tables)

    def _is_taken(self, name: TableName) -> bool:
        return self._context.catalog.load(name) is not None

    def _rename(self, entry: LeftTable) -> None:
        """Step 2, for one table."""
        assert entry.new_name is not None
        self._context.catalog.rename(entry.name, entry.new_name)

    def _turn(self, table: IcebergTable, entry: LeftTable, left: LeftTopic) -> None:
        """Step 3, for one table, in one commit."""
        assert left.successor is not None
        new = entry.new_name or entry.name
        ledger = read_ledger(table)
        state = TableState.read(table.properties, table.schema, str(new))
        (action,) = Rename(entry.name, new).texts
        text = f"{action}, topic {left.topic} to {left.successor}"
        place = last_place(ledger.partitions if ledger is not None else {})
        turned = replace(
            state,
            topic=left.successor,
            # The same key may have another partition in the new topic.
            lanes=state.lanes.with_topic(left.width, table.sequence_number),
            former=state.former if ledger is None else (ledger.topic, ledger.batch),
        ).noted(table_event(ChangeKind.RENAME_TABLE, text, place, left.when))
        set_properties(table, state.changes_to(turned))
        logger.info("followed table=%s action=%s", new, action)

    def _at(self, name: TableName | None, entry: LeftTable) -> IcebergTable | None:
        """Give a table if it has that name; another one may have it."""
        table = None if name is None else self._context.catalog.load(name)
        return table if table is not None and table.uuid == entry.uuid else None
