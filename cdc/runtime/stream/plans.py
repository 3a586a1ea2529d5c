"""What the write tasks are told of each table: made once, and again when the table has changed."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from cdc.collapse import mode_of
from cdc.config import ChangeKind, DeleteKind, Lookup, SchemaChange
from cdc.config.type_choices import parse_type_choice
from cdc.decode import DecodePlan, TargetTable, ValueRules
from cdc.errors import NotParquetError
from cdc.model import SourceSchema, TargetId
from cdc.model.column_types import KnownColumns
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.tables.mirrored_table import MirroredTable, keys_moving
from cdc.runtime.tables.scratch import index_folder
from cdc.runtime.task.row_finder import IndexPlan
from cdc.runtime.task.target_plan import Findings, KeyRouting, TargetPlan
from cdc.schema import arrow_schema, source_schema
from cdc.write import FileWriter

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlanKey:
    """All that a plan depends on; what else it says is of one batch alone."""

    metadata_file: str  # names the state of the table, its ledger and its data files
    known: frozenset[SourceSchema]
    columns: KnownColumns


class Plans:
    """The plans of one stream's tables."""

    def __init__(self, context: MirrorContext) -> None:
        self._context = context
        self._index_folder = index_folder(context.config)
        self._storage = context.config.catalog.properties()
        self._made: dict[TargetId, tuple[PlanKey, TargetPlan]] = {}

    def of_batch(
        self, findings: Mapping[TargetId, Findings], only: Collection[TargetId] | None = None
    ) -> dict[str, tuple[TargetPlan, ...]]:
        """Describe the tables, or some of them, to the write tasks of a batch."""
        context = self._context
        plans: dict[str, tuple[TargetPlan, ...]] = {}
        for topic in context.source.columns.topics:
            if not context.tables.of_topic(topic):
                plans[topic] = (TargetPlan(self._without_table(topic)),)
        for mirrored in context.tables.active:
            target = mirrored.id
            if only is not None and target not in only:
                continue
            plan = replace(
                self._plan(mirrored),
                marks=mirrored.marks,
                quarantine=context.quarantine.plan(target),
                findings=findings.get(target, Findings()),
            )
            if plan.findings.replayed:
                plan = plan.for_replay(self._index(mirrored, always=True))
            known = plans.get(mirrored.topic, ())
            plans[mirrored.topic] = (*(p for p in known if p.writer is not None), plan)
        return plans

    def read_in(self, target: TargetId) -> KnownColumns:
        """Give the types in which the records of a table were read last."""
        return self._made[target][0].columns

    def decode_plan(self, target: TargetId) -> DecodePlan:
        """Describe what is known of a table's records; a log has the key of its rows."""
        plan = self._plan(self._context.tables[target])
        return plan.decode.with_key(plan.key)

    def _without_table(self, topic: str) -> DecodePlan:
        context = self._context
        columns = context.source.columns.of(topic)
        return DecodePlan(topic, context.dialect, context.wire, columns=columns)

    def _plan(self, mirrored: MirroredTable) -> TargetPlan:
        view = mirrored.view
        columns = self._context.source.columns.of(view.topic, view.schema, view.state.types)
        key = PlanKey(view.metadata_file, mirrored.known, columns)
        made = self._made.get(view.id)
        if made is None or made[0] != key:
            made = self._made[view.id] = key, self._make(mirrored, columns)
        return made[1]

    def _make(self, mirrored: MirroredTable, columns: KnownColumns) -> TargetPlan:
        view, rule, lanes = mirrored.view, mirrored.rule, mirrored.state.lanes
        schema = arrow_schema(view.schema, str(view.name))
        spec = mirrored.table.partition_spec
        is_log = mode_of(rule).is_log
        return TargetPlan(
            decode=DecodePlan(
                view.topic,
                self._context.dialect,
                self._context.wire,
                table=TargetTable(
                    source_schema(schema),
                    mirrored.known,
                    key=mirrored.key,
                    config_key=() if is_log else rule.key,
                    images=is_log,
                    truncates_as_rows=is_log,
                    events=view.state.events,
                    nullable_key=rule.policy(ChangeKind.NULLABILITY) is not SchemaChange.IGNORE,
                ),
                columns=columns,
                values=ValueRules(
                    {name: parse_type_choice(text).otherwise for name, text in rule.types.items()},
                    frozenset(rule.hash),
                ),
            ),
            name=view.name,
            rule=rule,
            key=mirrored.key or _row_key(mirrored),
            writer=FileWriter(mirrored.table.data_location, schema, self._storage, *spec),
            index=self._index(mirrored),
            pending_cutoff=view.ledger.pending_cutoff if view.ledger else None,
            empty=view.empty,
            routing=KeyRouting(lanes.partition_count, keys_moving(mirrored), lanes.key_forms),
            stale_rows=view.state.source.stale_rows,
        )

    def _index(self, mirrored: MirroredTable, *, always: bool = False) -> IndexPlan | None:
        """Tell where a table's key index is; None where rows are not found by one.

        Args:
            mirrored: The table.
            always: Also where the rule says that a MERGE finds them.
        """
        rule = mirrored.rule
        if mode_of(rule).is_log or rule.deletes is not DeleteKind.POSITIONAL:
            return None
        if rule.lookup is not Lookup.INDEX and not always:
            return None
        try:
            files = mirrored.state.lanes.of(mirrored.files.current())
        except NotParquetError as error:
            logger.warning("merging table=%s reason=%s", mirrored.view.name, error)
            return None
        if mirrored.state.lanes.has_rekeyed(files):
            logger.info("merging table=%s reason=its key has changed", mirrored.view.name)
            return None
        return IndexPlan.of(f"{self._index_folder}/{mirrored.view.uuid}", files)


def _row_key(mirrored: MirroredTable) -> tuple[str, ...]:
    """Give the key that tells which changes of a log concern the same row, if there is one."""
    keys = {mirrored.rule.key or schema.key for schema in mirrored.known}
    return keys.pop() if len(keys) == 1 else ()
