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
from datetime import UTC, datetime

from cdc.commit import IcebergTable, read_ledger
from cdc.config import CatalogType, ChangeKind, MirrorConfig, ResolvedRule, SchemaChange
from cdc.errors import CatalogError, RenamedTableError
from cdc.model import MIRROR_PROPERTY, TOPIC_PROPERTY, SourceTable, TableName
from cdc.runtime.follow.planned_fates import former_source
from cdc.runtime.follow.source_standing import Fate, Standing
from cdc.runtime.follow.table_fates import last_place
from cdc.runtime.tables.adoption import check_adoptable
from cdc.runtime.tables.mirrored_table import (
    LANES_PROPERTY,
    MIXED_PROPERTY,
    PARTITIONS_PROPERTY,
    MirroredTable,
)
from cdc.runtime.tables.open_tables import Tables
from cdc.state.left_topics import LeftTable, RetiredTopic
from cdc.state.schema_log import log_property, read_log, table_event
from cdc.state.source_identity import former_property

logger = logging.getLogger(__name__)


class TableRenames:
    """Follows renamed tables of one mirror."""

    def __init__(self, config: MirrorConfig, tables: Tables) -> None:
        self._config = config
        self._tables = tables

    def former(self, topic: str, source: SourceTable) -> list[MirroredTable]:
        """Find the tables that a source without one had under another name.

        The config may tell that name; otherwise the catalog tells that a table which is open has
        gone, and this one is it. A parked one counts: its new name has to wait for it.
        """
        rule = self._config.tables.rule_for(source.schema, source.table)
        if rule.renamed_from:
            return self._told(topic, source, rule.renamed_from)
        known = self._tables.known
        for mirrored in known:
            standing = self._standing(mirrored)
            here = standing.name == (source.schema, source.table)
            if standing.fate is Fate.RENAMED and here and mirrored.topic != topic:
                return [other for other in known if other.topic == mirrored.topic]
        return []

    def may_be_passing(self, source: SourceTable) -> list[MirroredTable]:
        """Give tables that were renamed, if a source may be one of them under a name in between.

        The catalog is of now: a name that it does not have any more may have been anybody's.
        """
        found = self._tables.watch.found
        if found is None or not found.lacks(source):
            return []
        return [m for m in self._tables.known if self._standing(m).fate is Fate.RENAMED]

    def policy(self, former: Sequence[MirroredTable], source: SourceTable) -> SchemaChange:
        """Say what the rule of the old name wants.

        Raises:
            RenamedTableError: To be parked.
        """
        policy = former[0].rule.policy(ChangeKind.RENAME_TABLE)
        if policy is SchemaChange.FAIL:
            reason = "its policy for rename_table is fail"
            raise RenamedTableError(str(source), str(former[0].source), reason)
        return policy

    def follow(
        self,
        former: Sequence[MirroredTable],
        ends: Mapping[int, int],
        topic: str,
        source: SourceTable,
        width: int,
    ) -> None:
        """Give tables their new names and their new topic: steps 1 to 4.

        Args:
            former: The tables, with everything of their old topic applied.
            ends: The next offset of each of its partitions.
            topic: The new topic.
            source: The table under its new name.
            width: How many partitions the new topic has.

        Raises:
            RenamedTableError: They cannot have those names, or be what the rule of the new name
                says; nothing is changed.
        """
        names = self._new_names(former, topic, source)
        left = RetiredTopic(
            topic=former[0].topic,
            offsets=dict(ends),
            tables=tuple(
                LeftTable(
                    mirrored.table.uuid,
                    _levels(mirrored.table.name),
                    mirrored.table.location,
                    _levels(name),
                )
                for mirrored, name in zip(former, names, strict=True)
            ),
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            successor=topic,
            width=width,
        )
        self._note(left)
        try:
            self._carry_out(left)
        except CatalogError as error:
            if not self._is_untouched(left):
                raise  # the next start goes on
            self._tables.retired.cancel(left.topic)
            raise RenamedTableError(str(source), str(former[0].source), error.reason) from error
        for mirrored in former:
            self._tables.forget(mirrored.id)

    def recover(self) -> None:
        """Go on with what the last run may have left half done. Done twice, it is done once."""
        for left in self._tables.retired.unfinished:
            if left.successor is not None and self._is_untouched(left):
                self._tables.retired.cancel(left.topic)
            elif left.successor is not None:
                self._carry_out(left)

    def _note(self, left: RetiredTopic) -> None:
        """Step 1."""
        self._tables.retired.note(left)

    def _carry_out(self, left: RetiredTopic) -> None:
        """Steps 2 to 4, as far as they are not done."""
        for entry in left.tables:
            if entry.new_name != entry.name and self._at(entry.name, entry) is not None:
                self._rename(entry)
        for entry in left.tables:
            table = self._at(entry.new_name, entry)
            if table is not None and table.properties.get(TOPIC_PROPERTY) == left.topic:
                self._turn(table, entry, left)
        self._tables.retired.finish(left.topic)

    def _is_untouched(self, left: RetiredTopic) -> bool:
        """Say whether all tables have their old names and their old topic."""
        tables = [self._at(entry.name, entry) for entry in left.tables]
        return all(t is not None and t.properties[TOPIC_PROPERTY] == left.topic for t in tables)

    def _rename(self, entry: LeftTable) -> None:
        """Step 2, for one table."""
        assert entry.new_name is not None
        self._tables.catalog.rename(_name(entry.name), _name(entry.new_name))

    def _turn(self, table: IcebergTable, entry: LeftTable, left: RetiredTopic) -> None:
        """Step 3, for one table, in one commit."""
        assert left.successor is not None
        ledger = read_ledger(table)
        old, new = ".".join(entry.name), ".".join(entry.new_name or entry.name)
        text = f"RENAME TABLE {old} TO {new}, topic {left.topic} to {left.successor}"
        event = table_event(ChangeKind.RENAME_TABLE, text, last_place(ledger), left.when)
        noted = {
            TOPIC_PROPERTY: left.successor,
            **log_property((*read_log(table.properties), event)),
            PARTITIONS_PROPERTY: str(left.width),
            # The same key may have another partition in the new topic.
            LANES_PROPERTY: str(table.sequence_number),
            MIXED_PROPERTY: "{}",
        }
        if ledger is not None:
            noted |= former_property(ledger)
        table.set_properties(noted)
        logger.info("turned table=%s topic=%s from=%s", new, left.successor, left.topic)

    def _new_names(
        self, former: Sequence[MirroredTable], topic: str, source: SourceTable
    ) -> list[TableName]:
        """Find the names that tables get, and see that they can have them."""

        def refused(reason: str) -> RenamedTableError:
            return RenamedTableError(str(source), str(former[0].source), reason)

        rules = self._config.tables.targets_for(source.schema, source.table)
        names = []
        for mirrored in former:
            rule = next((r for r in rules if _is_like(r, mirrored.rule)), None)
            if rule is None:
                raise refused(f"no target of its new rule is like {mirrored.table.name}")
            name = self._tables.name_of(rule, source)
            if name != mirrored.table.name:
                if self._config.catalog.type is CatalogType.HADOOP:
                    raise refused("a hadoop catalog renames no tables")
                if self._tables.catalog.load(name) is not None:
                    raise refused(f"there is a table {name} already")
            owner = self._config.name, topic
            turned = {**mirrored.table.properties, TOPIC_PROPERTY: topic}
            check_adoptable(str(name), turned, mirrored.table.schema, rule, owner)
            names.append(name)
        return names

    def _told(self, topic: str, source: SourceTable, former: str) -> list[MirroredTable]:
        """Open the tables that the config says a source had under another name."""
        old = former_source(source, former)
        opened = []
        for rule in self._config.tables.targets_for(old.schema, old.table):
            found = self._load(_levels(self._tables.name_of(rule, old)))
            if found is None or found.properties.get(MIRROR_PROPERTY) != self._config.name:
                continue
            old_topic = found.properties.get(TOPIC_PROPERTY, topic)
            if old_topic != topic:
                self._tables.open(old_topic, old)
                opened = [self._tables[target] for target in self._tables.targets(old_topic)]
        found_tables = self._tables.watch.found
        if opened and found_tables is not None and not found_tables.lacks(old):
            reason = f"{former} is still there: renamed_from in the config is wrong"
            raise RenamedTableError(str(source), former, reason)
        return opened

    def _at(self, levels: tuple[str, ...] | None, entry: LeftTable) -> IcebergTable | None:
        """Give a table if it has that name; another one may have it."""
        table = None if levels is None else self._load(levels)
        return table if table is not None and table.uuid == entry.uuid else None

    def _standing(self, mirrored: MirroredTable) -> Standing:
        watch = self._tables.watch
        return watch.standing(mirrored.identity, mirrored.source, mirrored.dropped)

    def _load(self, levels: tuple[str, ...]) -> IcebergTable | None:
        return self._tables.catalog.load(_name(levels))


def _is_like(rule: ResolvedRule, other: ResolvedRule) -> bool:
    """Say whether two rules name and keep a table in the same way."""
    return (rule.table, rule.mode, rule.on_delete) == (other.table, other.mode, other.on_delete)


def _levels(name: TableName) -> tuple[str, ...]:
    return (*name.namespace, name.table)


def _name(levels: tuple[str, ...]) -> TableName:
    return TableName(levels[:-1], levels[-1])
