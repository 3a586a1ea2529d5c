"""Mirrored tables whose source is dropped, or made again: what was decided is done here."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from cdc.config import ChangeKind
from cdc.errors import MirrorError
from cdc.model import PartitionMark, SchemaPlace
from cdc.runtime.follow.actions import SourceChange
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.follow.source_decisions import (
    NOT_THERE,
    SourceLookup,
    SourceTableState,
    source_action,
)
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.state.left_topics import LeftTable, LeftTopic
from cdc.state.schema_log import table_event
from cdc.state.source_identity import Moment, SourceIdentity

logger = logging.getLogger(__name__)


class DroppedTables:
    """Lets the tables of a mirror follow what became of their sources."""

    def __init__(self, context: MirrorContext) -> None:
        self._context = context
        self._tables = context.tables

    def lookup(self, mirrored: MirroredTable) -> SourceLookup:
        """Tell from the catalog's last answer what became of a table's source."""
        return self._context.watch.lookup_of(mirrored.view)

    def is_gone(self, mirrored: MirroredTable) -> bool:
        """Say whether the source has no such table."""
        return self.lookup(mirrored).state in NOT_THERE

    def is_new(self, mirrored: MirroredTable) -> bool:
        """Say whether something became of a table's source that the table does not know."""
        lookup = self.lookup(mirrored)
        if lookup.state in NOT_THERE:
            return mirrored.state.source.dropped is None
        return lookup.state is SourceTableState.REPLACED

    def follow(self, mirrored: MirroredTable, ends: Mapping[int, int] | None) -> bool:
        """Do what was decided; say whether the table has to read up its topic first.

        Done twice, it is done once.

        Args:
            mirrored: The table.
            ends: The next offset of each partition of its topic, if the table has everything.
        """
        lookup, source = self.lookup(mirrored), mirrored.state.source
        if lookup.state in NOT_THERE and ends is None:
            return True
        if lookup.state is SourceTableState.THERE:
            mirrored.keep(replace(mirrored.state, source=source.found(lookup.identity)))
        try:
            action = source_action(mirrored.view, lookup)
        except MirrorError as error:
            self._tables.park(mirrored.id, error)
            return False
        if action is None:
            return False
        change = action.change
        if change in (SourceChange.KEEP, SourceChange.DROP):
            if source.dropped is None:
                self._note(mirrored, change, source.gone(self._now()))
        else:
            rows_go = change is SourceChange.ROWS_GO
            made_again = source.made_again(lookup.identity, rows_go=rows_go)
            self._note(mirrored, change, made_again)
        if change is SourceChange.DROP and ends is not None:
            self._drop(mirrored, ends)
        logger.info("followed table=%s action=%s", mirrored.view.name, change.value)
        return False

    def _drop(self, mirrored: MirroredTable, ends: Mapping[int, int]) -> None:
        """Take a table out of the catalog; what is in its topic makes no other one."""
        now, view, left = self._now(), mirrored.view, self._context.left
        known = left.get(view.topic)
        others = known.tables if known is not None else ()
        left.note(
            LeftTopic(
                topic=view.topic,
                offsets=dict(ends),
                tables=(*others, LeftTable(view.uuid, view.name, view.location)),
                when=now.since,
                position=now.position,
                time=now.time,
            )
        )
        self._context.catalog.drop(view.name)
        self._tables.forget(view.id)
        if not self._tables.of_topic(view.topic):
            left.finish(view.topic)

    def _note(self, mirrored: MirroredTable, change: SourceChange, source: SourceIdentity) -> None:
        event = table_event(
            ChangeKind.DROP_TABLE, change.value, last_place(mirrored.view.marks), self._now().since
        )
        mirrored.keep(replace(mirrored.state, source=source).noted(event))
        mirrored.reopen()

    def _now(self) -> Moment:
        found = self._context.watch.found
        when = datetime.now(UTC).isoformat(timespec="seconds")
        return Moment(when, found.position, found.time) if found is not None else Moment(when)


def is_read_up(mirrored: MirroredTable, ends: Mapping[int, int]) -> bool:
    """Say whether a table has everything up to some offsets."""
    marks = mirrored.marks
    return all(
        end <= (marks[partition].next_offset if partition in marks else 0)
        for partition, end in ends.items()
    )


def last_place(marks: Mapping[int, PartitionMark]) -> SchemaPlace:
    """Give the place of the last change that a table has."""
    if not marks:
        return SchemaPlace(0, 0)
    partition = max(marks, key=lambda p: marks[p].position)
    return SchemaPlace(partition, marks[partition].next_offset, marks[partition].position)
