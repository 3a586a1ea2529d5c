"""How a table follows the columns of its source: by policy, on record, and each change once."""

import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from cdc.config import ApplyMode, ChangeKind
from cdc.decode import DecodePlan, ValueRules, column_mapping, default_text
from cdc.dialect import ColumnFacts, Dialect
from cdc.errors import LackingKeyError, MirrorError, SchemaChangeError, UnclearTypeError
from cdc.model import (
    BACKFILL_PROPERTY,
    RESERVED,
    SchemaEvent,
    SchemaPlace,
    SourceSchema,
    SourceType,
)
from cdc.model.column_steps import ColumnStep, StepKind
from cdc.model.column_types import KnownColumns
from cdc.runtime.follow.column_events import event_of
from cdc.runtime.follow.declared import Declarations
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.schema import (
    DAY,
    ColumnChange,
    Decision,
    arrow_type,
    decide,
    difference,
    fitted,
    mirror_columns,
)
from cdc.state.column_identities import Renames, identities_property, told_renames
from cdc.state.column_types import remembered, types_property, unclear_types
from cdc.state.key import former_key, former_property, key_property
from cdc.state.schema_log import log_property, since

logger = logging.getLogger(__name__)

# Applies all that came before a table's key changed; says which of some columns a row lacks then.
Settle = Callable[[MirroredTable, tuple[str, ...]], tuple[str, ...]]


