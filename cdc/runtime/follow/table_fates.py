"""What becomes of a mirrored table whose source is dropped, or made again: by policy."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime

from cdc.config import ChangeKind
from cdc.errors import DroppedTableError, RemadeTableError
from cdc.model import Ledger, SchemaPlace
from cdc.runtime.follow.source_standing import GOES, ROWS_GO, Fate, Standing, on_drop, on_remake
from cdc.runtime.follow.source_watch import SourceWatch
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.runtime.tables.open_tables import Tables
from cdc.state.left_topics import LeftTable, RetiredTopic
from cdc.state.schema_log import log_property, table_event
from cdc.state.source_identity import (
    DROPPED_PROPERTY,
    REPLACED_PROPERTY,
    SOURCE_PROPERTY,
    STALE_PROPERTY,
    Moment,
)

logger = logging.getLogger(__name__)


class TableFates:
    """Lets the tables of a mirror follow what became of their sources."""

    def __init__(self, tables: Tables, watch: SourceWatch) -> None:
        self._tables = tables
        self._watch = watch

    def standing(self, mirrored: MirroredTable) -> Standing:
        """Tell from the catalog's last answer what became of a table's source."""
        return self._watch.standing(mirrored.identity, mirrored.source, mirrored.dropped)

    def is_gone(self, mirrored: MirroredTable) -> bool:
        """Say whether the source has no such table."""
        return self.standing(mirrored).fate in (Fate.GONE, Fate.MISSING)

    def is_new(self, mirrored: MirroredTable) -> bool:
        """Say whether something became of a table's source that the table does not know."""
        if self.is_gone(mirrored):
            return mirrored.dropped is None
        return self.standing(mirrored).fate is Fate.REMADE

    def follow(self, mirrored: MirroredTable, ends: Mapping[int, int] | None) -> bool:
        """Do what the table's rule says; say whether the table has to read up its topic first.

        Done twice, it is done once.

        Args:
            mirrored: The table.
            ends: The next offset of each partition of its topic, if the table has everything.
        """
        standing = self.standing(mirrored)
        match standing.fate:
            case Fate.LIVES:
                self._note_identity(mirrored, standing)
            case Fate.REMADE:
                self._remake(mirrored, standing)
            case Fate.GONE | Fate.MISSING:
                if ends is None:
                    return True
                self._drop(mirrored, ends, standing.fate)
            case Fate.RENAMED | Fate.UNTOLD:
                pass  # its new name has a topic of its own; see `TableRenames`
        return False

    def _note_identity(self, mirrored: MirroredTable, standing: Standing) -> None:
        noted = {}
        if standing.identity != mirrored.identity:
            noted[SOURCE_PROPERTY] = str(standing.identity)
        if mirrored.dropped is not None:
            noted[DROPPED_PROPERTY] = ""
        if noted:
            mirrored.table.set_properties(noted)
            mirrored.reopen()

    def _drop(self, mirrored: MirroredTable, ends: Mapping[int, int], fate: Fate) -> None:
        action = on_drop(mirrored.rule, fate)
        if action is None:
            name = str(mirrored.table.name)
            self._tables.park(mirrored.id, DroppedTableError(str(mirrored.source), name))
            return
        if mirrored.dropped is None:
            self._note(mirrored, action, {DROPPED_PROPERTY: self._now().text()})
        if action == GOES:
            self._remove(mirrored, ends)

    def _remove(self, mirrored: MirroredTable, ends: Mapping[int, int]) -> None:
        """Take a table out of the catalog; what is in its topic makes no other one."""
        now = self._now()
        table = mirrored.table
        levels = (*table.name.namespace, table.name.table)
        left = LeftTable(table.uuid, levels, table.location)
        known = self._tables.retired.get(mirrored.topic)
        others = known.tables if known is not None else ()
        self._tables.retired.note(
            RetiredTopic(
                topic=mirrored.topic,
                offsets=dict(ends),
                tables=(*others, left),
                when=now.since,
                position=now.position,
                time=now.time,
            )
        )
        self._tables.catalog.drop(table.name)
        self._tables.forget(mirrored.id)
        if not self._tables.targets(mirrored.topic):
            self._tables.retired.finish(mirrored.topic)

    def _remake(self, mirrored: MirroredTable, standing: Standing) -> None:
        """Let a table go on for another one of the same name."""
        action, seen = on_remake(mirrored.rule, mirrored.dropped), mirrored.dropped
        if action is None:
            policy = mirrored.rule.policy(ChangeKind.DROP_TABLE).value
            error = RemadeTableError(str(mirrored.source), str(mirrored.table.name), policy)
            self._tables.park(mirrored.id, error)
            return
        noted = {SOURCE_PROPERTY: str(standing.identity), DROPPED_PROPERTY: ""}
        if action == ROWS_GO and seen is not None:
            noted[REPLACED_PROPERTY] = seen.text()
        else:
            noted[STALE_PROPERTY] = "true"
        self._note(mirrored, action, noted)

    def _note(self, mirrored: MirroredTable, text: str, others: Mapping[str, str]) -> None:
        event = table_event(
            ChangeKind.DROP_TABLE, text, last_place(mirrored.ledger), self._now().since
        )
        mirrored.table.set_properties({**others, **log_property((*mirrored.events, event))})
        mirrored.reopen()
        logger.info(
            "followed table=%s source=%s what=%s", mirrored.table.name, mirrored.source, text
        )

    def _now(self) -> Moment:
        found = self._watch.found
        when = datetime.now(UTC).isoformat(timespec="seconds")
        return Moment(when, found.position, found.time) if found is not None else Moment(when)


def is_read_up(mirrored: MirroredTable, ends: Mapping[int, int]) -> bool:
    """Say whether a table has everything up to some offsets."""
    marks = mirrored.marks
    return all(
        end <= (marks[partition].next_offset if partition in marks else 0)
        for partition, end in ends.items()
    )


def last_place(ledger: Ledger | None) -> SchemaPlace:
    """Give the place of the last change that a table has."""
    marks = ledger.partitions if ledger is not None else {}
    if not marks:
        return SchemaPlace(0, 0)
    partition = max(marks, key=lambda p: marks[p].position)
    return SchemaPlace(partition, marks[partition].next_offset, marks[partition].position)
