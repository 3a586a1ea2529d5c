"""What became of a source table, as the database's own catalog tells, and what is done about it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from cdc.collapse import mode_of
from cdc.config import CatalogType, ChangeKind, MirrorConfig, ResolvedRule, SchemaChange
from cdc.dialect import SourceTables
from cdc.errors import DroppedTableError, RemadeTableError, RenamedTableError
from cdc.model import SourceTable, TableName
from cdc.runtime.follow.actions import FollowSource, Leave, Rename, SourceChange
from cdc.runtime.tables.adoption import check_adoptable
from cdc.state.left_topics import LeftTopic
from cdc.state.source_identity import Identity
from cdc.state.table_view import TableView

TELL = "Tell with renamed_from in a rule of the one or the other which name it had before"
IN_BETWEEN = f"it may be a name that one had in between. {TELL}"


class SourceTableState(StrEnum):
    """What may have become of a table."""

    UNKNOWN = "unknown"  # the catalog does not say
    THERE = "there"
    REPLACED = "replaced"  # another table has its name
    RENAMED = "renamed"
    DROPPED = "dropped"
    MISSING = "missing"  # dropped or renamed: nothing tells the one from the other


NOT_THERE = (SourceTableState.DROPPED, SourceTableState.MISSING)


@dataclass(frozen=True, slots=True)
class SourceLookup:
    """What became of a table, its identity now, and the name that it has if that is another."""

    state: SourceTableState
    identity: Identity | None = None
    name: tuple[str, str] | None = None


def look_up(
    known: Identity | None,
    table: SourceTable,
    found: SourceTables,
    *,
    lasting: bool,
    dropped: bool = False,
) -> SourceLookup:
    """Tell what became of a table.

    Only what is known of the same server is compared: a restored copy has other numbers, and an
    address of another server would make every table look dropped.

    Args:
        known: What the catalog knew the table by.
        table: The table, under the name that it had then.
        found: What the catalog has now.
        lasting: Whether a number changes only with its table.
        dropped: Whether somebody has seen that there was no such table.
    """
    if not found.server or not found.covers(table):
        return SourceLookup(SourceTableState.UNKNOWN)
    name = table.schema, table.table
    comparable = known is not None and known.server == found.server
    if name in found.numbers:
        now = Identity(found.server, found.numbers[name])
        same = known == now and now.number is not None
        told = comparable and known is not None and None not in (known.number, now.number)
        other = not (same and lasting) if dropped else lasting and told and not same
        return SourceLookup(SourceTableState.REPLACED if other else SourceTableState.THERE, now)
    if known is None or not comparable:
        return SourceLookup(SourceTableState.UNKNOWN)
    if known.number is None:
        return SourceLookup(SourceTableState.MISSING)
    for other_name, number in found.numbers.items():
        if number == known.number:
            return SourceLookup(SourceTableState.RENAMED, known, other_name)
    return SourceLookup(SourceTableState.DROPPED)


def source_action(view: TableView, lookup: SourceLookup) -> FollowSource | None:
    """Decide what a table does about what became of its source; None where there is nothing to do.

    Raises:
        DroppedTableError: It is parked, since the table of the source is gone.
        RemadeTableError: It is parked, since another table has its name.
    """
    policy = view.rule.policy(ChangeKind.DROP_TABLE)
    if lookup.state in NOT_THERE:
        if policy is SchemaChange.FAIL:
            raise DroppedTableError(str(view.source), str(view.name))
        # Where it may have been renamed, too, nothing is removed.
        if policy is SchemaChange.EVOLVE and lookup.state is SourceTableState.DROPPED:
            return FollowSource(SourceChange.DROP)
        return None if view.state.source.dropped else FollowSource(SourceChange.KEEP)
    if lookup.state is SourceTableState.REPLACED:
        # The connector sends no delete for the old rows, and nothing where the new ones begin. That
        # is known only if somebody saw that there was no such table.
        seen = view.state.source.dropped
        if policy is SchemaChange.IGNORE or (
            mode_of(view.rule).is_log and policy is not SchemaChange.FAIL
        ):
            return FollowSource(SourceChange.ROWS_STAY)
        if policy is SchemaChange.FAIL or seen is None or seen.position is None:
            raise RemadeTableError(str(view.source), str(view.name), policy.value)
        return FollowSource(SourceChange.ROWS_GO)
    return None


def left_topic_action(left: LeftTopic | None, ends: Mapping[int, int]) -> Leave | None:
    """Say whether a topic holds nothing but records of a table that has left it.

    Args:
        left: What is known of the topic, if it was left.
        ends: The next offset of each partition.
    """
    return Leave(left.successor) if left is not None and left.is_over(ends) else None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A topic that has no table yet."""

    topic: str
    source: SourceTable
    renamed_from: str = ""  # what the config says that its table was called
    first_position: int = -1  # of its first record in the source's log
    was_left: bool = False  # a table had the topic once: what is read now is newer in any case


