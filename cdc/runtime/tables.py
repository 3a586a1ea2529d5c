"""The mirrored tables of a run: opened, created, evolved, parked."""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pyarrow as pa

from cdc.commit import IcebergCatalog, IcebergTable, read_ledger
from cdc.config import CatalogType, MirrorConfig, ResolvedRule
from cdc.config.type_choices import parse_type_choice
from cdc.decode import DecodePlan
from cdc.dialect import Dialect
from cdc.errors import ForeignTableError, MirrorError, SchemaChangeError
from cdc.model import (
    MIRROR_PROPERTY,
    TOPIC_PROPERTY,
    Ledger,
    News,
    SourceSchema,
    SourceTable,
    TableName,
    Truncate,
)
from cdc.runtime.declared import Declarations
from cdc.runtime.describe import wire_of
from cdc.runtime.quarantine import Quarantine
from cdc.runtime.topic_plan import TopicPlan
from cdc.schema import (
    SchemaDifference,
    arrow_schema,
    difference,
    fitted,
    iceberg_schema,
    joined,
    mirror_columns,
    table_location,
    target_name,
)
from cdc.write import FileWriter

logger = logging.getLogger(__name__)

TABLE_PROPERTIES = {
    "format-version": "2",
    "write.format.default": "parquet",
    "write.parquet.compression-codec": "zstd",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    # The batch's files go as they are; sorting them by partition first would shuffle for nothing.
    "write.merge.distribution-mode": "none",
    # Every commit leaves a metadata file behind.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
}


@dataclass(slots=True)
class MirroredTable:
    """One topic's table, and how far it has come."""

    topic: str
    source: SourceTable
    rule: ResolvedRule
    table: IcebergTable
    ledger: Ledger | None
    known: set[SourceSchema] = field(default_factory=set)
    plan: TopicPlan | None = None  # kept until the table changes

    def advance(self, ledger: Ledger) -> None:
        """Take note of a commit."""
        self.ledger = ledger
        self.plan = None

    @property
    def key(self) -> tuple[str, ...]:
        """The key columns, which alone are required."""
        return tuple(column.name for column in self.table.schema.fields if column.required)


@dataclass(frozen=True, slots=True)
class Parked:
    """A table that is left alone for the rest of the run, and why."""

    topic: str
    reason: MirrorError


