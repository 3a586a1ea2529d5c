"""What `run` would do with each table of a topic, told without Spark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from cdc.config import (
    ApplyMode,
    CatalogType,
    DeleteKind,
    Lookup,
    MirrorConfig,
    ResolvedRule,
    TargetConfig,
)
from cdc.config.partitioning import partition_fields
from cdc.decode import named_by
from cdc.dialect import Dialect
from cdc.errors import ForeignTableError, MirrorError, SchemaChangeError, SpreadKeyError
from cdc.model import SchemaPlace, SourceSchema, SourceTable, TableName, Unplanned
from cdc.runtime.follow.actions import Action, Create, Park, Rename, action_text
from cdc.runtime.follow.column_decisions import ColumnDecisions
from cdc.runtime.follow.describe import describe, schemas_in, wire_of
from cdc.runtime.follow.source_catalog import open_source_catalog
from cdc.runtime.follow.source_decisions import (
    Arrival,
    RenameDecisions,
    former_source,
    left_topic_action,
    source_action,
)
from cdc.runtime.tables.adoption import check_adoptable
from cdc.runtime.tables.catalog_reader import namesakes
from cdc.runtime.tables.table_views import view_without_spark
from cdc.schema import (
    check_alone,
    check_partition,
    iceberg_schema,
    mirror_columns,
    table_folder,
    target_name,
)
from cdc.source.topics import OffsetRange, Record
from cdc.state.left_topics import read_left_topics
from cdc.state.names import QUARANTINE, TOPIC_PROPERTY
from cdc.state.table_view import TableView

Ranges = Mapping[tuple[str, int], OffsetRange]
HEADINGS = ("topic", "table", "plan", "mode", "deletes", "key", "partition", "columns", "waiting")


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What `run` would do with one table of a topic."""

    topic: str
    table: str
    action: str
    mode: str = ""
    on_delete: str = ""
    deletes: str = ""
    lookup: str = ""
    key: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    format_version: int = 0
    columns: int = 0
    waiting: int = 0
    ok: bool = True

    @property
    def cells(self) -> tuple[str, ...]:
        """Give the plan as a row for people."""
        mode = f"{self.mode} (soft)" if self.on_delete == "soft" else self.mode
        deletes = f"{self.deletes} (merge)" if self.lookup == Lookup.MERGE else self.deletes
        key = "no key" if self.mode == ApplyMode.APPEND else ", ".join(self.key)
        partition = ", ".join(self.partition)
        columns = str(self.columns) if self.columns else ""
        waiting = f"{self.waiting:,}"
        plan = (self.action, mode, deletes, key, partition, columns, waiting)
        return self.topic, self.table, *plan


