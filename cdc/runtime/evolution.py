"""How a table follows the columns of its source: by policy, on record, and each change once."""

import json
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from cdc.config import ApplyMode, ChangeKind
from cdc.decode import DecodePlan, default_text, view
from cdc.dialect import Dialect
from cdc.errors import MirrorError, SchemaChangeError
from cdc.model import BACKFILL_PROPERTY, SchemaEvent, SchemaPlace, SourceSchema
from cdc.runtime.declared import Declarations
from cdc.runtime.mirrored_table import MirroredTable
from cdc.schema import (
    DAY,
    ColumnChange,
    Decision,
    arrow_type,
    decide,
    difference,
    event_of,
    fitted,
    key_property,
    log_property,
    mirror_columns,
    since,
)

logger = logging.getLogger(__name__)


class Evolution:
    """Lets tables follow their sources."""

    def __init__(self, dialect: Dialect, declarations: Declarations) -> None:
        self._dialect = dialect
        self._declarations = declarations

    def follow(self, mirrored: MirroredTable, schema: SourceSchema, place: SchemaPlace) -> None:
        """Make room for a schema, in one commit. Done twice, it is done once.

        Raises:
            SchemaChangeError: The table's policy does not allow it, or Iceberg cannot do it.
        """
        schema = self._fitted(mirrored, schema)
        later = since(place, mirrored.events)
        if later and view(schema, later, mirrored.table.schema.column_names) is not None:
            return  # from before: the decoder knows what became of its columns
        decision = self._decision(mirrored, schema, newest=not later)
        if decision.refused:
            raise SchemaChangeError(str(mirrored.source), decision.refused)
        if decision.steps:
            self._alter(mirrored, schema, place, decision)
            mirrored.known.clear()  # what fitted the old columns need not fit the new ones
        mirrored.known.add(schema)
        mirrored.plan = None

    def recognise(self, mirrored: MirroredTable, schemas: Iterable[SourceSchema]) -> None:
        """Note schemas that a table already has room for, so that no batch stops at them.

        A schema that asks for more is left to the batch that holds it: it may be an old one.
        """
        for schema in schemas:
            with suppress(MirrorError):
                schema = self._fitted(mirrored, schema)
                decision = self._decision(mirrored, schema, newest=True)
                if not decision.steps and not decision.refused:
                    mirrored.known.add(schema)
                    mirrored.plan = None

    def _fitted(self, mirrored: MirroredTable, schema: SourceSchema) -> SourceSchema:
        if not schema.inferred:
            return schema
        certain = self._declarations.certain(mirrored.topic)
        fit = fitted(schema, mirrored.table.schema, certain, str(mirrored.source))
        self._declarations.warn(mirrored.topic, str(mirrored.table.name), fit.columns)
        return fit

    def _decision(self, mirrored: MirroredTable, schema: SourceSchema, newest: bool) -> Decision:
        name, rule, table = str(mirrored.source), mirrored.rule, mirrored.table
        found = difference(
            table.schema,
            mirror_columns(schema, name, self._dialect, rule),
            name,
            mirrored.key,
            renames=rule.renames,
            # What is guessed from values lacks every column that had none.
            newest=newest and not schema.inferred,
        )
        taken = [column.name for column in table.schema.fields]
        partitioned = {field.column for field in table.partition_spec[1]}
        return decide(found, rule, taken, partitioned, datetime.now(UTC).strftime(DAY))

    def _alter(
        self,
        mirrored: MirroredTable,
        schema: SourceSchema,
        place: SchemaPlace,
        decision: Decision,
    ) -> None:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        defaults = self._defaults(mirrored, schema, decision)
        events = [
            event_of(change, steps, place, schema, when, defaults.get(change.column))
            for change, steps in decision.steps
        ]
        steps = [step for _, taken in decision.steps for step in taken]
        columns = mirror_columns(schema, str(mirrored.source), self._dialect, mirrored.rule)
        noted = {**log_property((*mirrored.events, *events))}
        if any(change.kind is ChangeKind.RENAME_COLUMN for change, _ in decision.steps):
            noted |= key_property(columns)
        if defaults and mirrored.rule.mode is not ApplyMode.APPEND:
            noted[BACKFILL_PROPERTY] = json.dumps({**mirrored.backfill, **defaults})
        mirrored.table.alter(steps, noted)
        mirrored.reopen()  # the commit may have brought other writers' changes to light
        _tell(mirrored, events)

    def _defaults(
        self, mirrored: MirroredTable, schema: SourceSchema, decision: Decision
    ) -> dict[str, str]:
        """Give what old rows hold in new columns, as text."""
        sources = {column.name: column for column in schema.columns}
        plan = DecodePlan(mirrored.topic, self._dialect, None, frozenset())
        plan = replace(plan, hashed=frozenset(mirrored.rule.hash))
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