class Evolution:
    """Lets tables follow their sources."""

    def __init__(self, dialect: Dialect, declarations: Declarations) -> None:
        self._dialect = dialect
        self._declarations = declarations

    def follow(
        self,
        mirrored: MirroredTable,
        schema: SourceSchema,
        place: SchemaPlace,
        settle: Settle | None = None,
    ) -> None:
        """Make room for a schema, in one commit. Done twice, it is done once.

        Args:
            mirrored: The table.
            schema: What its source has now.
            place: Where that was met first.
            settle: Makes the table ready for another key; a new table needs none.

        Raises:
            SchemaChangeError: The table's policy does not allow it, or Iceberg cannot do it.
        """
        schema = self._fitted(mirrored, schema)
        later = since(place, mirrored.events)
        if later and column_mapping(schema, later, mirrored.table.schema.column_names) is not None:
            return  # from before: the decoder knows what became of its columns
        if self._decision(mirrored, schema, newest=not later).idle:
            self.remember(mirrored)
        else:
            facts = self._declarations.facts(mirrored.source)
            decision = self._decision(mirrored, schema, newest=not later, facts=facts)
            if decision.refused:
                raise SchemaChangeError(str(mirrored.source), decision.refused)
            if decision.new_key and settle is not None:
                lacking = self._lacking(mirrored, schema, decision, settle)
                if lacking:
                    raise LackingKeyError(str(mirrored.source), decision.new_key, lacking)
                decision = self._decision(mirrored, schema, newest=not later, facts=facts)
            told = self._told_by(mirrored, schema, newest=not later)
            self._alter(mirrored, schema, place, decision, facts, told)
            mirrored.known.clear()  # what fitted the old columns need not fit the new ones
        mirrored.known.add(schema)
        mirrored.plan = None

    def _lacking(
        self, mirrored: MirroredTable, schema: SourceSchema, decision: Decision, settle: Settle
    ) -> tuple[str, ...]:
        """Name the columns of a new key that some row of the table has no value for."""
        there = set(mirrored.table.schema.column_names)
        filled = self._defaults(mirrored, schema, decision).keys()
        lacking = settle(mirrored, tuple(name for name in decision.new_key if name in there))
        added = tuple(name for name in decision.new_key if name not in there | filled)
        return lacking if mirrored.table.empty else (*lacking, *added)

    def recognise(self, mirrored: MirroredTable, schemas: Iterable[SourceSchema]) -> None:
        """Note schemas that a table already has room for, so that no batch stops at them.

        A schema that asks for more is left to the batch that holds it: it may be an old one.
        """
        for schema in schemas:
            with suppress(MirrorError):
                schema = self._fitted(mirrored, schema)
                if self._decision(mirrored, schema, newest=True).idle:
                    mirrored.known.add(schema)
                    mirrored.plan = None

    def _fitted(self, mirrored: MirroredTable, schema: SourceSchema) -> SourceSchema:
        if not schema.inferred:
            return schema
        known = self._known_columns(mirrored)
        declared = {name for name, types in known.items() if types.declared}
        fit = fitted(schema, mirrored.table.schema, declared, str(mirrored.source))
        name = str(mirrored.table.name)
        self._declarations.warn(mirrored.topic, name, fit.columns, declared)
        return fit

    def remember(self, mirrored: MirroredTable) -> None:
        """Let a table keep what it was told of its columns' types. Done twice, it is done once."""
        noted = self._types_property(mirrored, mirrored.table.schema.column_names, {})
        if any(mirrored.table.properties.get(name) != text for name, text in noted.items()):
            mirrored.table.set_properties(noted)
            mirrored.plan = None

    def _told_by(
        self, mirrored: MirroredTable, schema: SourceSchema, *, newest: bool
    ) -> dict[str, str]:
        """Give the property that keeps the types with a schema that the table follows.

        Those of an older one say nothing of columns that are known.
        """
        types = {c.name: c.type for c in schema.columns if newest or c.name not in mirrored.types}
        return self._types_property(mirrored, types, types)

    def _types_property(
        self,
        mirrored: MirroredTable,
        names: Collection[str],
        followed: Mapping[str, SourceType],
    ) -> dict[str, str]:
        """Give the property that keeps some columns' types: the catalog's, or those followed."""
        if not self._declarations.tells(mirrored.topic):
            return {}
        known = self._known_columns(mirrored).items()
        types = {n: t.declared for n, t in known if n in names and t.declared}
        kept = {name: followed.get(name, kind) for name, kind in types.items()}
        return types_property(remembered(mirrored.types, kept, self._dialect))

    def confirm(self, mirrored: MirroredTable) -> bool:
        """Say whether records were read in the types that the source's catalog tells by now.

        Raises:
            UnclearTypeError: Nobody can tell in which type they are written.
        """
        known = self._known_columns(mirrored)
        unclear = unclear_types({n: t for n, t in known.items() if n not in mirrored.rule.exclude})
        if unclear:
            raise UnclearTypeError(str(mirrored.source), unclear)
        if mirrored.plan is not None and mirrored.plan.decode.columns == known:
            return True
        mirrored.plan = None
        return False

    def _known_columns(self, mirrored: MirroredTable) -> KnownColumns:
        return self._declarations.of(mirrored.topic, mirrored.table.schema, mirrored.types)

    def _decision(
        self,
        mirrored: MirroredTable,
        schema: SourceSchema,
        *,
        newest: bool,
        facts: Mapping[str, ColumnFacts] | None = None,
    ) -> Decision:
        name, rule, table = str(mirrored.source), mirrored.rule, mirrored.table
        columns = mirror_columns(schema, name, self._dialect, rule)
        told = self._renames(mirrored, schema, facts or {})
        found = difference(
            table.schema,
            columns,
            name,
            mirrored.key,
            renames={**told.names, **rule.renames},
            newest=newest,
            inferred=schema.inferred,
            told_apart=told.complete,
            comments={column: fact.comment for column, fact in (facts or {}).items()},
        )
        taken = [column.name for column in table.schema.fields]
        partitioned = {field.column for field in table.partition_spec[1]}
        former = former_key(table.properties, table.schema)
        return decide(found, rule, taken, partitioned, datetime.now(UTC).strftime(DAY), former)

    def _renames(
        self, mirrored: MirroredTable, schema: SourceSchema, facts: Mapping[str, ColumnFacts]
    ) -> Renames:
        """Ask what the catalog tells of columns with another name."""
        table = [c.name for c in mirrored.table.schema.fields if not c.name.startswith(RESERVED)]
        excluded = mirrored.rule.exclude
        source = [column.name for column in schema.columns if column.name not in excluded]
        return told_renames(table, source, mirrored.identities, facts)

    def _alter(
        self,
        mirrored: MirroredTable,
        schema: SourceSchema,
        place: SchemaPlace,
        decision: Decision,
        facts: Mapping[str, ColumnFacts],
        told: Mapping[str, str],
    ) -> None:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        defaults = self._defaults(mirrored, schema, decision)
        events = [
            event_of(change, steps, place, schema, when, defaults.get(change.column))
            for change, steps in decision.steps
        ]
        steps = [step for _, taken in decision.steps for step in taken]
        columns = mirror_columns(schema, str(mirrored.source), self._dialect, mirrored.rule)
        renamed = {
            change.column: change.to
            for change, _ in decision.steps
            if change.kind is ChangeKind.RENAME_COLUMN and change.to is not None
        }
        before = mirrored.events
        others = {**told, **identities_property(facts, mirrored.identities, renamed)}
        if renamed or decision.new_key:
            others |= key_property(column.name for column in columns if column.key)
        if decision.new_key:
            others |= mirrored.rekeyed(decision.new_key)
            table = mirrored.table
            others |= former_property(table.properties, table.schema, mirrored.key)
        if mirrored.rule.mode is not ApplyMode.APPEND:
            missing = _still_missing(mirrored.backfill, steps) | defaults
            if missing != mirrored.backfill:
                others[BACKFILL_PROPERTY] = json.dumps(missing)

        def noted(old: int, new: int) -> dict[str, str]:
            numbered = [replace(event, old_schema=old, new_schema=new) for event in events]
            return {**others, **log_property((*before, *numbered))}

        mirrored.table.alter(steps, noted)
        mirrored.reopen()  # the commit may have brought other writers' changes to light
        _tell(mirrored, events)

    def _defaults(
        self, mirrored: MirroredTable, schema: SourceSchema, decision: Decision
    ) -> dict[str, str]:
        """Give what old rows hold in new columns, as text."""
        told = self._declarations.defaults(mirrored.topic)
        sources = {
            c.name: c if c.default is not None else replace(c, default=told.get((c.name, c.type)))
            for c in schema.columns
        }
        values = ValueRules(hashed=frozenset(mirrored.rule.hash))
        plan = DecodePlan(mirrored.topic, self._dialect, values=values)
        found = {}
        for change, _ in decision.steps:
            if _is_new_column(change) and change.new is not None:
                kind = arrow_type(change.new, str(mirrored.table.name))
                text = default_text(sources[change.column], kind, plan)
                if text is not None:
                    found[change.column] = text
        return found


