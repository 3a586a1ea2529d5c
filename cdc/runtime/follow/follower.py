"""How the tables of a run come to be, and follow what their records brought."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from cdc.config import ResolvedRule
from cdc.model import SchemaPlace, SourceSchema, SourceTable, TargetId, Unplanned
from cdc.runtime.follow.actions import Create
from cdc.runtime.follow.columns import ColumnFollower, Settle
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.runtime.tables.table_properties import TABLE_PROPERTIES
from cdc.schema import iceberg_schema, joined, mirror_columns
from cdc.state.column_identities import joined_identities
from cdc.state.key import TableKey
from cdc.state.lanes import Lanes
from cdc.state.schema_log import created
from cdc.state.source_identity import SourceIdentity
from cdc.state.table_state import TableState
from cdc.state.version import first_properties

logger = logging.getLogger(__name__)

# Told of a topic that has no table yet, and its source; what it raises parks the topic.
Arrivals = Callable[[str, SourceTable], None]


class TableFollower:
    """Opens and creates the tables of topics, and lets them follow."""

    def __init__(
        self, context: MirrorContext, columns: ColumnFollower, arrivals: Arrivals | None = None
    ) -> None:
        self._context = context
        self._tables = context.tables
        self._columns = columns
        self._arrivals = arrivals

    def admit(self, topic: str, news: Unplanned) -> None:
        """Open the tables of a topic at the start of a run, and create those that can be.

        What the first record says is told to new tables alone: it may be older than the others.

        Raises:
            MirrorError: The topic cannot be mirrored at all.
        """
        source = news.table
        assert source is not None
        # One record tells too little to guess a table's types from: the first batch has more.
        certain = not any(schema.inferred for schema in news.schemas)

        def admit(rule: ResolvedRule) -> None:
            mirrored = self._tables.open_one(topic, source, rule)
            if mirrored is not None:
                self._columns.recognise(mirrored, news.schemas)
                if not self._context.dry_run:
                    self._columns.remember(mirrored)
            elif certain:
                self._follow_all(topic, news, rule)

        self._tables.for_each(topic, source, admit)

    def follow(self, target: TargetId, news: Unplanned, settle: Settle) -> None:
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
            self._context.quarantine.create()
        source = news.table
        # What is learned lets the records say more, when they are read again.
        if source is None or self._context.declarations.learn(topic, source, news.schemas):
            return
        if name is not None:
            self._follow_all(topic, news, self._tables[target].rule, settle)
            return
        if self._arrivals is not None:
            self._arrivals(topic, source)
        self._tables.for_each(topic, source, lambda rule: self._arrive(topic, news, rule))

    def _arrive(self, topic: str, news: Unplanned, rule: ResolvedRule) -> None:
        """Make a table, or open it: records that do not tell their types are read anew then."""
        assert news.table is not None
        there = self._tables.open_one(topic, news.table, rule) is not None
        if not there or not self._context.declarations.tells(topic):
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
            mirrored = self._tables.open_one(topic, news.table, rule)
            if mirrored is None:
                mirrored = self._create(topic, news, rule, schema, place)
            self._columns.follow(mirrored, schema, place, settle)
        if mirrored is not None and not told:
            self._columns.recognise(mirrored, news.schemas)

    def _create(
        self,
        topic: str,
        news: Unplanned,
        rule: ResolvedRule,
        schema: SourceSchema,
        place: SchemaPlace,
    ) -> MirroredTable:
        source, context = news.table, self._context
        assert source is not None
        name = self._tables.name_of(rule, source)
        columns = mirror_columns(schema, str(source), context.dialect, rule)
        facts = context.declarations.facts(source)
        when = datetime.now(UTC).isoformat(timespec="seconds")
        state = TableState(
            mirror=context.config.name,
            topic=topic,
            key=TableKey(tuple(column.name for column in columns if column.key)),
            source=SourceIdentity(
                identity=context.watch.look_up(None, source, None).identity,
                replaced=context.left.replaced(topic),
            ),
            events=(created(place, when),),
            identities=joined_identities(facts, {}, {}),
        )
        if len(news.key_forms) == 1:
            state = replace(state, lanes=Lanes(key_forms=news.key_forms))
        properties = {
            **TABLE_PROPERTIES,
            "format-version": str(rule.format_version),
            **first_properties(context.config.name, topic),
            **state.properties,
        }
        comments = {column: fact.comment for column, fact in facts.items()}
        table = context.catalog.create(
            name,
            iceberg_schema(columns, rule, comments),
            properties,
            self._tables.location(topic, name),
        )
        for text in Create().texts:
            logger.info("followed table=%s action=%s", name, text)
        return self._tables.adopt(topic, source, rule, table)


def earliest(
    places: Mapping[SourceSchema, SchemaPlace], schemas: Iterable[SourceSchema]
) -> list[tuple[SourceSchema, SchemaPlace]]:
    """Put schemas into the order in which the source had them."""
    nowhere = SchemaPlace(0, 0)
    found = [(schema, places.get(schema, nowhere)) for schema in schemas]
    return sorted(found, key=lambda pair: (pair[1].position, pair[1].offset))
