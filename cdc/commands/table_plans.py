"""What `run` would do with each table of a topic, told without Spark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

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
from cdc.dialect import Dialect
from cdc.errors import ForeignTableError, MirrorError, SchemaChangeError, SpreadKeyError
from cdc.model import (
    QUARANTINE,
    TOPIC_PROPERTY,
    SchemaPlace,
    SourceSchema,
    SourceTable,
    TableName,
    Unplanned,
)
from cdc.runtime.follow.declared import Declarations
from cdc.runtime.follow.describe import describe, schemas_in, wire_of
from cdc.runtime.follow.planned_fates import PlannedFates, SeenTable, former_source
from cdc.runtime.follow.source_watch import SourceWatch
from cdc.runtime.tables.adoption import check_adoptable
from cdc.runtime.tables.catalog_reader import namesakes
from cdc.runtime.tables.table_ledger import newest_ledger
from cdc.schema import (
    DAY,
    Decision,
    check_alone,
    check_partition,
    decide,
    difference,
    iceberg_schema,
    mirror_columns,
    statement,
    table_folder,
    target_name,
)
from cdc.source.topics import OffsetRange, Record
from cdc.state.key import former_key, key_of
from cdc.state.left_topics import read_retired

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
        self._declarations = Declarations(config, dialect)
        self._taken: dict[TableName, str] = {}  # the topics of the tables so far
        watch = SourceWatch(config, dialect)
        watch.look()
        quarantine = self._load(TableName((config.name,), QUARANTINE))
        noted = quarantine.properties if quarantine is not None else {}
        self._fates = PlannedFates(watch, read_retired(noted))

    def see(self, samples: Iterable[Record]) -> None:
        """Look at all tables that there are: one of them may be that of another topic, renamed."""
        for sample in samples:
            with suppress(MirrorError):
                news = describe(sample, self._dialect, self._wire, self._declarations)
                for rule in self._rules(news.table):
                    assert news.table is not None
                    table = self._load(self._name(rule, news.table))
                    if table is not None and table.properties.get(TOPIC_PROPERTY) == sample.topic:
                        self._fates.seen.append(SeenTable(table, sample.topic, news.table, rule))

    def _rules(self, source: SourceTable | None) -> tuple[ResolvedRule, ...]:
        if source is None:
            return ()
        return self._config.tables.targets_for(source.schema, source.table)

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
            news = describe(sample, self._dialect, self._wire, self._declarations)
        except MirrorError as error:
            yield TablePlan(sample.topic, "", f"park: {error}", waiting=total, ok=False)
            return
        if news.table is None or not news.schemas:  # a truncate tells no columns
            yield TablePlan(sample.topic, "", "nothing to read yet", waiting=total)
            return
        left = self._fates.left(sample.topic, ranges)
        if left is not None:
            yield TablePlan(sample.topic, "", left)
            return
        newest = self._newest(sample, news, latest)
        for rule in self._rules(news.table):
            name = self._name(rule, news.table)
            plan = _plan_of(sample.topic, name, rule, total)
            try:
                yield self._planned(plan, name, rule, news, ranges, newest)
            except MirrorError as error:
                yield replace(plan, action=f"park: {error}", ok=False)

    def _name(self, rule: ResolvedRule, source: SourceTable) -> TableName:
        target = TargetConfig(table=rule.table) if rule.table else self._config.target
        return target_name(target, source)

    def _planned(
        self,
        plan: TablePlan,
        name: TableName,
        rule: ResolvedRule,
        news: Unplanned,
        ranges: Mapping[int, OffsetRange],
        newest: SourceSchema | None,
    ) -> TablePlan:
        assert news.table is not None
        if name in self._taken:
            raise ForeignTableError(plan.table, f"topic {self._taken[name]} has it already")
        self._taken[name] = plan.topic
        columns = mirror_columns(news.schemas[0], str(news.table), self._dialect, rule)
        schema = iceberg_schema(columns, rule)
        plan = replace(
            plan,
            action="create",
            key=tuple(column.name for column in columns if column.key),
            columns=len(schema.fields),
        )
        if rule.key and rule.mode is not ApplyMode.APPEND and len(ranges) > 1:
            raise SpreadKeyError(plan.topic, rule.key)
        existing = self._load(name)
        self._check_folder(name, existing)
        if existing is None:
            check_partition(partition_fields(rule.partition), schema, plan.table, rule.exclude)
            return self._renamed(plan, rule, news.table) or plan
        owner = self._config.name, plan.topic
        check_adoptable(plan.table, existing.properties, existing.schema(), rule, owner)
        decision = self._decision(existing, newest or news.schemas[0], rule, str(news.table))
        # A key from the messages may be one that an old record has; the config's counts now.
        if decision.refused and (rule.key or newest is not None):
            raise SchemaChangeError(plan.table, decision.refused)
        statements = [statement(step) for _, steps in decision.steps for step in steps]
        fate = self._fates.of(SeenTable(existing, plan.topic, news.table, rule))
        action = "; ".join([*([fate] if fate else ()), *statements]) or "go on"
        return replace(plan, action=action, waiting=_behind(existing, ranges))

    def _renamed(
        self, plan: TablePlan, rule: ResolvedRule, source: SourceTable
    ) -> TablePlan | None:
        """Plan for a table that has one already, under another name."""
        former = former_source(source, rule.renamed_from) if rule.renamed_from else None
        old = self._fates.renamed(plan.topic, source, former)
        return None if old is None else replace(plan, action=f"RENAME TABLE {old} TO {plan.table}")

    def _decision(
        self, table: Table, schema: SourceSchema, rule: ResolvedRule, source: str
    ) -> Decision:
        """Say what the table would do to follow a schema."""
        found = difference(
            table.schema(),
            mirror_columns(schema, source, self._dialect, rule),
            source,
            key_of(table.properties, table.schema()),
            renames=rule.renames,
            newest=True,
            inferred=schema.inferred,
        )
        taken = [column.name for column in table.schema().fields]
        partitioned = {field.column for field in partition_fields(rule.partition)}
        former = former_key(table.properties, table.schema())
        return decide(found, rule, taken, partitioned, datetime.now(UTC).strftime(DAY), former)

    def _newest(
        self, sample: Record, news: Unplanned, latest: Sequence[Record]
    ) -> SourceSchema | None:
        """Give the schema that the source had last."""
        known = schemas_in(sample)
        if latest and known is not None and all(schemas_in(record) == known for record in latest):
            return news.schemas[0]  # as for most: to read every record takes long
        found: dict[SourceSchema, SchemaPlace] = {}
        for record in latest:
            with suppress(MirrorError):  # a bad record among good ones is for the quarantine
                news = describe(record, self._dialect, self._wire, self._declarations)
                found |= news.places
        return max(found, key=lambda schema: found[schema].position, default=None)

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


def _behind(table: Table, ranges: Mapping[int, OffsetRange]) -> int:
    """Count the records that the table's ledger does not have yet."""
    ledger, _ = newest_ledger(table)
    marks = ledger.partitions if ledger is not None else {}
    return sum(
        place.next - (marks[partition].next_offset if partition in marks else place.first)
        for partition, place in ranges.items()
    )
