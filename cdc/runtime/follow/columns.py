"""How a table follows the columns of its source: by policy, on record, and each change once."""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from cdc.collapse import mode_of
from cdc.commit import alter
from cdc.config import ChangeKind
from cdc.decode import DecodePlan, ValueRules, default_text
from cdc.errors import LackingKeyError, MirrorError
from cdc.model import SchemaPlace, SourceSchema, SourceType
from cdc.model.column_steps import ColumnStep, StepKind
from cdc.runtime.follow.actions import Alter
from cdc.runtime.follow.column_decisions import ColumnDecision, ColumnDecisions
from cdc.runtime.follow.column_events import event_of
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.schema import ColumnChange, arrow_type, mirror_columns
from cdc.state.column_identities import joined_identities
from cdc.state.column_types import TypeMemory, remembered
from cdc.state.table_state import TableState

logger = logging.getLogger(__name__)

# Applies all that came before a table's key changed; says which of some columns a row lacks then.
Settle = Callable[[MirroredTable, tuple[str, ...]], tuple[str, ...]]


class ColumnFollower:
    """Lets tables follow the columns of their sources."""

    def __init__(self, context: MirrorContext) -> None:
        self._dialect = context.dialect
        self._catalog = context.source.columns
        self._decisions = ColumnDecisions(context.dialect, context.source.columns)

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
        found = self._decisions.decide(mirrored.view, schema, place)
        if found.is_known:
            return
        if found.has_room:
            self.remember(mirrored)
        else:
            if found.action is not None and found.action.decision.new_key and settle is not None:
                self._make_ready(mirrored, found.schema, found.action, settle)
                found = self._decisions.decide(mirrored.view, schema, place)
            self._alter(mirrored, place, found)
            # What fitted the old columns need not fit the new ones.
            mirrored.known = frozenset()
        mirrored.known |= {found.schema}

    def recognise(self, mirrored: MirroredTable, schemas: Iterable[SourceSchema]) -> None:
        """Note schemas that a table already has room for, so that no batch stops at them.

        A schema that asks for more is left to the batch that holds it: it may be an old one.
        """
        for schema in schemas:
            with suppress(MirrorError):
                schema = self._decisions.fitted(mirrored.view, schema)
                if self._decisions.has_room(mirrored.view, schema):
                    mirrored.known |= {schema}

    def remember(self, mirrored: MirroredTable) -> None:
        """Let a table keep what the catalog tells of its types. Done twice, it is done once."""
        types = self._types(mirrored, mirrored.view.schema.column_names, {})
        mirrored.keep(replace(mirrored.state, types=types))

    def confirm(self, mirrored: MirroredTable) -> None:
        """See that records without schemas are read in types that nobody can mistake.

        Raises:
            UnclearTypeError: Nobody can tell in which type they are written.
        """
        self._decisions.expect_clear_types(mirrored.view)

    def _make_ready(
        self, mirrored: MirroredTable, schema: SourceSchema, action: Alter, settle: Settle
    ) -> None:
        """Make a table ready for another key.

        Raises:
            LackingKeyError: Some row of the table has no value for a column of it.
        """
        new_key = action.decision.new_key
        there = set(mirrored.view.schema.column_names)
        filled = self._defaults(mirrored, schema, action).keys()
        lacking = settle(mirrored, tuple(name for name in new_key if name in there))
        if not mirrored.view.empty:
            lacking += tuple(name for name in new_key if name not in there | filled)
        if lacking:
            raise LackingKeyError(str(mirrored.view.source), new_key, lacking)

    def _types_with(
        self, mirrored: MirroredTable, schema: SourceSchema, *, newest: bool
    ) -> TypeMemory:
        """Give what a table remembers of types once it has followed a schema.

        An older schema says nothing of columns that are known.
        """
        known = mirrored.state.types
        types = {c.name: c.type for c in schema.columns if newest or c.name not in known}
        return self._types(mirrored, types, types)

    def _types(
        self,
        mirrored: MirroredTable,
        names: Iterable[str],
        followed: Mapping[str, SourceType],
    ) -> TypeMemory:
        """Add the catalog's types of some columns to what a table knows, or those it follows."""
        view, known = mirrored.view, mirrored.state.types
        if not self._catalog.tells(view.topic):
            return known
        wanted, columns = set(names), self._catalog.of(view.topic, view.schema, known)
        types = {n: t.declared for n, t in columns.items() if n in wanted and t.declared}
        kept = {name: followed.get(name, kind) for name, kind in types.items()}
        return remembered(known, kept, self._dialect)

    def _alter(self, mirrored: MirroredTable, place: SchemaPlace, found: ColumnDecision) -> None:
        schema, action = found.schema, found.action
        changes = action.decision.steps if action is not None else ()
        when = datetime.now(UTC).isoformat(timespec="seconds")
        defaults = {} if action is None else self._defaults(mirrored, schema, action)
        events = [
            event_of(change, steps, place, schema, when, defaults.get(change.column))
            for change, steps in changes
        ]
        state = self._state_after(mirrored, found, defaults)

        def noted(old: int, new: int) -> dict[str, str]:
            numbered = [replace(event, old_schema=old, new_schema=new) for event in events]
            return mirrored.state.changes_to(state.noted(*numbered))

        alter(mirrored.table, [step for _, steps in changes for step in steps], noted)
        mirrored.reopen()  # the commit may have brought other writers' changes to light
        for text in action.texts if action is not None else ():
            logger.info("followed table=%s action=%s", mirrored.view.name, text)

    def _state_after(
        self, mirrored: MirroredTable, found: ColumnDecision, defaults: Mapping[str, str]
    ) -> TableState:
        """Say what a table remembers once its columns have changed."""
        view, state = mirrored.view, mirrored.state
        changes = found.action.decision.steps if found.action is not None else ()
        new_key = found.action.decision.new_key if found.action is not None else ()
        renamed = {
            change.column: change.to
            for change, _ in changes
            if change.kind is ChangeKind.RENAME_COLUMN and change.to is not None
        }
        key, lanes, backfill = state.key, state.lanes, state.backfill
        if renamed or new_key:
            name = str(view.source)
            columns = mirror_columns(found.schema, name, self._dialect, view.rule)
            names = tuple(column.name for column in columns if column.key)
            key = key.changed(names, view.schema) if new_key else replace(key, columns=names)
        if new_key:
            narrower = set(mirrored.key) <= set(new_key)
            lanes = lanes.with_key(view.sequence, narrower=narrower)
        if not mode_of(view.rule).is_log:
            steps = [step for _, taken in changes for step in taken]
            backfill = {**_still_missing(backfill, steps), **defaults}
        return replace(
            state,
            key=key,
            lanes=lanes,
            backfill=backfill,
            identities=joined_identities(found.facts, state.identities, renamed),
            types=self._types_with(mirrored, found.schema, newest=found.newest),
        )

    def _defaults(
        self, mirrored: MirroredTable, schema: SourceSchema, action: Alter
    ) -> dict[str, str]:
        """Give what old rows hold in new columns, as text."""
        told = self._catalog.defaults(mirrored.topic)
        sources = {
            c.name: c if c.default is not None else replace(c, default=told.get((c.name, c.type)))
            for c in schema.columns
        }
        values = ValueRules(hashed=frozenset(mirrored.rule.hash))
        plan = DecodePlan(mirrored.topic, self._dialect, values=values)
        found = {}
        for change, _ in action.decision.steps:
            if _is_new_column(change) and change.new is not None:
                kind = arrow_type(change.new, str(mirrored.view.name))
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
