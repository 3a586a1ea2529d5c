"""What a table does about the columns of its source: decided here, for `run` and `check` alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cdc.decode import column_mapping
from cdc.dialect import ColumnFacts, Dialect
from cdc.errors import SchemaChangeError, UnclearTypeError
from cdc.model import RESERVED, SchemaPlace, SourceSchema
from cdc.runtime.follow.actions import Alter
from cdc.runtime.follow.source_catalog import CatalogColumns
from cdc.schema import DAY, Decision, decide, difference, fitted, mirror_columns
from cdc.state.column_identities import Renames, catalog_renames
from cdc.state.column_types import unclear_types
from cdc.state.schema_log import since
from cdc.state.table_view import TableView

NO_FACTS: Mapping[str, ColumnFacts] = {}


@dataclass(frozen=True, slots=True)
class ColumnDecision:
    """What was decided about a schema, and from what."""

    schema: SourceSchema  # in the types that the table has
    newest: bool  # the table has followed nothing that came after it
    facts: Mapping[str, ColumnFacts] = field(default_factory=dict)
    action: Alter | None = None
    has_room: bool = True  # the table need not change, as far as the messages tell
    is_known: bool = False  # from before a change that the table has followed


class ColumnDecisions:
    """Decides about columns, with what the source's catalog tells of them."""

    def __init__(self, dialect: Dialect, catalog: CatalogColumns) -> None:
        self._dialect = dialect
        self._catalog = catalog

    def fitted(self, view: TableView, schema: SourceSchema) -> SourceSchema:
        """Give a schema in the types that a table has, where its messages do not tell them."""
        if not schema.inferred:
            return schema
        known = self._catalog.of(view.topic, view.schema, view.state.types)
        declared = {name for name, types in known.items() if types.declared}
        fit = fitted(schema, view.schema, declared, str(view.source))
        self._catalog.warn(view.topic, str(view.name), fit.columns, declared)
        return fit

    def decide(self, view: TableView, schema: SourceSchema, place: SchemaPlace) -> ColumnDecision:
        """Decide what a table does about a schema of its source.

        Args:
            view: The table.
            schema: The schema.
            place: Where it was met first.

        Raises:
            SchemaChangeError: The table's policy does not allow it, or Iceberg cannot do it.
        """
        schema = self.fitted(view, schema)
        later = since(place, view.state.events)
        if later and column_mapping(schema, later, view.schema.column_names) is not None:
            # From before: the decoder knows what became of its columns.
            return ColumnDecision(schema, newest=False, is_known=True)
        newest = not later
        # The source's catalog is asked only where messages ask for something.
        if self.has_room(view, schema, newest=newest):
            return ColumnDecision(schema, newest)
        facts = self._catalog.facts(view.source)
        action = self.alter(view, schema, newest=newest, facts=facts)
        return ColumnDecision(schema, newest, facts, action, has_room=False)

    def expect_clear_types(self, view: TableView) -> None:
        """See that records without schemas are read in types that nobody can mistake.

        Raises:
            UnclearTypeError: Nobody can tell in which type they are written.
        """
        known = self._catalog.of(view.topic, view.schema, view.state.types)
        excluded = view.rule.exclude
        unclear = unclear_types({name: t for name, t in known.items() if name not in excluded})
        if unclear:
            raise UnclearTypeError(str(view.source), unclear)

    def has_room(self, view: TableView, schema: SourceSchema, *, newest: bool = True) -> bool:
        """Say whether a table need not change for a schema, as far as its messages tell."""
        return self._decision(view, schema, newest=newest, facts=NO_FACTS).idle

    def alter(
        self,
        view: TableView,
        schema: SourceSchema,
        *,
        newest: bool,
        facts: Mapping[str, ColumnFacts],
    ) -> Alter | None:
        """Decide what a table does to make room for a schema; None where it has room.

        Args:
            view: The table.
            schema: What its source has, in the types that the table has.
            newest: Whether the table has followed nothing newer.
            facts: What the source's catalog knows of the columns.

        Raises:
            SchemaChangeError: The table's policy does not allow it, or Iceberg cannot do it.
        """
        decision = self._decision(view, schema, newest=newest, facts=facts)
        if decision.refused:
            raise SchemaChangeError(str(view.source), decision.refused)
        return None if decision.idle else Alter(decision)

    def _decision(
        self,
        view: TableView,
        schema: SourceSchema,
        *,
        newest: bool,
        facts: Mapping[str, ColumnFacts],
    ) -> Decision:
        name, rule = str(view.source), view.rule
        columns = mirror_columns(schema, name, self._dialect, rule)
        told = _renames(view, schema, facts)
        found = difference(
            view.schema,
            columns,
            name,
            view.state.key.columns,
            renames={**told.names, **rule.renames},
            newest=newest,
            inferred=schema.inferred,
            distinguishable=told.complete,
            comments={column: fact.comment for column, fact in facts.items()},
        )
        taken = [column.name for column in view.schema.fields]
        former = view.state.key.former_columns(view.schema)
        day = datetime.now(UTC).strftime(DAY)
        return decide(found, rule, taken, view.partitioned_by, day, former)


def _renames(view: TableView, schema: SourceSchema, facts: Mapping[str, ColumnFacts]) -> Renames:
    """Ask what the catalog tells of columns with another name."""
    table = [c.name for c in view.schema.fields if not c.name.startswith(RESERVED)]
    source = [column.name for column in schema.columns if column.name not in view.rule.exclude]
    return catalog_renames(table, source, view.state.identities, facts)
