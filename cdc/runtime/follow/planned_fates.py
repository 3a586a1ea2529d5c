"""What `run` would do about tables that were dropped, made again or renamed at the source."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyiceberg.table import Table

from cdc.config import ChangeKind, ResolvedRule, SchemaChange
from cdc.errors import DroppedTableError, RemadeTableError, RenamedTableError
from cdc.model import SourceTable
from cdc.runtime.follow.source_standing import Fate, Standing, on_drop, on_remake
from cdc.runtime.follow.source_watch import SourceWatch
from cdc.source.topics import OffsetRange
from cdc.state.left_topics import RetiredTopic
from cdc.state.source_identity import DROPPED_PROPERTY, Identity, Moment


@dataclass(frozen=True, slots=True)
class SeenTable:
    """A mirrored table as the catalog has it."""

    table: Table
    topic: str
    source: SourceTable
    rule: ResolvedRule

    @property
    def name(self) -> str:
        """Its whole name."""
        return ".".join(self.table.name())


@dataclass(slots=True)
class PlannedFates:
    """What became of the sources of tables, and what their rules say of it."""

    watch: SourceWatch
    retired: Mapping[str, RetiredTopic]
    seen: list[SeenTable] = field(default_factory=list)

    def left(self, topic: str, places: Mapping[int, OffsetRange]) -> str | None:
        """Say what became of the table of a topic that holds nothing but old records of it."""
        left = self.retired.get(topic)
        if left is None or not left.is_over({p: place.next for p, place in places.items()}):
            return None
        return "left: dropped" if left.successor is None else f"left: goes on as {left.successor}"

    def of(self, seen: SeenTable) -> str | None:
        """Say what a table does about its source; None where there is nothing to do.

        Raises:
            MirrorError: It would be parked.
        """
        fate = self._standing(seen).fate
        if fate in (Fate.GONE, Fate.MISSING):
            action = on_drop(seen.rule, fate)
            if action is None:
                raise DroppedTableError(str(seen.source), seen.name)
            return action
        if fate is Fate.REMADE:
            action = on_remake(seen.rule, Moment.read(seen.table.properties, DROPPED_PROPERTY))
            if action is None:
                policy = seen.rule.policy(ChangeKind.DROP_TABLE).value
                raise RemadeTableError(str(seen.source), seen.name, policy)
            return action
        return None

    def renamed(self, topic: str, source: SourceTable, former: SourceTable | None) -> str | None:
        """Say from which table one without any goes on; None where it is new.

        Args:
            topic: The topic that has no table.
            source: Its table.
            former: What the config says it was before.

        Raises:
            RenamedTableError: It would be parked.
        """
        for seen in self.seen:
            if seen.topic == topic:
                continue
            standing = self._standing(seen)
            is_it = standing.fate is Fate.RENAMED and standing.name == (source.schema, source.table)
            told = former is not None and (former.schema, former.table) == (
                seen.source.schema,
                seen.source.table,
            )
            if not (told or (is_it and former is None)):
                continue
            policy = seen.rule.policy(ChangeKind.RENAME_TABLE)
            if policy is SchemaChange.FAIL:
                reason = "its policy for rename_table is fail"
                raise RenamedTableError(str(source), str(seen.source), reason)
            return None if policy is SchemaChange.IGNORE else seen.name
        return None

    def _standing(self, seen: SeenTable) -> Standing:
        properties = seen.table.properties
        dropped = Moment.read(properties, DROPPED_PROPERTY)
        return self.watch.standing(Identity.read(properties), seen.source, dropped)


def former_source(source: SourceTable, former: str) -> SourceTable:
    """Give a table under the name that it had before."""
    schema, _, table = former.partition(".")
    # Where there are no schemas, the database has their place.
    database = schema if source.database == source.schema else source.database
    return replace(source, database=database, schema=schema, table=table)