@dataclass(frozen=True, slots=True)
class RenameDecisions:
    """Tells new tables from those that got another name."""

    config: MirrorConfig
    views: Sequence[TableView]  # of all tables that there are
    lookups: Mapping[TableName, SourceLookup]
    found: SourceTables | None  # what the source's catalog has

    def former(self, arrival: Arrival) -> list[TableView]:
        """Find the tables that a source without one had under another name.

        The config may tell that name; otherwise the catalog tells that a table has gone, and this
        one is it. A parked one counts: its new name has to wait for it.

        Raises:
            RenamedTableError: The config tells a name that its table still has.
        """
        if arrival.renamed_from:
            return self._told(arrival)
        for view in self.views:
            lookup = self.lookups[view.name]
            here = lookup.name == (arrival.source.schema, arrival.source.table)
            if lookup.state is SourceTableState.RENAMED and here and view.topic != arrival.topic:
                return [other for other in self.views if other.topic == view.topic]
        return []

    def may_be_passing(self, source: SourceTable) -> list[TableView]:
        """Give tables that were renamed, if a source may be one of them under a name in between.

        The catalog is of now: a name that it does not have any more may have been anybody's.
        """
        if self.found is None or not self.found.lacks(source):
            return []
        renamed = SourceTableState.RENAMED
        return [view for view in self.views if self.lookups[view.name].state is renamed]

    def decide(self, arrival: Arrival, others: Iterable[SourceTable]) -> list[TableView]:
        """Decide which tables go on under the name of an arrival; none where it is a new table.

        Args:
            arrival: The topic without a table.
            others: The sources of the other topics without a table.

        Raises:
            RenamedTableError: Nobody can tell, or the policy is to park.
        """
        source = arrival.source
        former = self.former(arrival)
        if not former:
            if self.may_be_passing(source):
                raise RenamedTableError(str(source), "another table", IN_BETWEEN)
            return []
        if rename_policy(former, source) is SchemaChange.IGNORE:
            return []
        if not arrival.was_left:
            _expect_newer(former, arrival)
        if not arrival.renamed_from:
            for other in others:
                if other != source and self.may_be_passing(other):
                    reason = f"it may have been {other} in between. {TELL}"
                    raise RenamedTableError(str(source), str(former[0].source), reason)
        return former

    def renames(
        self, former: Sequence[TableView], arrival: Arrival, name_of: "NameOf", taken: "Taken"
    ) -> list[Rename]:
        """Find the names that tables get, and see that they can have them.

        Args:
            former: The tables.
            arrival: What they become.
            name_of: Names the table that a rule makes of a source.
            taken: Says whether there is a table of some name.

        Raises:
            RenamedTableError: They cannot have those names, or be what the rule of the new name
                says; nothing is changed.
        """
        source = arrival.source

        def refused(reason: str) -> RenamedTableError:
            return RenamedTableError(str(source), str(former[0].source), reason)

        rules = self.config.tables.targets_for(source.schema, source.table)
        found = []
        for view in former:
            rule = next((r for r in rules if _is_like(r, view.rule)), None)
            if rule is None:
                raise refused(f"no target of its new rule is like {view.name}")
            name = name_of(rule, source)
            if name != view.name:
                if self.config.catalog.type is CatalogType.HADOOP:
                    raise refused("a hadoop catalog renames no tables")
                if taken(name):
                    raise refused(f"there is a table {name} already")
            state = replace(view.state, topic=arrival.topic)
            owner = self.config.name, arrival.topic
            check_adoptable(str(name), state.properties, view.schema, rule, owner)
            found.append(Rename(view.name, name))
        return found

    def _told(self, arrival: Arrival) -> list[TableView]:
        old = former_source(arrival.source, arrival.renamed_from)
        found = [
            view
            for view in self.views
            if (view.source.schema, view.source.table) == (old.schema, old.table)
            and view.topic != arrival.topic
        ]
        if found and self.found is not None and not self.found.lacks(old):
            reason = f"{arrival.renamed_from} is still there: renamed_from in the config is wrong"
            raise RenamedTableError(str(arrival.source), arrival.renamed_from, reason)
        return found


NameOf = Callable[[ResolvedRule, SourceTable], TableName]
Taken = Callable[[TableName], bool]


def rename_policy(former: Collection[TableView], source: SourceTable) -> SchemaChange:
    """Say what the rule of the old name wants.

    Raises:
        RenamedTableError: To be parked.
    """
    old = next(iter(former))
    policy = old.rule.policy(ChangeKind.RENAME_TABLE)
    if policy is SchemaChange.FAIL:
        reason = "its policy for rename_table is fail"
        raise RenamedTableError(str(source), str(old.source), reason)
    return policy


def former_source(source: SourceTable, former: str) -> SourceTable:
    """Give a table under the name that it had before."""
    schema, _, table = former.partition(".")
    # Where there are no schemas, the database has their place.
    database = schema if source.database == source.schema else source.database
    return replace(source, database=database, schema=schema, table=table)


def _expect_newer(former: Sequence[TableView], arrival: Arrival) -> None:
    """See that a topic is of the table since it was renamed, and not of one before it.

    Raises:
        RenamedTableError: Its first record is older than what is applied.
    """
    last = max((mark.position for view in former for mark in view.marks.values()), default=-1)
    if 0 <= arrival.first_position <= last:
        reason = f"{arrival.topic} holds records from before"
        raise RenamedTableError(str(arrival.source), str(former[0].source), reason)


def _is_like(rule: ResolvedRule, other: ResolvedRule) -> bool:
    """Say whether two rules name and keep a table in the same way."""
    return (rule.table, rule.mode, rule.on_delete) == (other.table, other.mode, other.on_delete)