class TablePlanner:
    """Plans the tables of a mirror, topic by topic."""

    def __init__(self, config: MirrorConfig, dialect: Dialect, catalog: Catalog | None) -> None:
        self._config = config
        self._dialect = dialect
        self._catalog = catalog
        self._wire = wire_of(config)
        self._source = open_source_catalog(config, dialect)
        self._columns = ColumnDecisions(dialect, self._source.columns)
        self._taken: dict[TableName, str] = {}  # the topics of the tables so far
        self._source.tables.look()
        quarantine = self._load(TableName((config.name,), QUARANTINE))
        self._left = read_left_topics(quarantine.properties if quarantine is not None else {})
        self._views: dict[TableName, TableView] = {}
        self._arrivals: dict[str, Arrival] = {}  # topics without a table

    def see(self, samples: Iterable[Record], ranges: Ranges, silent: Iterable[str] = ()) -> None:
        """Look at all tables that there are: one of them may be that of another topic, renamed.

        Args:
            samples: A record of each topic, the first as a rule.
            ranges: What Kafka holds of topics.
            silent: The topics of which Kafka has deleted all records.
        """
        for sample in samples:
            with suppress(MirrorError):
                news = describe(sample, self._dialect, self._wire, self._source.columns)
                if news.table is not None:
                    self._look_at(sample.topic, news.table)
                    first = min((place.position for place in news.places.values()), default=-1)
                    self._note_arrival(sample.topic, news.table, first, ranges)
        for topic in silent:
            source = self._source_named_by(topic)
            if source is not None:
                self._look_at(topic, source)

    def plans(
        self,
        sample: Record,
        ranges: Mapping[int, OffsetRange],
        latest: Sequence[Record] = (),
    ) -> Iterator[TablePlan]:
        """Plan the tables of one topic.

        Args:
            sample: One of its records, the first as a rule.
            ranges: What Kafka holds of its partitions.
            latest: The last records of its partitions: what their schemas ask for is still to do.
        """
        total = sum(place.next - place.first for place in ranges.values())
        try:
            news = describe(sample, self._dialect, self._wire, self._source.columns)
        except MirrorError as error:
            text = action_text([Park(error)])
            yield TablePlan(sample.topic, "", text, waiting=total, ok=False)
            return
        if news.table is None or not news.schemas:  # a truncate tells no columns
            yield TablePlan(sample.topic, "", "nothing to read yet", waiting=total)
            return
        left = left_topic_action(self._left.get(sample.topic), _nexts(ranges))
        if left is not None:
            yield TablePlan(sample.topic, "", action_text([left]))
            return
        for rule in self._rules(news.table):
            name = self._name(rule, news.table)
            plan = _plan_of(sample.topic, name, rule, total)
            try:
                yield self._planned(plan, name, rule, news, ranges, (sample, latest))
            except MirrorError as error:
                yield replace(plan, action=action_text([Park(error)]), ok=False)

    def silent_plans(self, topic: str) -> Iterator[TablePlan]:
        """Plan the tables of a topic that holds no record: only their source can ask for more."""
        for view in self._views.values():
            if view.topic == topic:
                plan = _plan_of(topic, view.name, view.rule, 0)
                try:
                    actions = self._source_actions(view)
                    yield replace(plan, action=action_text(actions), **_of_table(view))
                except MirrorError as error:
                    yield replace(plan, action=action_text([Park(error)]), ok=False)

    def _rules(self, source: SourceTable) -> tuple[ResolvedRule, ...]:
        return self._config.tables.targets_for(source.schema, source.table)

    def _name(self, rule: ResolvedRule, source: SourceTable) -> TableName:
        target = TargetConfig(table=rule.table) if rule.table else self._config.target
        return target_name(target, source)

    def _source_named_by(self, topic: str) -> SourceTable | None:
        """Read from a topic's name which table it is of, where the catalog has an answer."""
        found, source = self._source.tables.found, named_by(topic, self._dialect)
        if found is None or source is None:
            return None
        return replace(source, database=found.database) if found.database else source

    def _look_at(self, topic: str, source: SourceTable) -> None:
        """Look at those tables of a topic that exist, also under names that they had before."""
        rule = self._rule(source)
        told = [former_source(source, rule.renamed_from)] if rule.renamed_from else []
        for origin in (source, *told):
            for target in self._rules(origin):
                name = self._name(target, origin)
                table = self._load(name)
                owner = table.properties.get(TOPIC_PROPERTY) if table is not None else None
                is_ours = (owner == topic) == (origin is source)
                if table is not None and owner is not None and is_ours:
                    with suppress(MirrorError):
                        self._views[name] = view_without_spark(table, owner, origin, target)

    def _note_arrival(self, topic: str, source: SourceTable, first: int, ranges: Ranges) -> None:
        without_table = all(view.topic != topic for view in self._views.values())
        ends = {p: place.next for (name, p), place in ranges.items() if name == topic}
        left = self._left.get(topic)
        if without_table and left_topic_action(left, ends) is None:
            rule = self._rule(source)
            self._arrivals[topic] = Arrival(
                topic, source, rule.renamed_from, first, left is not None
            )

    def _rule(self, source: SourceTable) -> ResolvedRule:
        return self._config.tables.rule_for(source.schema, source.table)

    def _planned(
        self,
        plan: TablePlan,
        name: TableName,
        rule: ResolvedRule,
        news: Unplanned,
        ranges: Mapping[int, OffsetRange],
        records: tuple[Record, Sequence[Record]],
    ) -> TablePlan:
        assert news.table is not None
        if name in self._taken:
            raise ForeignTableError(plan.table, f"topic {self._taken[name]} has it already")
        self._taken[name] = plan.topic
        columns = mirror_columns(news.schemas[0], str(news.table), self._dialect, rule)
        schema = iceberg_schema(columns, rule)
        plan = replace(
            plan,
            key=tuple(column.name for column in columns if column.key),
            columns=len(schema.fields),
        )
        if rule.key and rule.mode is not ApplyMode.APPEND and len(ranges) > 1:
            raise SpreadKeyError(plan.topic, rule.key)
        existing = self._load(name)
        self._check_folder(name, existing)
        if existing is None:
            check_partition(partition_fields(rule.partition), schema, plan.table, rule.exclude)
            return replace(plan, action=action_text([self._renamed(plan.topic, name) or Create()]))
        owner = self._config.name, plan.topic
        check_adoptable(plan.table, existing.properties, existing.schema(), rule, owner)
        view = view_without_spark(existing, plan.topic, news.table, rule)
        actions = [*self._source_actions(view), *self._column_actions(view, *records)]
        return replace(plan, action=action_text(actions), waiting=_behind(view, ranges))

    def _source_actions(self, view: TableView) -> list[Action]:
        action = source_action(view, self._source.tables.lookup_of(view))
        return [] if action is None else [action]

    def _column_actions(
        self, view: TableView, sample: Record, latest: Sequence[Record]
    ) -> list[Action]:
        """Decide about columns from the last records that the table does not have yet."""
        waiting = _of_each_schema(record for record in latest if _is_waiting(record, view))
        newest = self._newest(waiting if latest else [sample], view)
        if newest is None:
            return []
        try:
            action = self._columns.decide(view, *newest).action
        except SchemaChangeError:
            # A key from the messages may be one that an old record has; the config's counts now.
            if view.rule.key or latest:
                raise
            return []
        if any(schemas_in(record) is None for record in waiting):
            self._columns.expect_clear_types(view)
        return [] if action is None else [action]

    def _renamed(self, topic: str, name: TableName) -> Rename | None:
        """Tell from which table one without any goes on; None where it is new."""
        arrival = self._arrivals.get(topic)
        if arrival is None:
            return None
        views = [*self._views.values()]
        lookups = {view.name: self._source.tables.lookup_of(view) for view in views}
        decisions = RenameDecisions(self._config, views, lookups, self._source.tables.found)
        others = [other.source for t, other in self._arrivals.items() if t != topic]
        former = decisions.decide(arrival, others)
        renames = decisions.renames(former, arrival, self._name, self._is_taken)
        return next((rename for rename in renames if rename.new == name), None)

    def _is_taken(self, name: TableName) -> bool:
        return self._load(name) is not None

    def _newest(
        self, records: Iterable[Record], view: TableView
    ) -> tuple[SourceSchema, SchemaPlace] | None:
        """Give the schema that the source had last, and where it was met."""
        found: dict[SourceSchema, SchemaPlace] = {}
        for record in records:
            with suppress(MirrorError):  # a bad record among good ones is for the quarantine
                columns = self._source.columns
                found |= describe(record, self._dialect, self._wire, columns, view).places
        return max(found.items(), key=lambda pair: pair[1].position, default=None)

    def _check_folder(self, name: TableName, table: Table | None) -> None:
        """See that no other table is in the folder that a table has, or would have."""
        settings, warehouse = self._config.catalog, self._config.catalog.warehouse
        if self._catalog is not None and settings.type is CatalogType.SQL and warehouse is not None:
            folder = table.location() if table is not None else table_folder(warehouse, name)
            check_alone(name, folder, namesakes(self._catalog, name))

    def _load(self, name: TableName) -> Table | None:
        if self._catalog is None:
            return None
        try:
            return self._catalog.load_table((*name.namespace, name.table))
        except NoSuchTableError:
            return None