def _is_new_column(change: ColumnChange) -> bool:
    return change.kind is ChangeKind.ADD_COLUMN and len(change.path) == 1


def _still_missing(defaults: Mapping[str, str], steps: Iterable[ColumnStep]) -> dict[str, str]:
    """Say which defaults old rows still lack after some steps, under the columns' new names."""
    missing = dict(defaults)
    for step in steps:
        text = missing.pop(step.path[0], None) if len(step.path) == 1 else None
        if text is not None and step.kind is StepKind.RENAME and step.to is not None:
            missing[step.to] = text
        elif text is not None and step.kind not in (StepKind.DROP, StepKind.ADD):
            missing[step.path[0]] = text
    return missing


def _tell(mirrored: MirroredTable, events: Iterable[SchemaEvent]) -> None:
    for event in events:
        logger.info("altered table=%s statement=%s", mirrored.table.name, event.text)


def earliest(
    places: Mapping[SourceSchema, SchemaPlace], schemas: Iterable[SourceSchema]
) -> list[tuple[SourceSchema, SchemaPlace]]:
    """Put schemas into the order in which the source had them."""
    nowhere = SchemaPlace(0, 0)
    found = [(schema, places.get(schema, nowhere)) for schema in schemas]
    return sorted(found, key=lambda pair: (pair[1].position, pair[1].offset))
