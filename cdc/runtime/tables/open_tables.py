"""The mirrored tables of a run: opened, created, evolved, parked."""

import json
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from cdc.commit import IcebergCatalog, IcebergTable, read_ledger
from cdc.config import (
    ApplyMode,
    ChangeKind,
    MirrorConfig,
    ResolvedRule,
    SchemaChange,
    TargetConfig,
)
from cdc.config.partitioning import partition_fields
from cdc.config.type_choices import parse_type_choice
from cdc.decode import DecodePlan
from cdc.dialect import Dialect
from cdc.errors import ForeignTableError, MirrorError
from cdc.model import (
    KEY_FORMS_PROPERTY,
    MIRROR_PROPERTY,
    TOPIC_PROPERTY,
    SchemaPlace,
    SourceSchema,
    SourceTable,
    TableName,
    TargetId,
    Unplanned,
)
from cdc.runtime.follow.declared import Declarations
from cdc.runtime.follow.describe import wire_of
from cdc.runtime.follow.evolution import Evolution, Settle, earliest
from cdc.runtime.follow.source_watch import SourceWatch
from cdc.runtime.tables.adoption import check_adoptable
from cdc.runtime.tables.folders import Folders
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.runtime.tables.parked_words import ParkedWords
from cdc.runtime.tables.quarantine import Quarantine
from cdc.runtime.tables.retired_topics import RetiredTopics
from cdc.runtime.tables.scratch import index_folder
from cdc.runtime.tables.table_properties import TABLE_PROPERTIES
from cdc.runtime.task.target_plan import Findings, KeyRouting, TargetPlan
from cdc.schema import (
    arrow_schema,
    iceberg_schema,
    joined,
    mirror_columns,
    source_schema,
    target_name,
)
from cdc.state.column_identities import identities_property
from cdc.state.key import key_property
from cdc.state.schema_log import created, log_property
from cdc.state.source_identity import STALE_PROPERTY
from cdc.write import FileWriter

logger = logging.getLogger(__name__)