def plan_lines(plans: Iterable[TablePlan]) -> Iterator[str]:
    """Write plans for people: a table, and below it why some tables would be parked."""
    plans = tuple(plans)
    rows = [HEADINGS, *(plan.cells for plan in plans if plan.ok)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    for plan in plans:
        if not plan.ok:
            place = f"{plan.topic} ({plan.table})" if plan.table else plan.topic
            yield f"{place}: {plan.action}"


def _plan_of(topic: str, name: TableName, rule: ResolvedRule, waiting: int) -> TablePlan:
    """Give what the config alone says of a table; a log replaces no rows."""
    replaces = rule.mode is not ApplyMode.APPEND
    positional = replaces and rule.deletes is DeleteKind.POSITIONAL
    return TablePlan(
        topic=topic,
        table=str(name),
        action="",
        mode=rule.mode.value,
        on_delete=rule.on_delete.value if rule.mode is ApplyMode.MIRROR else "",
        deletes=rule.deletes.value if replaces else "",
        lookup=rule.lookup.value if positional else "",
        partition=rule.partition,
        format_version=rule.format_version,
        waiting=waiting,
    )


def _of_table(view: TableView) -> dict[str, Any]:
    """Give what a table says of itself where no record does."""
    return {"key": view.state.key.columns, "columns": len(view.schema.fields)}


def _nexts(ranges: Mapping[int, OffsetRange]) -> dict[int, int]:
    return {partition: place.next for partition, place in ranges.items()}


def _behind(view: TableView, ranges: Mapping[int, OffsetRange]) -> int:
    """Count the records that the table's ledger does not have yet."""
    marks = view.marks
    return sum(
        place.next - (marks[partition].next_offset if partition in marks else place.first)
        for partition, place in ranges.items()
    )


def _is_waiting(record: Record, view: TableView) -> bool:
    mark = view.marks.get(record.partition)
    return mark is None or record.offset >= mark.next_offset


def _of_each_schema(records: Iterable[Record]) -> list[Record]:
    """Give the last record of each schema: to read every one takes long, and they tell the same."""
    found: dict[object, Record] = {}
    for number, record in enumerate(sorted(records, key=lambda record: record.time)):
        found[schemas_in(record) or number] = record
    return [*found.values()]