class Tables:
    """All tables of one mirror, by topic."""

    def __init__(self, config: MirrorConfig, dialect: Dialect, catalog: IcebergCatalog) -> None:
        self.catalog = catalog
        self.wire = wire_of(config)
        self.declarations = Declarations(config, dialect)
        self.quarantine = Quarantine(config, catalog)
        self.parked: dict[str, Parked] = {}
        self._config = config
        self._dialect = dialect
        self._storage = config.catalog.properties()
        self._tables: dict[str, MirroredTable] = {}

    def __getitem__(self, topic: str) -> MirroredTable:
        return self._tables[topic]

    def __contains__(self, topic: str) -> bool:
        return topic in self._tables

    def park(self, topic: str, reason: MirrorError) -> None:
        """Leave a topic alone for the rest of the run; the next run takes it up where it stands."""
        self.parked[topic] = Parked(topic, reason)
        logger.warning("parked topic=%s reason=%s", topic, reason)

    def open(self, topic: str, source: SourceTable) -> MirroredTable | None:
        """Open the table of a topic, if it exists.

        Raises:
            ForeignTableError: A table of that name exists and is not this topic's mirror.
        """
        name = target_name(self._config.target, source)
        table = self.catalog.load(name)
        return None if table is None else self._adopt(topic, source, table)

    def evolve(self, topic: str, news: News) -> None:
        """Create the topic's table, or let it follow its source. Done twice, it is done once.

        Raises:
            MirrorError: The table cannot follow; it is left as it is.
        """
        if news.quarantine:
            self.quarantine.create()
        if news.table is not None and self._learn(topic, news.table, news.schemas):
            return  # the records are read again, and say more then
        told = [schema for schema in news.schemas if not schema.inferred]
        for schema in told or joined(news.schemas):  # what is told needs no guess
            mirrored = self._tables.get(topic)
            if mirrored is None and news.table is not None:
                mirrored = self.open(topic, news.table) or self._create(topic, news.table, schema)
            if mirrored is not None:
                self._follow(mirrored, schema)
        if topic in self._tables and not told:
            self.recognise(topic, news.schemas)

    def recognise(self, topic: str, schemas: Iterable[SourceSchema]) -> None:
        """Note schemas that the topic's table already has room for, so that no batch stops at them.

        A schema that asks for more is left to the batch that holds it: it may be an old one.
        """
        mirrored = self._tables[topic]
        for schema in schemas:
            with suppress(MirrorError):
                schema = self._fitted(mirrored, schema)
                change = self._difference(mirrored, schema)
                _refuse_unfollowed(str(mirrored.source), change)
                if not change.added:
                    mirrored.known.add(schema)
                    mirrored.plan = None

    def plans(
        self, topics: Mapping[str, Truncate | None], rows: Mapping[str, pa.Table]
    ) -> dict[str, TopicPlan]:
        """Describe the given topics' tables, and rows of them, to the write tasks."""
        for topic in self.declarations.renewed():
            if topic in self._tables:
                self._tables[topic].plan = None
        plans = {}
        for topic, truncate in topics.items():
            if topic not in self._tables and topic in self.declarations:
                declared = self.declarations.of(topic)
                decode = DecodePlan(
                    topic, self._dialect, None, frozenset(), self.wire, declared=declared
                )
                plans[topic] = TopicPlan(decode)
            if topic in self._tables:
                plan = self._plan(self._tables[topic])
                quarantine = self.quarantine.plan(topic)
                plans[topic] = replace(
                    plan, truncate=truncate, quarantine=quarantine, rows=rows.get(topic)
                )
        return plans

    @property
    def topics(self) -> list[str]:
        """The topics that have a table."""
        return list(self._tables)

    def _plan(self, mirrored: MirroredTable) -> TopicPlan:
        if mirrored.plan is None:
            table = mirrored.table
            schema = arrow_schema(table.schema, str(table.name))
            mirrored.plan = TopicPlan(
                decode=DecodePlan(
                    mirrored.topic,
                    self._dialect,
                    schema,
                    frozenset(mirrored.known),
                    self.wire,
                    otherwise={
                        name: parse_type_choice(text).otherwise
                        for name, text in mirrored.rule.types.items()
                    },
                    hashed=frozenset(mirrored.rule.hash),
                    declared=self.declarations.of(mirrored.topic, table.schema),
                ),
                key=mirrored.key,
                deletes=mirrored.rule.deletes,
                writer=FileWriter(table.data_location, schema, self._storage),
                marks=dict(mirrored.ledger.partitions) if mirrored.ledger else {},
                empty=table.empty,
            )
        return mirrored.plan

    def _create(self, topic: str, source: SourceTable, schema: SourceSchema) -> MirroredTable:
        name = target_name(self._config.target, source)
        rule = self._config.tables.rule_for(source.schema, source.table)
        columns = mirror_columns(schema, str(source), self._dialect, rule)
        properties = {
            **TABLE_PROPERTIES,
            MIRROR_PROPERTY: self._config.name,
            TOPIC_PROPERTY: topic,
        }
        table = self.catalog.create(name, iceberg_schema(columns), properties, self._location(name))
        logger.info("created table=%s topic=%s", name, topic)
        return self._adopt(topic, source, table)

    def _location(self, name: TableName) -> str | None:
        warehouse = self._config.catalog.warehouse
        if self._config.catalog.type is not CatalogType.SQL or warehouse is None:
            return None  # the catalog's server decides
        return table_location(warehouse, name)

    def _adopt(self, topic: str, source: SourceTable, table: IcebergTable) -> MirroredTable:
        properties = table.properties
        owner = properties.get(MIRROR_PROPERTY), properties.get(TOPIC_PROPERTY)
        if owner == (None, None):
            raise ForeignTableError(str(table.name), "no mirror made it")
        if owner != (self._config.name, topic):
            raise ForeignTableError(
                str(table.name), f"it belongs to topic {owner[1]} of the mirror {owner[0]}"
            )
        rule = self._config.tables.rule_for(source.schema, source.table)
        mirrored = MirroredTable(topic, source, rule, table, read_ledger(table))
        self._tables[topic] = mirrored
        return mirrored

    def _learn(self, topic: str, source: SourceTable, schemas: tuple[SourceSchema, ...]) -> bool:
        """Look up types that had to be inferred."""
        learned = self.declarations.learn(topic, source, schemas)
        if learned and topic in self._tables:
            self._tables[topic].plan = None
        return learned

    def _fitted(self, mirrored: MirroredTable, schema: SourceSchema) -> SourceSchema:
        if not schema.inferred:
            return schema
        certain = self.declarations.certain(mirrored.topic)
        fit = fitted(schema, mirrored.table.schema, certain, str(mirrored.source))
        self.declarations.warn(mirrored.topic, str(mirrored.table.name), fit.columns)
        return fit

    def _follow(self, mirrored: MirroredTable, schema: SourceSchema) -> None:
        schema = self._fitted(mirrored, schema)
        if schema in mirrored.known:
            return
        change = self._difference(mirrored, schema)
        _refuse_unfollowed(str(mirrored.source), change)
        if change.added:
            mirrored.table.add_columns([(column.name, column.type) for column in change.added])
            added = ",".join(column.name for column in change.added)
            logger.info("added columns=%s table=%s", added, mirrored.table.name)
        mirrored.known.add(schema)
        mirrored.plan = None

    def _difference(self, mirrored: MirroredTable, schema: SourceSchema) -> SchemaDifference:
        name = str(mirrored.source)
        columns = mirror_columns(schema, name, self._dialect, mirrored.rule)
        return difference(mirrored.table.schema, columns, name)


def _refuse_unfollowed(table: str, change: SchemaDifference) -> None:
    refused = [f"{c.column} from {c.old} to {c.new}" for c in change.changed]
    if change.old_key != change.new_key:
        old, new = ", ".join(change.old_key), ", ".join(change.new_key)
        refused.append(f"its key from ({old}) to ({new})")
    if refused:
        raise SchemaChangeError(table, tuple(refused))
