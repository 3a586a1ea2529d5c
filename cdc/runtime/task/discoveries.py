"""What the records of a partition tell beyond their changes, and what of it nobody planned for."""

from dataclasses import dataclass, field

from cdc.decode import DecodedChanges
from cdc.errors import ManyTablesError
from cdc.model import Cutoff, PartitionMark, SchemaPlace, SourceSchema, SourceTable, Unplanned
from cdc.runtime.task.target_plan import TargetPlan


@dataclass(slots=True)
class Discoveries:
    """What was met in one topic partition, for one table."""

    plan: TargetPlan
    mark: PartitionMark | None  # how far the partition has been applied
    table: SourceTable | None = None
    schemas: dict[SourceSchema, SchemaPlace] = field(default_factory=dict)
    truncates: list[Cutoff] = field(default_factory=list)
    snapshots: dict[tuple[int, int | None], Cutoff] = field(default_factory=dict)
    schemaless: bool = False  # some records carry no schema
    key_forms: frozenset[str] = frozenset()  # that the table has not met
    bad: bool = False  # some records cannot be applied

    def take(self, decoded: DecodedChanges, key_forms: frozenset[str]) -> None:
        """Note what is in a chunk of records.

        Raises:
            ManyTablesError: The topic has records of several tables.
        """
        self.key_forms |= key_forms - self.plan.routing.key_forms
        self.schemaless |= decoded.schemaless
        if decoded.table and self.table and decoded.table != self.table:
            raise ManyTablesError(self.plan.decode.topic, (str(self.table), str(decoded.table)))
        self.table = decoded.table or self.table
        self.schemas = dict(decoded.places) | self.schemas  # the first place counts
        self.truncates += decoded.truncates
        self.bad |= bool(decoded.bad_records)
        if not self.plan.mode.is_log and not self.plan.findings.replayed:
            for cutoff in decoded.snapshots:
                self.snapshots.setdefault(cutoff.begin, cutoff)

    @property
    def unplanned(self) -> Unplanned | None:
        """What the plan does not cover, if anything."""
        plan = self.plan
        # A table that does not exist has nothing to wipe.
        exists = plan.decode.table is not None
        late = exists and not plan.mode.is_log and not all(map(self._is_handled, self.truncates))
        homeless = self.bad and plan.quarantine is None
        moving = exists and self.key_forms and not plan.findings.replayed
        if not (self.schemas or late or (exists and homeless) or moving):
            return None
        return Unplanned(
            self.table,
            tuple(self.schemas),
            tuple(self.truncates),
            quarantine=homeless,
            places=self.schemas,
            key_forms=self.key_forms,
        )

    def _is_handled(self, truncate: Cutoff) -> bool:
        plan = self.plan
        pending = plan.pending_cutoff
        if truncate in plan.findings.cutoffs or (pending is not None and pending.covers(truncate)):
            return True
        # A history is as that truncate left it, and is not made again.
        applied = self.mark is not None and truncate.offset < self.mark.next_offset
        return plan.mode.keeps_versions and applied