class Tables:
    """All tables of one mirror."""

    def __init__(
        self,
        config: MirrorConfig,
        dialect: Dialect,
        catalog: IcebergCatalog,
        *,
        dry_run: bool = False,  # tables that are opened are left as they are
    ) -> None:
        self.catalog = catalog
        self._dry_run = dry_run
        self.wire = wire_of(config)
        self.declarations = Declarations(config, dialect)
        self._evolution = Evolution(dialect, self.declarations)
        self.quarantine = Quarantine(config, catalog)
        self.retired = RetiredTopics(self.quarantine)
        self.watch = SourceWatch(config, dialect)
        # Called with a topic that has no table yet, and its source; what it raises parks the topic.
        self.on_arrival: Callable[[str, SourceTable], None] = lambda topic, source: None
        self.parked: dict[TargetId, MirrorError] = {}
        self.words = ParkedWords(self.quarantine)
        self._config = config
        self._dialect = dialect
        self._folders = Folders(config.catalog, catalog)
        self._storage = config.catalog.properties()
        self._index_folder = index_folder(config)
        self._tables: dict[TargetId, MirroredTable] = {}

    def __getitem__(self, target: TargetId) -> MirroredTable:
        return self._tables[target]

    def __contains__(self, target: TargetId) -> bool:
        return target in self._tables

    @property
    def opened(self) -> list[MirroredTable]:
        """All tables that are open and not parked."""
        return [table for target, table in self._tables.items() if target not in self.parked]

    @property
    def known(self) -> list[MirroredTable]:
        """All tables that were opened, also those that are parked since."""
        return [*self._tables.values()]

    def forget(self, target: TargetId) -> None:
        """Close a table."""
        del self._tables[target]

    def targets(self, topic: str) -> list[TargetId]:
        """Name the tables of a topic that are open and not parked."""
        return [t for t in self._tables if t[0] == topic and t not in self.parked]

    @property
    def parked_topics(self) -> set[str]:
        """The topics of which no table is left to write to."""
        return {topic for topic, _ in self.parked if not self.targets(topic)}

    def park(self, target: TargetId, reason: MirrorError) -> None:
        """Leave a table alone for the rest of the run; the next run takes it up where it stands."""
        self.parked[target] = reason
        marks = self._tables[target].marks if target in self._tables else {}
        self.words.park(target, reason, marks)
        logger.warning("parked topic=%s table=%s reason=%s", target[0], target[1] or "-", reason)

    def reasons(self) -> dict[str, MirrorError]:
        """Say why tables are parked: by topic, and by table where a topic has several."""
        topics = [topic for topic, _ in (*self._tables.keys() | self.parked.keys(),)]
        return {
            topic if topics.count(topic) == 1 or name is None else f"{topic} ({name})": reason
            for (topic, name), reason in self.parked.items()
        }

    def admit(self, topic: str, news: Unplanned) -> None:
        """Open the tables of a topic at the start of a run, and create those that can be.

        What the first record says is told to new tables alone: it may be older than the others.

        Raises:
            MirrorError: The topic cannot be mirrored at all.
        """
        assert news.table is not None
        # One record tells too little to guess a table's types from: the first batch has more.
        certain = not any(schema.inferred for schema in news.schemas)

        def admit(rule: ResolvedRule) -> None:
            assert news.table is not None
            mirrored = self._open(topic, news.table, rule)
            if mirrored is not None:
                self._evolution.recognise(mirrored, news.schemas)
                if not self._dry_run:
                    self._evolution.remember(mirrored)
            elif certain:
                self._follow_all(topic, news, rule)

        self._each_target(topic, news.table, admit)

    def open(self, topic: str, source: SourceTable) -> None:
        """Open those tables of a topic that exist."""
        self._each_target(topic, source, lambda rule: self._open(topic, source, rule))

    def evolve(self, target: TargetId, news: Unplanned, settle: Settle) -> None:
        """Create a topic's tables, or let one follow its source. Done twice, it is done once.

        Args:
            target: A table, or a topic that has none yet.
            news: What its records brought.
            settle: Makes a table ready for another key.

        Raises:
            MirrorError: The table cannot follow; it is left as it is.
        """
        topic, name = target
        if news.quarantine:
            self.quarantine.create()
        if news.table is None or self._learn(topic, news.table, news.schemas):
            return  # what was learned lets the records say more, when they are read again
        if name is not None:
            self._follow_all(topic, news, self._tables[target].rule, settle)
            return
        self.on_arrival(topic, news.table)
        self._each_target(topic, news.table, lambda rule: self._arrive(topic, news, rule))

    def note_partitions(self, topic: str, ends: Mapping[int, int]) -> None:
        """Tell the tables of a topic how many partitions it has, and where each ends."""
        for target in self.targets(topic):
            self._tables[target].note_partitions(ends)

    def confirm(self, target: TargetId) -> bool:
        """Say whether records without a schema were read in the types that the source has."""
        return self._evolution.confirm(self._tables[target])

    def lacking_defaults(self, topic: str | None = None) -> list[MirroredTable]:
        """Give the tables, of one topic or all, whose older rows lack new columns' defaults."""
        # A table's plan is made anew whenever the table has changed.
        return [
            mirrored
            for target, mirrored in self._tables.items()
            if topic in (None, target[0])
            and mirrored.plan is None
            and target not in self.parked
            and mirrored.backfill
        ]

    def plans(
        self, findings: Mapping[TargetId, Findings], only: Collection[TargetId] | None = None
    ) -> dict[str, tuple[TargetPlan, ...]]:
        """Describe the tables, or some of them, to the write tasks of a batch."""
        plans: dict[str, tuple[TargetPlan, ...]] = {}
        for topic in self.declarations.topics:
            if not self.targets(topic):
                declared = self.declarations.of(topic)
                decode = DecodePlan(
                    topic, self._dialect, None, frozenset(), self.wire, declared=declared
                )
                plans[topic] = (TargetPlan(decode),)
        for target, mirrored in self._tables.items():
            if target in self.parked or (only is not None and target not in only):
                continue
            plan = replace(
                self._plan(mirrored),
                marks=mirrored.marks,
                quarantine=self.quarantine.plan(target),
                findings=findings.get(target, Findings()),
            )
            if plan.findings.replayed:
                plan = plan.for_replay(mirrored.index_plan(self._index_folder, always=True))
            known = plans.get(mirrored.topic, ())
            plans[mirrored.topic] = (*(p for p in known if p.writer is not None), plan)
        return plans

    def decode_plan(self, target: TargetId) -> DecodePlan:
        """Describe what is known of a table's records; a log has the key of its rows."""
        plan = self._plan(self._tables[target])
        return replace(plan.decode, table_key=plan.key)

    def _plan(self, mirrored: MirroredTable) -> TargetPlan:
        if mirrored.plan is None:
            table = mirrored.table
            schema = arrow_schema(table.schema, str(table.name))
            spec = table.partition_spec
            mirrored.plan = TargetPlan(
                decode=DecodePlan(
                    mirrored.topic,
                    self._dialect,
                    source_schema(schema),
                    frozenset(mirrored.known),
                    self.wire,
                    otherwise={
                        name: parse_type_choice(text).otherwise
                        for name, text in mirrored.rule.types.items()
                    },
                    hashed=frozenset(mirrored.rule.hash),
                    declared=self.declarations.of(mirrored.topic, table.schema, mirrored.types),
                    table_key=mirrored.key,
                    key=mirrored.rule.key if mirrored.rule.mode is not ApplyMode.APPEND else (),
                    images=mirrored.rule.mode is ApplyMode.APPEND,
                    truncates_as_rows=mirrored.rule.mode is ApplyMode.APPEND,
                    events=mirrored.events,
                    relaxes=mirrored.rule.policy(ChangeKind.NULLABILITY) is not SchemaChange.IGNORE,
                ),
                name=table.name,
                rule=mirrored.rule,
                key=mirrored.key or self._row_key(mirrored),
                writer=FileWriter(table.data_location, schema, self._storage, *spec),
                index=mirrored.index_plan(self._index_folder),
                pending_cutoff=mirrored.ledger.pending_cutoff if mirrored.ledger else None,
                empty=table.empty,
                routing=KeyRouting(mirrored.width, mirrored.mixed, mirrored.key_forms),
                stale_rows=mirrored.table.properties.get(STALE_PROPERTY) == "true",
            )
        return mirrored.plan

    def _row_key(self, mirrored: MirroredTable) -> tuple[str, ...]:
        """Give the key that tells which changes of a log concern the same row, if there is one."""
        keys = {mirrored.rule.key or schema.key for schema in mirrored.known}
        return keys.pop() if len(keys) == 1 else ()

    def _each_target(
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

    def name_of(self, rule: ResolvedRule, source: SourceTable) -> TableName:
        """Name the table that a rule makes of a source."""
        target = TargetConfig(table=rule.table) if rule.table else self._config.target
        return target_name(target, source)

    def _open(self, topic: str, source: SourceTable, rule: ResolvedRule) -> MirroredTable | None:
        name = self.name_of(rule, source)
        if (topic, name) in self._tables:
            return self._tables[topic, name]
        table = self.catalog.load(name)
        return None if table is None else self._adopt(topic, source, rule, table)

    def _create(
        self,
        topic: str,
        news: Unplanned,
        rule: ResolvedRule,
        schema: SourceSchema,
        place: SchemaPlace,
    ) -> MirroredTable:
        assert news.table is not None
        source = news.table
        name = self.name_of(rule, source)
        columns = mirror_columns(schema, str(source), self._dialect, rule)
        facts = self.declarations.facts(source)
        properties = {
            **TABLE_PROPERTIES,
            "format-version": str(rule.format_version),
            MIRROR_PROPERTY: self._config.name,
            TOPIC_PROPERTY: topic,
            **key_property(column.name for column in columns if column.key),
            **log_property([created(place, datetime.now(UTC).isoformat(timespec="seconds"))]),
            **identities_property(facts),
            **self.watch.identity_property(source),
            **self.retired.replaced_property(topic),
        }
        if len(news.key_forms) == 1:
            properties[KEY_FORMS_PROPERTY] = json.dumps([*news.key_forms])
        comments = {column: fact.comment for column, fact in facts.items()}
        table = self.catalog.create(
            name,
            iceberg_schema(columns, rule, comments),
            properties,
            self.retired.location(topic, name) or self._folders.location(name),
        )
        return self._adopt(topic, source, rule, table)

    def _adopt(
        self, topic: str, source: SourceTable, rule: ResolvedRule, table: IcebergTable
    ) -> MirroredTable:
        owner = self._config.name, topic
        check_adoptable(str(table.name), table.properties, table.schema, rule, owner)
        self._folders.check(table)
        if not self._dry_run:
            table.set_partition(partition_fields(rule.partition))
        floor = self.retired.floor(topic)
        mirrored = MirroredTable(topic, source, rule, table, read_ledger(table), floor=floor)
        self._tables[mirrored.id] = mirrored
        return mirrored

    def _learn(self, topic: str, source: SourceTable, schemas: tuple[SourceSchema, ...]) -> bool:
        """Look up types that had to be inferred."""
        learned = self.declarations.learn(topic, source, schemas)
        for target in self.targets(topic) if learned else ():
            self._tables[target].plan = None
        return learned

    def _arrive(self, topic: str, news: Unplanned, rule: ResolvedRule) -> None:
        """Make a table, or open it: records that do not tell their types are read anew then."""
        assert news.table is not None
        if self._open(topic, news.table, rule) is None or not self.declarations.tells(topic):
            self._follow_all(topic, news, rule)

    def _follow_all(
        self, topic: str, news: Unplanned, rule: ResolvedRule, settle: Settle | None = None
    ) -> None:
        """Let one target follow all schemas; one that does not exist yet is created."""
        assert news.table is not None
        told = [schema for schema in news.schemas if not schema.inferred]
        mirrored = None
        # What is told needs no guess.
        for schema, place in earliest(news.places, told or joined(news.schemas)):
            mirrored = self._open(topic, news.table, rule)
            if mirrored is None:
                mirrored = self._create(topic, news, rule, schema, place)
            self._evolution.follow(mirrored, schema, place, settle)
        if mirrored is not None and not told:
            self._evolution.recognise(mirrored, news.schemas)
