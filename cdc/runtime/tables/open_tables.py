"""The open tables of a run: which there are, and which of them are parked."""

import logging
from collections.abc import Callable

from cdc.commit import IcebergCatalog, IcebergTable, set_partition
from cdc.config import MirrorConfig, ResolvedRule, TargetConfig
from cdc.config.partitioning import partition_fields
from cdc.errors import ForeignTableError, MirrorError
from cdc.model import SourceTable, TableName, TargetId
from cdc.runtime.tables.adoption import check_adoptable
from cdc.runtime.tables.folders import Folders
from cdc.runtime.tables.mirror_notes import LeftTopics, ParkedNotes
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.schema import target_name

logger = logging.getLogger(__name__)


class OpenTables:
    """All tables of one mirror that are open, and those that are parked."""

    def __init__(
        self,
        config: MirrorConfig,
        catalog: IcebergCatalog,
        notes: ParkedNotes,
        left: LeftTopics,
        *,
        dry_run: bool = False,  # tables that are opened are left as they are
    ) -> None:
        self.parked: dict[TargetId, MirrorError] = {}
        self._config = config
        self._catalog = catalog
        self._notes = notes
        self._left = left
        self._folders = Folders(config.catalog, catalog)
        self._dry_run = dry_run
        self._tables: dict[TargetId, MirroredTable] = {}

    def __getitem__(self, target: TargetId) -> MirroredTable:
        return self._tables[target]

    def __contains__(self, target: TargetId) -> bool:
        return target in self._tables

    @property
    def active(self) -> list[MirroredTable]:
        """All tables that are open and not parked."""
        return [table for target, table in self._tables.items() if target not in self.parked]

    @property
    def all(self) -> list[MirroredTable]:
        """All tables that were opened, also those that are parked since."""
        return [*self._tables.values()]

    def forget(self, target: TargetId) -> None:
        """Close a table."""
        del self._tables[target]

    def of_topic(self, topic: str) -> list[TargetId]:
        """Name the tables of a topic that are open and not parked."""
        return [t for t in self._tables if t[0] == topic and t not in self.parked]

    @property
    def parked_topics(self) -> set[str]:
        """The topics of which no table is left to write to."""
        return {topic for topic, _ in self.parked if not self.of_topic(topic)}

    def park(self, target: TargetId, reason: MirrorError) -> None:
        """Leave a table alone for the rest of the run; the next run takes it up where it stands."""
        self.parked[target] = reason
        marks = self._tables[target].marks if target in self._tables else {}
        self._notes.park(target, reason, marks)
        logger.warning("parked topic=%s table=%s reason=%s", target[0], target[1] or "-", reason)

    def reasons(self) -> dict[str, MirrorError]:
        """Say why tables are parked: by topic, and by table where a topic has several."""
        topics = [topic for topic, _ in (*self._tables.keys() | self.parked.keys(),)]
        return {
            topic if topics.count(topic) == 1 or name is None else f"{topic} ({name})": reason
            for (topic, name), reason in self.parked.items()
        }

    def name_of(self, rule: ResolvedRule, source: SourceTable) -> TableName:
        """Name the table that a rule makes of a source."""
        target = TargetConfig(table=rule.table) if rule.table else self._config.target
        return target_name(target, source)

    def for_each(
        self, topic: str, source: SourceTable, act: Callable[[ResolvedRule], object]
    ) -> None:
        """Do something for each table of a topic; of several, one that fails stops no other."""
        rules = self._config.tables.targets_for(source.schema, source.table)
        taken: set[TableName] = set()
        for rule in rules:
            name = self.name_of(rule, source)
            if (topic, name) in self.parked:
                continue
            try:
                if name in taken:
                    raise ForeignTableError(str(name), "another target of its rule has that name")
                taken.add(name)
                act(rule)
            except MirrorError as error:
                if error.retryable or len(rules) == 1:
                    raise
                self.park((topic, name), error)

    def open(self, topic: str, source: SourceTable) -> None:
        """Open those tables of a topic that exist."""
        self.for_each(topic, source, lambda rule: self.open_one(topic, source, rule))

    def open_one(self, topic: str, source: SourceTable, rule: ResolvedRule) -> MirroredTable | None:
        """Open one table of a topic; None where it does not exist."""
        name = self.name_of(rule, source)
        if (topic, name) in self._tables:
            return self._tables[topic, name]
        table = self._catalog.load(name)
        return None if table is None else self.adopt(topic, source, rule, table)

    def adopt(
        self, topic: str, source: SourceTable, rule: ResolvedRule, table: IcebergTable
    ) -> MirroredTable:
        """Take a table as that of a topic, once it is seen that it is.

        Raises:
            MirrorError: It is somebody else's, or not what its rule says; it is left as it is.
        """
        owner = self._config.name, topic
        check_adoptable(str(table.name), table.properties, table.schema, rule, owner)
        self._folders.check(table)
        if not self._dry_run:
            set_partition(table, partition_fields(rule.partition))
        first_offsets = self._left.first_offsets(topic)
        mirrored = MirroredTable(topic, source, rule, table, first_offsets)
        if not self._dry_run:
            mirrored.keep(mirrored.state)  # an older version is brought up to date
        self._tables[mirrored.id] = mirrored
        return mirrored

    def location(self, topic: str, name: TableName) -> str | None:
        """Choose the folder of a new table, or leave it to the catalog.

        Raises:
            SharedFolderError: There is a table in that folder.
        """
        return self._left.location(topic, name) or self._folders.location(name)
